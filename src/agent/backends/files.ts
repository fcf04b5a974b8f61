/**
 * All files of one NIC for a backend, by path.
 *
 * Pure. Files in directories that do not exist on the host are left out.
 */

import type { Backend } from '../../contract/backend.ts'
import type { Paths } from '../paths.ts'
import type { DesiredNic } from '../state/desired-nic.ts'
import type { FileState, Observed } from '../state/observed.ts'
import type { RenderedFile } from './backend.ts'
import { backends, isReadByNetworkManager } from './backends.ts'
import { linkFile, sysctlFile, udevRule } from './device.ts'

const open = 0o644

/** The planner and the last check of a run need the same files. */
const known = new WeakMap<DesiredNic, Reader & { paths: Paths; files: RenderedFile[] }>()

/** Who reads the files at boot. */
interface Reader {
  backend: Backend
  byManager: boolean
}

export function filesFor(
  backend: Backend,
  nic: DesiredNic,
  paths: Paths,
  observed: Pick<Observed, 'directories' | 'managers'>,
): Record<string, FileState> {
  const { directories } = observed
  const last = known.get(nic)
  const byManager = isReadByNetworkManager(backend, observed)
  const isSame = last?.backend === backend && last.byManager === byManager && last.paths === paths
  const files = isSame ? last.files : render({ backend, byManager }, nic, paths)
  known.set(nic, { backend, byManager, paths, files })
  return Object.fromEntries(
    files
      .filter(([directory]) => directories.includes(directory))
      .map(([directory, name, mode, text]) => [`${directory}/${name}`, { text, mode, uid: 0, gid: 0 }]),
  )
}

function render({ backend, byManager }: Reader, nic: DesiredNic, paths: Paths): RenderedFile[] {
  return [
    [paths.networkd, `05-${nic.name}.link`, open, linkFile(nic)],
    [paths.udevRules, `05-${nic.name}.rules`, open, udevRule(nic)],
    [paths.sysctl, `9${nic.index}-${nic.name}.conf`, open, sysctlFile(nic)],
    ...backends[backend].render(nic, paths, byManager),
  ]
}
