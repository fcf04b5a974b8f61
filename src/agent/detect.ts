/**
 * Decides who manages the network of this node, and says because of what.
 *
 * Pure. By what is on the disk, never by a list of distributions; a person's word (`MULTINIC_BACKEND`) comes first.
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

  if (settings.backend) return { kind: settings.backend, because: [`MULTINIC_BACKEND is ${settings.backend}`] }
  if (has(paths.netplan)) return { kind: 'netplan', because: [`${paths.netplan} is there`] }
  const keyfiles = count(paths.networkManager, /\.nmconnection$/)
  const scripts = count(paths.networkScripts, /\/ifcfg-(?!lo$)/)
  if (has(paths.networkScripts) && scripts > 0 && keyfiles === 0)
    return { kind: 'ifcfg', because: [`${paths.networkScripts} has ${scripts} ifcfg files`, 'no .nmconnection files'] }
  if (has(paths.networkManager))
    return { kind: 'networkmanager', because: [`no ${paths.netplan}`, `${paths.networkManager} is there`] }
  if (has(paths.networkScripts)) return { kind: 'ifcfg', because: [`only ${paths.networkScripts} is there`] }
  const looked = [paths.netplan, paths.networkManager, paths.networkScripts]
  return { kind: 'unknown', because: looked.map(directory => `no ${directory}`) }
}
