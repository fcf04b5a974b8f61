/** Runs a chain of CNI plugins, as a container runtime does for a Pod. */
import { run } from '../process.ts'

export interface ChainOptions {
  /** The directory of the programs. */
  plugins: string
  /** The names of network namespaces. */
  node: string
  pod: string
  /** Of the network and its plugins. */
  config: { name: string; plugins: readonly { type: string }[] }
}

const cniVersion = '1.0.0'

/** Each plugin gets the result of the one before it. */
export async function addToNetwork({ plugins, node, pod, config }: ChainOptions): Promise<void> {
  const env = {
    CNI_COMMAND: 'ADD',
    CNI_CONTAINERID: pod,
    CNI_NETNS: `/run/netns/${pod}`,
    CNI_IFNAME: 'eth0',
    CNI_PATH: plugins,
  }
  let prevResult: unknown
  for (const plugin of config.plugins) {
    const input = JSON.stringify({ cniVersion, name: config.name, ...plugin, ...(prevResult ? { prevResult } : {}) })
    const { stdout } = await run('nsenter', [`--net=/run/netns/${node}`, `${plugins}/${plugin.type}`], { env, input })
    prevResult = JSON.parse(stdout)
  }
}
