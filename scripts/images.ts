/**
 * `make images`: every image as an OCI archive in dist/images, with what is in it (CycloneDX), the licences and checksums.
 *
 * IMAGE_TAG=… names them otherwise than by the version. ARCH=arm64 makes them for another processor, from packages that
 * debian-root.sh fetches; nothing of it is run, so no emulator is needed. The same input gives the same bytes.
 */
import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { mkdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { environment } from '../src/runtime/env.ts'
import { bounded } from '../test/rigs/process.ts'
import { buildImage, type ImageName, recipes, version } from './image.ts'
import { thisArchitecture } from './oci.ts'
import { billOfMaterials, licenceList } from './sbom.ts'

const root = join(import.meta.dirname, '..')

export interface ImagesOptions {
  out: string
  architecture: string
  tags: readonly string[]
  /** Where the system's files come from. */
  from?: string
  compress?: boolean
}

/** The files that it wrote, with their checksums. */
export async function writeImages({
  out,
  architecture,
  tags,
  from = '/',
  compress = true,
}: ImagesOptions): Promise<Record<string, string>> {
  await mkdir(out, { recursive: true })
  const sums: Record<string, string> = {}
  for (const image of Object.keys(recipes) as ImageName[]) {
    const name = `multinic-${image}-${version}-${architecture}`
    const built = await buildImage(image, join(out, `${name}.tar`), { tags, architecture, from, compress })
    await writeFile(join(out, `${name}.cdx.json`), billOfMaterials(built.subject, built.components))
    await writeFile(join(out, `${name}.licenses.txt`), licenceList(built.subject, built.components))
    for (const ending of ['tar', 'cdx.json', 'licenses.txt'])
      sums[`${name}.${ending}`] = await sumOf(join(out, `${name}.${ending}`))
  }
  const lines = Object.entries(sums).map(([file, sum]) => `${sum}  ${file}\n`)
  await writeFile(join(out, `SHA256SUMS-${architecture}`), lines.join(''))
  return sums
}

async function sumOf(file: string): Promise<string> {
  return createHash('sha256')
    .update(await readFile(file))
    .digest('hex')
}

/** Packages of another processor, kept for the next time. */
export async function rootFor(architecture: string): Promise<string> {
  if (architecture === thisArchitecture()) return '/'
  const dir = join(root, 'dist', `root-${architecture}`)
  if (existsSync(join(dir, 'complete'))) return dir
  await rm(dir, { recursive: true, force: true })
  const { code } = await bounded([join(import.meta.dirname, 'debian-root.sh'), architecture, dir], {
    within: 15 * 60_000,
  })
  if (code !== 0) throw new Error(`the packages of ${architecture} could not be fetched (see above)`)
  return dir
}

async function main(): Promise<void> {
  const { ARCH: architecture = thisArchitecture(), IMAGE_TAG: tag } = environment()
  const out = join(root, 'dist/images')
  const tags = tag ? [tag] : [version, 'latest']
  const written = await writeImages({ out, architecture, tags, from: await rootFor(architecture) })
  for (const file of Object.keys(written)) {
    const megabytes = (await stat(join(out, file))).size / 1e6
    console.log(`dist/images/${file}  ${megabytes.toFixed(1)} MB`)
  }
  for (const { starts } of Object.values(recipes))
    console.log(
      `images: ${Object.keys(starts)
        .flatMap(name => tags.map(one => `${name}:${one}`))
        .join(' ')}`,
    )
}

if (import.meta.main) await main()
