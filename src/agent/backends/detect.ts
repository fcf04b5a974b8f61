/**
 * Detects the backend that manages the network of this node, and records why.
 *
 * Pure. The decision depends on the files on disk, never on the distribution; `MULTINIC_BACKEND` overrides it.
 */
import type { Settings } from '../config.ts'
import type { Paths } from '../paths.ts'
import type { DetectedBackend, DetectInput } from './backend.ts'
import { allBackends, backendDirectoriesIn } from './backends.ts'

export function detectBackend(
  observed: DetectInput,
  paths: Paths,
  settings: Pick<Settings, 'backend'>,
): DetectedBackend {
  if (settings.backend) return { kind: settings.backend, because: [`MULTINIC_BACKEND=${settings.backend}`] }
  for (const { detect } of allBackends) {
    const detected = detect(observed, paths)
    if (detected) return detected
  }
  return { kind: 'unknown', because: backendDirectoriesIn(paths).map(directory => `no ${directory}`) }
}
