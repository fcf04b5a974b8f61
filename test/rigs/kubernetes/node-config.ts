/**
 * The settings of containerd and the kubelet on a node of the rig, with the reasons for unusual ones.
 */
import { run } from '../process.ts'
import { binary } from './binaries.ts'
import type { Pair } from './certificates.ts'
import { pauseImage } from './images.ts'

export interface CniDirectories {
  plugins: string
  config: string
}

export interface ContainerdOptions {
  cni: CniDirectories
  /** Base of the runtime spec. */
  spec: string
  /** Contains the directory of containerd. */
  data: string
}

/** restrict_oom_score_adj: root in a container may lack CAP_SYS_RESOURCE, and then every Pod sandbox would fail. */
export async function containerdConfig({ cni, spec, data }: ContainerdOptions): Promise<string> {
  const { stdout } = await run(binary('containerd'), ['--version'])
  const base = [`root = "${data}/containerd"`, 'state = "/run/containerd"']
  const grpc = ['[grpc]', 'address = "/run/containerd/containerd.sock"']
  const runc = (runtime: string) => [
    `[plugins."${runtime}"]`,
    'restrict_oom_score_adj = true',
    `[plugins."${runtime}".containerd.runtimes.runc]`,
    'runtime_type = "io.containerd.runc.v2"',
    `base_runtime_spec = "${spec}"`,
    `[plugins."${runtime}".containerd.runtimes.runc.options]`,
    'SystemdCgroup = false',
    `[plugins."${runtime}".cni]`,
    `bin_dir = "${cni.plugins}"`,
    `conf_dir = "${cni.config}"`,
  ]
  const isVersion1 = / v?1\./.test(stdout)
  const lines = isVersion1
    ? ['version = 2', ...base, ...grpc, ...withSandboxImage(runc('io.containerd.grpc.v1.cri'))]
    : [
        ...['version = 3', ...base, ...grpc],
        ...['[plugins."io.containerd.cri.v1.images".pinned_images]', `sandbox = "${pauseImage}"`],
        ...runc('io.containerd.cri.v1.runtime'),
      ]
  return `${lines.join('\n')}\n`
}

/** Containers get their own sysfs, which shows the machine and not the node: mount the identity of the node over it. */
export async function runtimeSpec(): Promise<string> {
  const { stdout } = await run(binary('ctr'), ['oci', 'spec'])
  const spec = JSON.parse(stdout) as { mounts: object[] }
  const options = ['rbind', 'ro']
  return JSON.stringify({
    ...spec,
    mounts: [...spec.mounts, { type: 'bind', source: '/sys/class', destination: '/sys/class', options }],
  })
}

/** Pods that do not use the host's network have none. Without an address in the result their sandbox would fail. */
export const noNetwork = '{"cniVersion":"0.4.0","name":"lo","plugins":[{"type":"loopback"}]}'
export const noNetworkPlugin = `#!/bin/sh
case $CNI_COMMAND in
VERSION) echo '{"cniVersion":"0.4.0","supportedVersions":["0.3.1","0.4.0"]}' ;;
ADD) echo '{"cniVersion":"0.4.0","interfaces":[{"name":"eth0"}],"ips":[{"version":"4","interface":0,"address":"192.0.2.2/32"}]}' ;;
esac
`

function withSandboxImage([table = '', ...rest]: string[]): string[] {
  return [table, `sandbox_image = "${pauseImage}"`, ...rest]
}

export interface KubeletOptions {
  address: string
  serving: Pair
  clientCa: string
}

/** Settings of a kubelet that shares the kernel with others: they would remove each other's Pods in one cgroup. */
export function inCgroup(cgroup: string): object {
  return { failCgroupV1: false, cgroupDriver: 'cgroupfs', cgroupRoot: `/${cgroup}` }
}

export function kubeletConfig({ address, serving, clientCa }: KubeletOptions): object {
  return {
    apiVersion: 'kubelet.config.k8s.io/v1beta1',
    kind: 'KubeletConfiguration',
    containerRuntimeEndpoint: 'unix:///run/containerd/containerd.sock',
    authentication: { anonymous: { enabled: false }, webhook: { enabled: true }, x509: { clientCAFile: clientCa } },
    authorization: { mode: 'Webhook' },
    tlsCertFile: serving.cert,
    tlsPrivateKeyFile: serving.key,
    address,
    readOnlyPort: 0,
    failSwapOn: false,
    makeIPTablesUtilChains: false,
    // The disk belongs to the machine, so its usage means nothing for the node.
    imageGCHighThresholdPercent: 100,
    evictionHard: {
      'memory.available': '50Mi',
      'nodefs.available': '1%',
      'nodefs.inodesFree': '1%',
      'imagefs.available': '1%',
    },
  }
}
