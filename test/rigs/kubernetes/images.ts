/**
 * The pause image of the rig's nodes: a busybox that waits. It needs no registry.
 */
import { writeArchive } from '../../../scripts/oci.ts'
import { binary } from './binaries.ts'

export const pauseImage = 'rig.local/pause:1'

export async function writePauseImage(out: string): Promise<void> {
  const entrypoint = ['/bin/busybox', 'sh', '-c', 'trap "exit 0" TERM INT; while :; do sleep 86400 & wait; done']
  await writeArchive({
    images: [{ names: [pauseImage], entrypoint }],
    files: { '/bin/busybox': { copy: binary('busybox') } },
    out,
  })
}
