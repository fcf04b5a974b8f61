/**
 * `make images`: every image as an OCI archive in dist/images, with a bill of materials (CycloneDX), licences and checksums.
 *
 * IMAGE_TAG= replaces the version as tag. ARCH=arm64 builds for another architecture, from packages that debian-root.sh
 * downloads; it runs none of them, so it needs no emulator. The same input gives the same bytes.
 */
import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { mkdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { environment } from '../src/runtime/env.ts'
import { runWithin } from '../test/rigs/process.ts'
import { buildImage, type ImageName, recipes, version } from './image.ts'
import { thisArchitecture } from './oci.ts'
import { billOfMaterials, licenceList } from './sbom.ts'

const root = join(import.meta.dirname, '..')

export interface ImagesOptions {
  out: string
  architecture: string
  tags: readonly string[]
  /** Root directory of the system files. */
  from?: string
  compress?: boolean
}

/** Returns the names of the written files with their checksums. */
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

/** Packages of another architecture, cached in dist/. */
export async function rootFor(architecture: string): Promise<string> {
  if (architecture === thisArchitecture()) return '/'
  const dir = join(root, 'dist', `root-${architecture}`)
  if (existsSync(join(dir, 'complete'))) return dir
  await rm(dir, { recursive: true, force: true })
  const { code } = await runWithin([join(import.meta.dirname, 'debian-root.sh'), architecture, dir], {
    within: 15 * 60_000,
  })
  if (code !== 0) throw new Error(`cannot download the packages for ${architecture} (see above)`)
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
