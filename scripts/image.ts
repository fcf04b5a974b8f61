/**
 * Builds a container image of ours as an OCI archive: `image.ts agent --out FILE`.
 *
 * Programs and the libraries that they are linked to are taken from this machine, so an image is of its processor.
 * Why it is made so: docs/decisions/0004-agent-image.md
 */
import { execFile } from 'node:child_process'
import { existsSync, realpathSync, statSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs, promisify } from 'node:util'
import { buildAgent } from './build.ts'
import { type ImageFile, writeImage } from './oci.ts'

interface Recipe {
  name: string
  entrypoint: readonly string[]
  /** `work` is a directory for what has to be built first. */
  files(work: string): Promise<Record<string, ImageFile>>
}

const root = join(import.meta.dirname, '..')
const pinnedNode = join(root, 'node_modules', `node-linux-${process.arch}`, 'bin', 'node')
const passwd = { text: 'root:x:0:0:root:/:/sbin/nologin\n' }

/** Each image that we publish. */
const recipes = {
  agent: {
    name: 'multinic-agent:dev',
    entrypoint: ['/usr/bin/node', '/agent.cjs'],
    files: async work => {
      await buildAgent(join(work, 'agent.cjs'))
      return {
        '/agent.cjs': { copy: join(work, 'agent.cjs') },
        '/etc/passwd': passwd,
        ...(await program('/usr/bin/node', pinnedNode)),
        ...(await program('/usr/sbin/ip', findProgram('ip'))),
      }
    },
  },
} satisfies Record<string, Recipe>

export type ImageName = keyof typeof recipes

export async function buildImage(image: ImageName, out: string, { compress = true } = {}): Promise<string> {
  const { name, entrypoint, files } = recipes[image]
  const work = await mkdtemp(join(tmpdir(), 'multinic-image-'))
  try {
    return await writeImage({ name, entrypoint, files: await files(work), compress, out })
  } finally {
    await rm(work, { recursive: true, force: true })
  }
}

function findProgram(name: string): string {
  const found = ['/usr/sbin', '/sbin', '/usr/bin', '/bin'].map(dir => join(dir, name)).find(file => existsSync(file))
  if (!found) throw new Error(`${name} is not on this machine: scripts/provision.sh base`)
  return found
}

/** A program with its libraries, each under the path at which the loader looks for it. */
async function program(path: string, source: string): Promise<Record<string, ImageFile>> {
  const { stdout } = await promisify(execFile)('ldd', [source])
  const libraries = [...stdout.matchAll(/(?:=> )?(\/\S+) \(0x/g)].flatMap(([, file]) => (file ? [file] : []))
  if (/not found/.test(stdout)) throw new Error(`${source} lacks a library:\n${stdout}`)
  return Object.fromEntries([[path, { copy: realpathSync(source) }], ...libraries.map(file => [file, { copy: file }])])
}

async function main(): Promise<void> {
  const { values, positionals } = parseArgs({ allowPositionals: true, options: { out: { type: 'string' } } })
  const image = Object.keys(recipes).find((name): name is ImageName => name === positionals[0])
  if (!image || !values.out) throw new Error(`usage: image.ts ${Object.keys(recipes).join('|')} --out FILE`)
  const digest = await buildImage(image, values.out)
  console.log(`${recipes[image].name} ${digest} ${(statSync(values.out).size / 1e6).toFixed(1)} MB ${values.out}`)
}

if (import.meta.main) await main()
