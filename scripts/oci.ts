/**
 * Writes container images as an OCI archive, without container engine, daemon or registry.
 *
 * All images of an archive share one layer. The same input gives the same bytes: names are sorted, times and owners are 0.
 */
import { createHash } from 'node:crypto'
import { chmod, type FileHandle, mkdir, open, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { gzipSync } from 'node:zlib'

/** A file of this machine (follows links, keeps the executable bit), or a file with this text. */
export type ImageFile = { copy: string } | { text: string }

export interface Archive {
  /** One or more images with the same files. */
  images: readonly Image[]
  /** Files by absolute path in the image; their directories are added. */
  files: Record<string, ImageFile>
  /** In the naming of Go. Default: this machine. */
  architecture?: string
  compress?: boolean
  out: string
}

export interface Image {
  /** Each as `name:tag`. */
  names: readonly string[]
  entrypoint: readonly string[]
  environment?: Readonly<Record<string, string>>
  cmd?: readonly string[]
  /** `uid:gid`. Default: root. */
  user?: string
  labels?: Readonly<Record<string, string>>
}

const architectures: Partial<Record<NodeJS.Architecture, string>> = { x64: 'amd64', arm64: 'arm64' }
const media = 'application/vnd.oci.image'

/** `NAME=value` of the common and the additional environment of an image. */
export function environmentOf(environment: Readonly<Record<string, string>> = {}): string[] {
  return Object.entries({ PATH: '/usr/sbin:/usr/bin:/sbin:/bin', ...environment }).map(pair => pair.join('='))
}

export function thisArchitecture(): string {
  const architecture = architectures[process.arch]
  if (!architecture) throw new Error(`no image for architecture ${process.arch}: amd64 and arm64 are supported`)
  return architecture
}

/** Returns the digests of the manifests, in the order of the images. */
export async function writeArchive(archive: Archive): Promise<string[]> {
  const { images, files, architecture = thisArchitecture(), compress = false, out } = archive
  const tar = await tarOf(files)
  const blob = compress ? gzipSync(tar) : tar
  const layer = descriptor(`${media}.layer.v1.tar${compress ? '+gzip' : ''}`, blob)
  const built = images.map(image => {
    const config = json(configOf(image, architecture, digest(tar)))
    const manifest = json({
      schemaVersion: 2,
      mediaType: `${media}.manifest.v1+json`,
      config: descriptor(`${media}.config.v1+json`, config),
      layers: [layer],
    })
    return { image, config, manifest }
  })
  const index = json({
    schemaVersion: 2,
    manifests: built.flatMap(({ image, manifest }) =>
      image.names.map(name => ({
        ...descriptor(`${media}.manifest.v1+json`, manifest),
        platform: { architecture, os: 'linux' },
        annotations: { 'io.containerd.image.name': fullName(name), 'org.opencontainers.image.ref.name': name },
      })),
    ),
  })
  const blobs = new Map(
    [...built.flatMap(({ config, manifest }) => [config, manifest]), blob].map(content => [digest(content), content]),
  )
  const dockerManifest = built.map(({ image, config }) => ({
    Config: pathOf(digest(config)),
    RepoTags: image.names,
    Layers: [pathOf(layer.digest)],
  }))
  await writeTar(out, [
    ['oci-layout', json({ imageLayoutVersion: '1.0.0' })],
    ['index.json', index],
    // For versions of `docker load` that do not support the OCI layout.
    ['manifest.json', json(dockerManifest)],
    ...[...blobs].map(([id, content]): [string, Buffer] => [pathOf(id), content]),
  ])
  return built.map(({ manifest }) => digest(manifest))
}

function pathOf(digest: string): string {
  return `blobs/${digest.replace(':', '/')}`
}

function configOf(
  { entrypoint, environment, cmd, user, labels }: Image,
  architecture: string,
  layerId: string,
): object {
  return {
    architecture,
    os: 'linux',
    config: {
      ...(user && { User: user }),
      Env: environmentOf(environment),
      Entrypoint: entrypoint,
      ...(cmd && { Cmd: cmd }),
      WorkingDir: '/',
      ...(labels && { Labels: labels }),
    },
    rootfs: { type: 'layers', diff_ids: [layerId] },
  }
}

/** Writes the files to a directory, for tools that build the archive themselves. */
export async function writeRoot(files: Record<string, ImageFile>, dir: string): Promise<void> {
  for (const [path, file] of Object.entries(files)) {
    const to = join(dir, path)
    await mkdir(dirname(to), { recursive: true })
    const { content, mode } = await read(file)
    await writeFile(to, content)
    await chmod(to, mode)
  }
}

/** The container runtime resolves a short name to this one, but an import takes names literally. */
function fullName(name: string): string {
  const [first = '', ...rest] = name.split('/')
  if (rest.length > 0 && (first.includes('.') || first.includes(':') || first === 'localhost')) return name
  return rest.length > 0 ? `docker.io/${name}` : `docker.io/library/${name}`
}

/** The same names and contents give the same bytes. */
export async function tarOf(files: Record<string, ImageFile>): Promise<Buffer> {
  const parts: Buffer[] = []
  const directories = new Set<string>()
  for (const path of Object.keys(files).sort()) {
    for (const dir of parents(path)) {
      if (!directories.has(dir)) parts.push(header({ name: `${dir}/`, mode: 0o755, size: 0, type: '5' }))
      directories.add(dir)
    }
    const file = files[path]
    if (!file) continue
    const { content, mode } = await read(file)
    parts.push(header({ name: path.slice(1), mode, size: content.length, type: '0' }), content, padding(content.length))
  }
  return Buffer.concat([...parts, Buffer.alloc(1024)])
}

async function read(file: ImageFile): Promise<{ content: Buffer; mode: number }> {
  if ('text' in file) return { content: Buffer.from(file.text), mode: 0o644 }
  const isProgram = ((await stat(file.copy)).mode & 0o111) !== 0
  return { content: await readFile(file.copy), mode: isProgram ? 0o755 : 0o644 }
}

/** `/usr/lib/x` → `usr`, `usr/lib`. */
function parents(path: string): string[] {
  const parts = path.split('/').slice(1, -1)
  return parts.map((_, index) => parts.slice(0, index + 1).join('/'))
}

/** Writes to a temporary file first, so that the archive is always complete. */
async function writeTar(out: string, entries: [name: string, content: Buffer][]): Promise<void> {
  const partial = `${out}.${process.pid}.partial`
  const file: FileHandle = await open(partial, 'w')
  try {
    for (const [name, content] of entries) {
      await file.write(header({ name, mode: 0o644, size: content.length, type: '0' }))
      await writeAll(file, content)
      await writeAll(file, padding(content.length))
    }
    await file.write(Buffer.alloc(1024))
    await file.close()
    await rename(partial, out)
  } catch (error) {
    await file.close().catch(() => {})
    await rm(partial, { force: true })
    throw error
  }
}

async function writeAll(file: FileHandle, content: Buffer): Promise<void> {
  for (let at = 0; at < content.length; ) at += (await file.write(content, at)).bytesWritten
}

interface Entry {
  name: string
  mode: number
  size: number
  /** '0' a file, '5' a directory. */
  type: '0' | '5'
}

function header({ name, mode, size, type }: Entry): Buffer {
  if (Buffer.byteLength(name) > 100)
    throw new Error(`${name}: name is longer than the 100 bytes that the archive allows`)
  const block = Buffer.alloc(512)
  const octal = (value: number, length: number) => `${value.toString(8).padStart(length - 1, '0')}\0`
  block.write(name, 0)
  block.write(octal(mode, 8), 100)
  block.write(octal(0, 8), 108)
  block.write(octal(0, 8), 116)
  block.write(octal(size, 12), 124)
  block.write(octal(0, 12), 136)
  block.write(' '.repeat(8), 148) // the checksum field counts as blanks
  block.write(type, 156)
  block.write('ustar\x0000', 257)
  const sum = block.reduce((total, byte) => total + byte, 0)
  block.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148)
  return block
}

function padding(size: number): Buffer {
  return Buffer.alloc((512 - (size % 512)) % 512)
}

function json(value: unknown): Buffer {
  return Buffer.from(JSON.stringify(value))
}

function digest(content: Buffer): string {
  return `sha256:${createHash('sha256').update(content).digest('hex')}`
}

function descriptor(mediaType: string, content: Buffer): { mediaType: string; digest: string; size: number } {
  return { mediaType, digest: digest(content), size: content.length }
}
