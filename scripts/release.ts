/**
 * `make release`: all artifacts of a version in dist/release, with checksums. The same input gives the same bytes.
 *
 * The version comes from package.json and must have a chapter in CHANGELOG.md. ARCH=amd64 builds the images of one
 * architecture only.
 */
import { createHash } from 'node:crypto'
import { createReadStream, globSync } from 'node:fs'
import { mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { gzipSync } from 'node:zlib'
import { userCommands } from '../src/cli/commands.ts'
import { completionScript, completionsOf, shells } from '../src/cli/completion.ts'
import { openProgram } from '../src/cli/program.ts'
import { terminalIo } from '../src/cli/terminal.ts'
import { environment } from '../src/runtime/env.ts'
import { buildCli } from './build.ts'
import { version } from './image.ts'
import { rootFor, writeImages } from './images.ts'
import { type ImageFile, tarOf } from './oci.ts'
import { billOfMaterials, licenceList, npmComponents } from './sbom.ts'

const root = join(import.meta.dirname, '..')

/** All artifacts except the images. Takes seconds and downloads nothing. */
export async function writeLightArtefacts(out: string): Promise<void> {
  await mkdir(out, { recursive: true })
  const write = (name: string, content: string | Buffer) => writeFile(join(out, name), content)
  await write(`CHANGES-${version}.md`, await changesOf(version))
  // Nodes without a registry need this script next to the archives.
  await writeFile(join(out, 'images-load.sh'), await textOf('scripts/images-load.sh'), { mode: 0o755 })
  // The layout of `helm package`.
  await write(`multinic-agent-${version}.tgz`, await packed(filesBelow('deployments/helm', 'multinic-agent')))
  await write(`multinic-kustomize-${version}.tgz`, await packed(filesBelow('config', `multinic-${version}/config`)))
  await write(`multinic-docs-${version}.tgz`, await packed(documents()))
  const definitions = await Promise.all(globSync('deployments/crds/*.yaml', { cwd: root }).sort().map(textOf))
  await write(`multinic-crds-${version}.yaml`, definitions.join('---\n'))

  const work = await mkdtemp(join(tmpdir(), 'multinic-release-'))
  try {
    const program = join(work, 'multinic')
    const packages = await buildCli(program)
    const subject = { name: 'multinic-cli', version, architecture: 'any' }
    const components = npmComponents(root, packages)
    const licences = licenceList(subject, components)
    await write(`multinic-cli-${version}.cdx.json`, billOfMaterials(subject, components))
    await write(`multinic-cli-${version}.licenses.txt`, licences)
    await write(`multinic-cli-${version}.tgz`, await packed(cliFiles(program, licences)))
  } finally {
    await rm(work, { recursive: true, force: true })
  }
}

/** The chapter of a version in the changelog, which must be the first one. */
export async function changesOf(release: string): Promise<string> {
  const chapter = /^## .*\n[\s\S]*?(?=^## |(?![\s\S]))/m.exec(await textOf('CHANGELOG.md'))?.[0] ?? ''
  const [, first] = /^## (\S+)/.exec(chapter) ?? []
  if (first !== release)
    throw new Error(
      `CHANGELOG.md begins with ${first ?? 'nothing'}: write a chapter "## ${release}" before you release it`,
    )
  return `${chapter.trim()}\n`
}

function cliFiles(program: string, licences: string): Record<string, ImageFile> {
  const at = `/multinic-cli-${version}`
  const cli = openProgram()
  for (const command of userCommands(terminalIo({}, 'en'), () => {})) cli.addCommand(command)
  const completions = shells.map((shell): [string, ImageFile] => [
    `${at}/completion/multinic.${shell}`,
    { text: completionScript(shell, completionsOf(cli)) },
  ])
  return {
    [`${at}/multinic`]: { copy: program },
    // kubectl finds commands by their file names.
    [`${at}/kubectl-multinic`]: { copy: program },
    [`${at}/kubectl_complete-multinic`]: { copy: join(root, 'bin/kubectl_complete-multinic') },
    [`${at}/LICENSE`]: { copy: join(root, 'LICENSE') },
    [`${at}/licenses.txt`]: { text: licences },
    ...Object.fromEntries(completions),
  }
}

/** Documents and examples for sites without internet access; alerts can link to a copy of them. */
function documents(): Record<string, ImageFile> {
  const pages = globSync('*.md', { cwd: root }).sort()
  const at = `multinic-${version}`
  return {
    ...Object.fromEntries(pages.map(name => [`/${at}/${name}`, { copy: join(root, name) }])),
    ...filesBelow('docs', `${at}/docs`),
  }
}

function filesBelow(dir: string, as: string): Record<string, ImageFile> {
  const files = globSync('**/*', { cwd: join(root, dir), withFileTypes: true }).filter(entry => entry.isFile())
  const paths = files.map(entry => join(entry.parentPath, entry.name)).sort()
  return Object.fromEntries(paths.map(path => [`/${as}${path.slice(join(root, dir).length)}`, { copy: path }]))
}

async function packed(files: Record<string, ImageFile>): Promise<Buffer> {
  return gzipSync(await tarOf(files))
}

function textOf(path: string): Promise<string> {
  return readFile(join(root, path), 'utf8')
}

/** In the format of `sha256sum`. */
export async function writeSums(out: string): Promise<void> {
  const lines: string[] = []
  for (const name of (await readdir(out)).filter(name => !name.startsWith('SHA256SUMS')).sort()) {
    const hash = createHash('sha256')
    await pipeline(createReadStream(join(out, name)), hash)
    lines.push(`${hash.digest('hex')}  ${name}\n`)
  }
  await writeFile(join(out, 'SHA256SUMS'), lines.join(''))
}

async function main(): Promise<void> {
  const out = join(root, 'dist/release')
  await changesOf(version)
  await rm(out, { recursive: true, force: true })
  await writeLightArtefacts(out)
  const { ARCH } = environment()
  for (const architecture of ARCH ? [ARCH] : ['amd64', 'arm64'])
    await writeImages({ out, architecture, tags: [version], from: await rootFor(architecture) })
  await writeSums(out)
  for (const name of await readdir(out))
    console.log(`dist/release/${name}  ${((await stat(join(out, name))).size / 1e6).toFixed(2)} MB`)
}

if (import.meta.main) await main()
