/**
 * The contents of our container images, and how to build an OCI archive or a directory of them.
 *
 * `image.ts services|agent --out FILE` writes the archive, `--rootfs DIR` the directory (the Dockerfiles use it). With
 * `--root DIR` the system files come from that directory: for another architecture, or for pinned packages.
 * Decisions: docs/decisions/0004-agent-image.md, docs/decisions/0016-services-image.md
 */
import { existsSync, globSync, readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { buildWeb } from '../web/build.ts'
import { buildAgent, buildProgram, programParts } from './build.ts'
import { programsFrom } from './image-programs.ts'
import { type Image, type ImageFile, thisArchitecture, writeArchive, writeRoot } from './oci.ts'
import { type Component, debianComponents, licenceList, nodeComponent, npmComponents, type Subject } from './sbom.ts'

const root = join(import.meta.dirname, '..')
const nodeArchitectures: Record<string, string> = { amd64: 'x64', arm64: 'arm64' }

export interface Recipe {
  /** For the title label. */
  title: string
  /** The command (CMD) of each image. */
  starts: Record<string, string[]>
  entrypoint: readonly string[]
  environment?: Readonly<Record<string, string>>
  user?: string
  /** System programs besides Node, by path in the image. */
  system: Record<string, string>
  /** Our own files, and the npm packages that they contain. `work` is a directory for the build. */
  own(work: string): Promise<{ files: Record<string, ImageFile>; packages: string[] }>
}

const program = '/opt/multinic/multinic.mjs'
export const recipes = {
  services: {
    title: 'MultiNIC services: operator, Viola API, controller, inventory and CLI',
    starts: {
      'multinic-operator': ['operator'],
      'multinic-controller': ['controller'],
      'multinic-viola': ['viola'],
      // The name of the test image in the documents of the Go version.
      'multinic-viola-test-api': ['viola'],
      'multinic-inventory': ['inventory'],
      multinic: [],
    },
    entrypoint: ['/usr/bin/node', '--max-semi-space-size=4', program],
    // Each thread of Node has a malloc arena of its own, and large bodies, which arrive in pieces of up to 64 KiB, fragment them.
    environment: { GLIBC_TUNABLES: 'glibc.malloc.arena_max=2:glibc.malloc.mmap_threshold=16384' },
    user: '65532:65532',
    system: {},
    own: async work => {
      const bundle = join(work, 'multinic.mjs')
      const packages = await buildProgram(bundle)
      await buildWeb(join(work, 'web'))
      const web = globSync('**/*', { cwd: join(work, 'web') }).filter(path => path.includes('.'))
      return {
        packages: [...packages, 'preact'].sort(),
        files: {
          ...Object.fromEntries(
            ['multinic.mjs', ...programParts(bundle)].map(name => [
              `/opt/multinic/${name}`,
              { copy: join(work, name) },
            ]),
          ),
          ...Object.fromEntries(web.map(path => [`/opt/multinic/web/${path}`, { copy: join(work, 'web', path) }])),
          '/etc/passwd': { text: 'root:x:0:0:root:/:/sbin/nologin\nnonroot:x:65532:65532:nonroot:/:/sbin/nologin\n' },
          '/etc/group': { text: 'root:x:0:\nnonroot:x:65532:\n' },
          // Without this file, glibc queries DNS before it reads /etc/hosts.
          '/etc/nsswitch.conf': { text: 'hosts: files dns\n' },
        },
      }
    },
  },
  agent: {
    title: 'MultiNIC agent',
    starts: { 'multinic-agent': [] },
    entrypoint: ['/usr/bin/node', '/agent.cjs'],
    system: { '/usr/sbin/ip': 'ip', '/usr/sbin/nft': 'nft' },
    own: async work => ({
      packages: await buildAgent(join(work, 'agent.cjs')),
      files: {
        '/agent.cjs': { copy: join(work, 'agent.cjs') },
        '/etc/passwd': { text: 'root:x:0:0:root:/:/sbin/nologin\n' },
      },
    }),
  },
} satisfies Record<string, Recipe>

export type ImageName = keyof typeof recipes

export interface BuildOptions {
  compress?: boolean
  tags?: readonly string[]
  architecture?: string
  /** Root directory of the system files. */
  from?: string
}

export const version: string = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')).version

/** The digests of the images by name, and their contents. */
export interface Built {
  digests: Record<string, string>
  subject: Subject
  components: Component[]
}

export async function buildImage(image: ImageName, out: string, options: BuildOptions = {}): Promise<Built> {
  const { compress = true, tags = ['dev'], architecture = thisArchitecture() } = options
  const { starts, entrypoint, environment, title, user }: Recipe = recipes[image]
  const labels = {
    'org.opencontainers.image.title': title,
    'org.opencontainers.image.version': version,
    'org.opencontainers.image.licenses': 'Apache-2.0',
  }
  const images = Object.entries(starts).map(([name, cmd]): Image => {
    const more = { ...(cmd.length > 0 && { cmd }), ...(user && { user }), ...(environment && { environment }) }
    return { names: tags.map(tag => `${name}:${tag}`), entrypoint, labels, ...more }
  })
  return withContents(image, options, async ({ files, ...contents }) => {
    const digests = await writeArchive({ images, files, architecture, compress, out })
    return {
      ...contents,
      digests: Object.fromEntries(Object.keys(starts).map((name, at) => [name, digests[at] ?? ''])),
    }
  })
}

export async function buildRoot(image: ImageName, dir: string, options: BuildOptions = {}): Promise<void> {
  await withContents(image, options, ({ files }) => writeRoot(files, dir))
}

interface Contents {
  files: Record<string, ImageFile>
  subject: Subject
  components: Component[]
}

async function withContents<T>(image: ImageName, options: BuildOptions, use: (it: Contents) => Promise<T>): Promise<T> {
  const { architecture = thisArchitecture(), from = '/' } = options
  const recipe: Recipe = recipes[image]
  const work = await mkdtemp(join(tmpdir(), 'multinic-image-'))
  try {
    const own = await recipe.own(work)
    const node = nodeFor(architecture, from)
    const { files, packages } = await programsFrom(resolve(from), {
      '/usr/bin/node': join(node, 'bin/node'),
      ...recipe.system,
    })
    const subject = { name: `multinic-${image}`, version, architecture }
    const components = [nodeComponent(node), ...npmComponents(root, own.packages), ...debianComponents(packages)]
    const licences = { '/usr/share/doc/multinic/licenses.txt': { text: licenceList(subject, components) } }
    return await use({ files: { ...own.files, ...files, ...licences }, subject, components })
  } finally {
    await rm(work, { recursive: true, force: true })
  }
}

/** Node for this architecture is in node_modules; for another architecture it is in the unpacked root. */
function nodeFor(architecture: string, from: string): string {
  const name = `node-linux-${nodeArchitectures[architecture]}`
  const found = [join(root, 'node_modules', name), join(from, 'node_modules', name)].find(dir => existsSync(dir))
  if (!found)
    throw new Error(`${name} is not installed: run scripts/debian-root.sh ${architecture} DIR, then use --root DIR`)
  return found
}

async function main(): Promise<void> {
  const text = { type: 'string' } as const
  const options = { out: text, rootfs: text, root: text, arch: text }
  const { values, positionals } = parseArgs({ allowPositionals: true, options })
  const image = Object.keys(recipes).find((name): name is ImageName => name === positionals[0])
  if (!image || (!values.out && !values.rootfs))
    throw new Error(`usage: image.ts ${Object.keys(recipes).join('|')} --out FILE | --rootfs DIR`)
  const buildOptions = { ...(values.arch && { architecture: values.arch }), ...(values.root && { from: values.root }) }
  if (values.rootfs) await buildRoot(image, values.rootfs, buildOptions)
  if (values.out) console.log(JSON.stringify((await buildImage(image, values.out, buildOptions)).digests, null, 2))
}

if (import.meta.main) await main()
