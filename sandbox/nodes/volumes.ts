/**
 * The hostPath volumes of a Pod: checks their type as a kubelet does, and returns mounts.
 */
import { type Stats, statSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { PodObject } from '../../src/kube/types.ts'
import type { Mount } from './container.ts'

/** A volume that cannot be mounted; the message is that of a kubelet. */
export class MountFailure extends Error {}

type Volume = NonNullable<PodObject['spec']['volumes']>[number]

/** Mounts of the first container; `hostPath` finds a path of the node on this machine. Creates what the types *OrCreate ask for. */
export async function mountsOf(pod: Pick<PodObject, 'spec'>, hostPath: (path: string) => string): Promise<Mount[]> {
  const mounts: Mount[] = []
  for (const { name, mountPath, readOnly = false } of pod.spec.containers[0]?.volumeMounts ?? []) {
    const volume = pod.spec.volumes?.find(each => each.name === name)
    if (!volume?.hostPath)
      throw new MountFailure(`MountVolume.SetUp failed for volume "${name}" : only hostPath is supported`)
    const { source, kind } = await prepareVolume(volume, volume.hostPath, hostPath)
    mounts.push({ source, target: mountPath, readOnly, kind })
  }
  return mounts
}

async function prepareVolume(
  { name }: Volume,
  { path, type = '' }: { path: string; type?: string },
  hostPath: (path: string) => string,
): Promise<Pick<Mount, 'source' | 'kind'>> {
  const source = hostPath(path)
  if (type.endsWith('OrCreate') && !statIfPresent(source)) {
    if (type === 'DirectoryOrCreate') await mkdir(source, { recursive: true })
    else {
      await mkdir(dirname(source), { recursive: true })
      await writeFile(source, '', { flag: 'a' })
    }
  }
  const stat = statIfPresent(source)
  const refuse = (what: string) =>
    new MountFailure(`MountVolume.SetUp failed for volume "${name}" : hostPath type check failed: ${path} ${what}`)
  if (type.startsWith('Directory') && !stat?.isDirectory()) throw refuse('is not a directory')
  if (type.startsWith('File') && !stat?.isFile()) throw refuse('is not a file')
  if (type === 'Socket' && !stat?.isSocket()) throw refuse('is not a socket file')
  if (!stat) throw refuse('does not exist')
  return { source, kind: stat.isDirectory() ? 'directory' : 'file' }
}

function statIfPresent(path: string): Stats | undefined {
  return statSync(path, { throwIfNoEntry: false })
}
