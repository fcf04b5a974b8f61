/**
 * Detects the backend that manages the network of this node, and records why.
 *
 * Pure. The decision depends on the files on disk, never on the distribution; `MULTINIC_BACKEND` overrides it.
 */
import type { BackendKind, Settings } from './config.ts'
import type { Observed } from './observed.ts'
import type { Paths } from './paths.ts'

export interface Backend {
  kind: BackendKind | 'unknown'
  because: string[]
}

export function detectBackend(
  observed: Pick<Observed, 'files' | 'directories'>,
  paths: Paths,
  settings: Pick<Settings, 'backend'>,
): Backend {
  const has = (directory: string) => observed.directories.includes(directory)
  const count = (directory: string, name: RegExp) =>
    Object.keys(observed.files).filter(path => path.startsWith(`${directory}/`) && name.test(path)).length

  if (settings.backend) return { kind: settings.backend, because: [`MULTINIC_BACKEND=${settings.backend}`] }
  if (has(paths.netplan)) return { kind: 'netplan', because: [`${paths.netplan} exists`] }
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
