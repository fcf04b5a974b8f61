/**
 * Client of the control API, used by the commands. Imports little: a command must start fast.
 */
import { Agent, request } from 'undici'
import { CliError } from '../../src/cli/io.ts'
import type { AttachInput, DetachInput } from '../cloud/attach.ts'
import type { ActiveFault, FaultInput } from '../faults/active-faults.ts'
import type { StateDir } from '../lifecycle/state-dir.ts'
import type { ScriptResult } from '../nodes/host.ts'
import type { SandboxStatus } from './status.ts'

export interface PortView {
  id: string
  macAddress: string
  address: string
}

/** Commands enter a namespace by themselves; a virtual machine runs them through the sandbox. */
export type NodeLocation = NamespaceLocation | { virtualMachine: true }

export interface NamespaceLocation {
  namespace: string
  root: string
  /** A process in the user namespace of the node; absent for a sandbox of root. */
  userNamespacePid?: number
}

export interface ControlClient {
  status(): Promise<SandboxStatus>
  attach(input: AttachInput): Promise<PortView[]>
  detach(input: DetachInput): Promise<PortView[]>
  reboot(node: string): Promise<void>
  /** Active faults. `startFault` and `stopFault` return those that remain active. */
  faults(): Promise<ActiveFault[]>
  startFault(input: FaultInput): Promise<ActiveFault[]>
  stopFault(name?: string): Promise<ActiveFault[]>
  node(name: string): Promise<NodeLocation>
  /** Runs a shell script on a virtual machine. */
  run(node: string, script: string): Promise<ScriptResult>
  close(): Promise<void>
}

export function connectControl(state: StateDir): ControlClient {
  // A virtual machine reboots in minutes.
  const dispatcher = new Agent({ connect: { socketPath: state.socket }, headersTimeout: 900_000 })

  async function send<T>(method: 'GET' | 'POST' | 'DELETE', path: string, body?: unknown): Promise<T> {
    const response = await request(`http://sandbox${path}`, {
      method,
      dispatcher,
      ...(body !== undefined && { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }),
    })
    const result = await response.body.json()
    const { detail = `HTTP ${response.statusCode}` } = result as { detail?: string }
    if (response.statusCode >= 500) throw new Error(detail)
    if (response.statusCode >= 400) throw new CliError(detail)
    return result as T
  }

  return {
    status: () => send('GET', '/status'),
    attach: input => send('POST', '/attach', input),
    detach: input => send('POST', '/detach', input),
    reboot: async node => {
      await send('POST', '/reboot', { node })
    },
    faults: () => send('GET', '/faults'),
    startFault: input => send('POST', '/faults', input),
    stopFault: name => send('DELETE', `/faults${name === undefined ? '' : `/${encodeURIComponent(name)}`}`),
    node: name => send('GET', `/nodes/${encodeURIComponent(name)}`),
    run: (node, script) => send('POST', `/nodes/${encodeURIComponent(node)}/run`, { script }),
    close: () => dispatcher.close(),
  }
}
