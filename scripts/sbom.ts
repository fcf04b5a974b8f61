/**
 * The contents of an image as a bill of materials (CycloneDX) and a list of licences. The same content gives the same bytes.
 */
import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { SystemPackage } from './image-programs.ts'

export interface Component {
  name: string
  version: string
  /** As the package names it: an SPDX expression, or the names of the distribution. */
  licence: string
  purl: string
  /** Licence texts that must be distributed with it. */
  texts: string[]
}

interface PackageFile {
  version: string
  license?: string
}

/** Installed npm packages. */
export function npmComponents(root: string, names: readonly string[]): Component[] {
  return names.map(name => {
    const dir = join(root, 'node_modules', name)
    const { version, license } = JSON.parse(readFileSync(join(dir, 'package.json'), 'utf8')) as PackageFile
    const purl = `pkg:npm/${name.replace('@', '%40')}@${version}`
    return { name, version, licence: license ?? 'unknown', purl, texts: licenceTexts(dir) }
  })
}

export function nodeComponent(dir: string): Component {
  const { version } = JSON.parse(readFileSync(join(dir, 'package.json'), 'utf8')) as PackageFile
  const purl = `pkg:generic/node@${version}`
  return { name: 'node', version, licence: 'MIT', purl, texts: licenceTexts(dir) }
}

/** Their licence texts are in the image, under /usr/share/doc. */
export function debianComponents(packages: readonly SystemPackage[]): Component[] {
  return packages.map(({ name, version, architecture, licences }) => ({
    name,
    version,
    licence: licences.join(', '),
    purl: `pkg:deb/debian/${name.replaceAll('+', '%2B')}@${encodeURIComponent(version)}?arch=${architecture}`,
    texts: [],
  }))
}

export interface Subject {
  name: string
  version: string
  architecture: string
}

export function billOfMaterials({ name, version, architecture }: Subject, components: readonly Component[]): string {
  const listed = components.map(({ name, version, licence, purl }) => ({
    type: 'library',
    'bom-ref': purl,
    name,
    version,
    licenses: [isExpression(licence) ? { expression: licence } : { license: { name: licence } }],
    purl,
  }))
  const subject = {
    type: 'container',
    'bom-ref': `${name}@${version}`,
    name,
    version,
    licenses: [{ license: { id: 'Apache-2.0' } }],
    properties: [{ name: 'architecture', value: architecture }],
  }
  const dependencies = [{ ref: subject['bom-ref'], dependsOn: listed.map(({ purl }) => purl) }]
  const content = { metadata: { component: subject }, components: listed, dependencies }
  const bill = {
    $schema: 'http://cyclonedx.org/schema/bom-1.5.schema.json',
    bomFormat: 'CycloneDX',
    specVersion: '1.5',
    serialNumber: `urn:uuid:${uuidOf(JSON.stringify(content))}`,
    version: 1,
    ...content,
  }
  return `${JSON.stringify(bill, null, 2)}\n`
}

/** A table, then the licence texts. */
export function licenceList({ name, version }: Subject, components: readonly Component[]): string {
  const rows = components.map(one => `${one.name} ${one.version}: ${one.licence}`)
  const texts = components.flatMap(one =>
    one.texts.map(text => `${'='.repeat(80)}\n${one.name} ${one.version}\n${'='.repeat(80)}\n\n${text.trim()}\n`),
  )
  const note = 'The texts of Debian packages are in the image, at /usr/share/doc/<package>/copyright.'
  return `${name} ${version}: Apache-2.0\n\n${rows.join('\n')}\n\n${note}\n\n${texts.join('\n')}`
}

function licenceTexts(dir: string): string[] {
  const names = existsSync(dir) ? readdirSync(dir).sort() : []
  const textsOf = (pattern: RegExp) =>
    names.filter(name => pattern.test(name)).map(name => readFileSync(join(dir, name), 'utf8'))
  const texts = textsOf(/^(licen[cs]e|copying|notice)/i)
  // Some packages have their licence only at the end of the README.
  return texts.length > 0
    ? texts
    : textsOf(/^readme/i).flatMap(text => /^#+ *licen[cs]e\s[\s\S]*/im.exec(text)?.[0] ?? [])
}

/** Distinguishes SPDX expressions from the names of a distribution, which may look similar. */
function isExpression(licence: string): boolean {
  return /^\(?[A-Za-z0-9.+-]+( (AND|OR|WITH) [A-Za-z0-9.+-]+)*\)?$/.test(licence) && !/see|unknown/.test(licence)
}

function uuidOf(content: string): string {
  const hex = createHash('sha256').update(content).digest('hex')
  return [hex.slice(0, 8), hex.slice(8, 12), `5${hex.slice(13, 16)}`, `8${hex.slice(17, 20)}`, hex.slice(20, 32)].join(
    '-',
  )
}
