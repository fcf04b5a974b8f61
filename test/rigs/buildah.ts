/**
 * Builds our Dockerfiles without container engine and network: buildah in a chroot, with a base image of the Debian packages
 * of this machine and the pinned Node.
 */
import { globSync } from 'node:fs'
import { lstat, mkdir, mkdtemp, realpath, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { run } from './process.ts'

const root = join(import.meta.dirname, '../..')
const baseImage = 'localhost/multinic-build:1'

/** A shell, dpkg, and the packages of our images. */
const packages = ['base-files', 'dash', 'coreutils', 'dpkg', 'iproute2', 'libstdc++6', 'libc-bin']

export interface Buildah {
  /** Builds a Dockerfile of the tree and returns the image as a directory. */
  build(dockerfile: string, name: string): Promise<string>
  /** Writes the image as an archive that a node can import. */
  archive(name: string, out: string): Promise<void>
  /** The image configuration: entrypoint, user and others. */
  config(name: string): Promise<Record<string, unknown>>
}

export async function startBuildah(): Promise<Buildah> {
  const dir = await mkdtemp(join(tmpdir(), 'buildah-'))
  const storage = ['--root', join(dir, 'root'), '--runroot', join(dir, 'run'), '--storage-driver', 'overlay']
  const buildah = async (...args: string[]) =>
    (await run('buildah', [...storage, ...args], { env: { BUILDAH_ISOLATION: 'chroot' } })).stdout.trim()

  await writeBase(join(dir, 'base.tar'))
  const container = await buildah('from', 'scratch')
  await buildah('add', '--quiet', container, join(dir, 'base.tar'), '/')
  await buildah('commit', '--quiet', '--rm', container, baseImage)

  return {
    async build(dockerfile, name) {
      const mounted = ['--volume', `${join(root, 'node_modules')}:/src/node_modules:ro`]
      const options = ['--network', 'none', '--pull-never', '--build-arg', `BUILD_IMAGE=${baseImage}`, ...mounted]
      await buildah('build', '--quiet', '--layers', ...options, '--file', join(root, dockerfile), '--tag', name, root)
      return buildah('mount', await buildah('from', '--pull-never', name))
    },
    archive: async (name, out) => {
      await buildah('push', '--quiet', name, `docker-archive:${out}:${name}`)
    },
    config: async name => JSON.parse(await buildah('inspect', '--type', 'image', name)).OCIv1.config,
  }
}

async function writeBase(out: string): Promise<void> {
  const needed = await withDependencies(packages)
  const listed = await Promise.all(
    needed.map(async name => [
      ...(await run('dpkg-query', ['--listfiles', name])).stdout.split('\n'),
      ...globSync(`/var/lib/dpkg/info/${name}{,:*}.list`),
    ]),
  )
  const links = ['/bin', '/sbin', '/lib', '/lib64']
  const files = new Set([...links, '/var/lib/dpkg/status', '/var/lib/dpkg/info/format'])
  for (const path of listed.flat()) {
    if (!path.startsWith('/') || links.includes(path)) continue
    // By its real path: /bin and others are links into /usr.
    const directory = await realpath(dirname(path)).catch(() => undefined)
    const file = directory && join(directory, basename(path))
    if (file && (await lstat(file).catch(() => undefined))) files.add(file)
  }
  await mkdir(dirname(out), { recursive: true })
  await writeFile(`${out}.list`, [...files].sort().join('\n'))
  await run('tar', ['--create', '--no-recursion', '--file', out, '--files-from', `${out}.list`])
}

/** The packages with all their installed dependencies. */
async function withDependencies(names: readonly string[]): Promise<string[]> {
  const format = ['Package', 'Pre-Depends', 'Depends'].map(field => `\${${field}}`).join('\t')
  const { stdout } = await run('dpkg-query', ['--show', `--showformat=${format}\n`])
  const depends = new Map(
    stdout.split('\n').map(line => {
      const [name = '', ...needs] = line.split('\t')
      return [
        name,
        needs
          .join(',')
          .split(',')
          .flatMap(dependency => /^\s*([^\s(:|]+)/.exec(dependency)?.[1] ?? []),
      ]
    }),
  )
  const found = new Set<string>()
  const queue = [...names]
  for (let name = queue.pop(); name !== undefined; name = queue.pop()) {
    if (found.has(name) || !depends.has(name)) continue
    found.add(name)
    queue.push(...(depends.get(name) ?? []))
  }
  return [...found]
}
