/**
 * Detects the backend that manages the network of this node, and records why.
 *
 * Pure. The decision depends on the files on disk, never on the distribution; `MULTINIC_BACKEND` overrides it.
 */
import type { BackendKind, Settings } from '../config.ts'
import type { Paths } from '../paths.ts'
import type { Observed } from '../state/observed.ts'
import { allIndexes, filesOfIndex, isForeign } from '../state/ownership.ts'

export interface Backend {
  kind: BackendKind | 'unknown'
  because: string[]
}

export function detectBackend(
  observed: Pick<Observed, 'files' | 'directories' | 'links' | 'managers' | 'networkManagerError'>,
  paths: Paths,
  settings: Pick<Settings, 'backend'>,
): Backend {
  const has = (directory: string) => observed.directories.includes(directory)
  const count = (directory: string, name: RegExp) =>
    Object.keys(observed.files).filter(path => path.startsWith(`${directory}/`) && name.test(path)).length

  if (settings.backend) return { kind: settings.backend, because: [`MULTINIC_BACKEND=${settings.backend}`] }
  if (has(paths.netplan)) {
    const because = whyNetworkManager(observed, paths)
    if (because === undefined) return { kind: 'netplan', because: [`${paths.netplan} exists`] }
    const problem = has(paths.networkManager) ? observed.networkManagerError : `no ${paths.networkManager}`
    if (problem !== undefined) return { kind: 'unknown', because: [because, problem] }
    return { kind: 'networkmanager', because: [because] }
  }
  const keyfiles = count(paths.networkManager, /\.nmconnection$/)
  const scripts = count(paths.networkScripts, /\/ifcfg-(?!lo$)/)
  if (has(paths.networkScripts) && scripts > 0 && keyfiles === 0)
    return { kind: 'ifcfg', because: [`${paths.networkScripts} has ${scripts} ifcfg files`, 'no .nmconnection files'] }
  if (has(paths.networkManager))
    return { kind: 'networkmanager', because: [`no ${paths.netplan}`, `${paths.networkManager} exists`] }
  if (has(paths.networkScripts)) return { kind: 'ifcfg', because: [`only ${paths.networkScripts} exists`] }
  const checked = [paths.netplan, paths.networkManager, paths.networkScripts]
  return { kind: 'unknown', because: checked.map(directory => `no ${directory}`) }
}

/** NetworkManager configures the NIC at boot. It also reads ifcfg files; without it, the network scripts read them. */
export function isReadByNetworkManager(backend: BackendKind, { managers }: Pick<Observed, 'managers'>): boolean {
  return backend === 'networkmanager' || (backend === 'ifcfg' && Object.keys(managers).length > 0)
}

/**
 * On a host with Netplan: NetworkManager configures new NICs if it is Netplan's renderer, or if it manages one of our NICs
 * without Netplan. A NIC that has our profile keeps it: the agent released the NIC from NetworkManager until the next boot.
 */
function whyNetworkManager(
  { files, links, managers }: Pick<Observed, 'files' | 'links' | 'managers'>,
  paths: Paths,
): string | undefined {
  const renderers = Object.keys(files)
    .filter(path => path.startsWith(`${paths.netplan}/`))
    .sort()
    .flatMap(path => {
      const renderer = rendererIn(files[path]?.text ?? '')
      return renderer === undefined ? [] : [{ path, renderer }]
    })
  const last = renderers.at(-1)
  if (last?.renderer === 'NetworkManager') return `${last.path} sets the renderer NetworkManager`
  const [managed] = Object.entries(managers).filter(([, manager]) => manager !== 'none')
  if (managed) return `NetworkManager manages ${links.find(({ ifindex }) => ifindex === Number(managed[0]))?.name}`
  if (last?.renderer === 'networkd' && Object.keys(managers).length === 0) return undefined
  const profile = allIndexes
    .flatMap(index => filesOfIndex(paths, index))
    .find(path => path.startsWith(`${paths.networkManager}/`) && files[path] && !isForeign(files[path]))
  return profile && `${profile} exists`
}

/** The key `renderer` of the mapping `network`. The agent has no YAML parser: it reads the block style and one-line maps. */
function rendererIn(text: string): string | undefined {
  if (!text.includes('renderer')) return undefined
  const lines = text.split('\n').map(line => line.replace(/(^|\s)#.*/, ''))
  const start = lines.findIndex(line => /^["']?network["']?\s*:/.test(line))
  if (start < 0) return undefined
  const body = lines.slice(start + 1).filter(line => line.trim() !== '')
  const indent = /^\s+/.exec(body[0] ?? '')?.[0] ?? ''
  const keys = body.map(line => line.slice(indent.length)).filter(key => !/^\s/.test(key))
  let map = /\{.*/.exec(lines[start] ?? '')?.[0].slice(1) ?? ''
  while (/\{[^{}]*\}/.test(map)) map = map.replace(/\{[^{}]*\}/g, '')
  return [...keys, ...map.split(',')]
    .map(entry => /^\s*["']?renderer["']?\s*:\s*["']?(\w+)/.exec(entry)?.[1])
    .findLast(renderer => renderer !== undefined)
}
