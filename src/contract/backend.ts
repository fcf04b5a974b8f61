/**
 * The network configuration that a node reads at boot, as the control plane derives it from the Node, and where it is on the
 * host.
 */
import type { ObjectMeta } from './object.ts'

interface BackendDirectory {
  /** Volume of the agent's Job. */
  volume: string
  path: string
  /** Directories that the agent only searches: parents that every distribution has. */
  searched?: readonly string[]
}

/** `instead`: what the backend may configure in its place, which only the agent finds out. */
export interface BackendMounts extends BackendDirectory {
  instead?: BackendDirectory
}

const networkManager = {
  volume: 'connections',
  path: '/etc/NetworkManager/system-connections',
  searched: ['/run/NetworkManager/system-connections', '/usr/lib'],
} as const

/** The only list of the backends. */
export const backendDirectories = {
  netplan: { volume: 'netplan', path: '/etc/netplan', instead: networkManager },
  networkmanager: networkManager,
  ifcfg: { volume: 'ifcfg', path: '/etc/sysconfig/network-scripts' },
} as const satisfies Record<string, BackendMounts>

export type Backend = keyof typeof backendDirectories

export const backendNames = Object.keys(backendDirectories) as Backend[]

/** A label on the Node: overrides the backend that its osImage implies. */
export const backendLabel = 'multinic.io/backend'

/** Every distribution outside the Red Hat family counts as Netplan; the agent rejects a mismatch. */
export function backendOf(node: { metadata: ObjectMeta; status?: { nodeInfo?: { osImage?: string } } }): Backend {
  const label = node.metadata.labels?.[backendLabel]
  const labelled = backendNames.find(name => name === label)
  if (labelled) return labelled
  const osImage = node.status?.nodeInfo?.osImage ?? ''
  const family = /red hat|rhel|centos|rocky|alma|oracle|fedora/i
  if (!family.test(osImage)) return 'netplan'
  const version = /\b\d+\b/.exec(osImage)?.[0]
  return version === '7' || version === '8' ? 'ifcfg' : 'networkmanager'
}
