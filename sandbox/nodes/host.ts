/**
 * What a node runs on: a network namespace (namespace-host.ts) or a virtual machine (../real/virtual-machine.ts).
 */
import type { PodObject, PodSpec } from '../../src/kube/types.ts'
import type { Log } from '../../src/telemetry/log.ts'
import type { Server, Subnet } from '../cloud/state.ts'
import type { StateDir } from '../lifecycle/state-dir.ts'
import type { ContainerOptions, Mount, RunningContainer } from './container.ts'
import type { Fabric } from './fabric.ts'

/** A container without the options that the host adds. */
export interface Container extends Omit<ContainerOptions, 'namespace' | 'hostname' | 'sysClass' | 'marker'> {
  /** The Pod that it belongs to. */
  spec: PodSpec
}

export interface HostNic {
  portId: string
  subnetId: string
  macAddress: string
  mtu: number
  slot: number
}

export interface HostOptions {
  state: StateDir
  fabric: Fabric
  server: Server
  /** Directory for the files of the node. */
  root: string
  /** Address and subnet of the primary NIC. */
  address: string
  subnet: Subnet
  primary: HostNic
  log: Log
}

export interface ScriptResult {
  code: number
  stdout: string
  stderr: string
}

export interface NodeHost {
  /** Network namespace of its programs. */
  readonly namespace: string
  readonly osImage: string
  readonly bootID: string
  /** Boots with the primary NIC and these, unconfigured: only the files of the node configure them. Kills what runs. */
  boot(nics: readonly HostNic[]): Promise<void>
  /** Adds a NIC to the running node: DOWN and unconfigured. */
  plug(nic: HostNic): Promise<void>
  unplug(portId: string): Promise<void>
  mounts(pod: Pick<PodObject, 'spec'>): Promise<Mount[]>
  start(container: Container): Promise<RunningContainer>
  /** Only virtual machines: the commands enter a namespace by themselves. */
  run?: ((script: string) => Promise<ScriptResult>) | undefined
  remove(): Promise<void>
}
