/**
 * Programs for an image, with their libraries and the Debian packages of both. They come from this machine, or from a
 * directory of unpacked packages (debian-root.sh), which may have another architecture.
 */
import { execFile } from 'node:child_process'
import { existsSync, lstatSync, readFileSync, readlinkSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { linkedTo } from './elf.ts'
import type { ImageFile } from './oci.ts'

export interface SystemPackage {
  name: string
  version: string
  architecture: string
  licences: string[]
}

export interface Programs {
  files: Record<string, ImageFile>
  packages: SystemPackage[]
}

const triplets: Record<string, string> = { amd64: 'x86_64-linux-gnu', arm64: 'aarch64-linux-gnu' }

/** `programs`: path in the image, and the source. A source without a slash is a command of the system. */
export async function programsFrom(root: string, programs: Record<string, string>): Promise<Programs> {
  const files: Record<string, ImageFile> = {}
  const fromSystem = new Set<string>()
  for (const [path, name] of Object.entries(programs)) {
    const source = name.includes('/') ? name : find(root, name, ['/usr/sbin', '/sbin', '/usr/bin', '/bin'])
    if (source !== name) fromSystem.add(source)
    files[path] = { copy: source }
    for (const [at, library] of Object.entries(librariesOf(root, source))) {
      files[at] = { copy: library }
      fromSystem.add(library)
    }
  }
  const packages = await packagesOf(root, [...fromSystem])
  for (const { name } of packages)
    files[`/usr/share/doc/${name}/copyright`] = { copy: join(root, `/usr/share/doc/${name}/copyright`) }
  return { files, packages }
}

/** Libraries by the path at which the loader expects them. */
function librariesOf(root: string, program: string): Record<string, string> {
  const { architecture, interpreter, needed } = linkedTo(program)
  const triplet = triplets[architecture] ?? ''
  const places = [`/lib/${triplet}`, `/usr/lib/${triplet}`]
  const found: Record<string, string> = {}
  if (interpreter) found[interpreter] = find(root, basename(interpreter), places)
  const queue = [...needed]
  for (let name = queue.pop(); name !== undefined; name = queue.pop()) {
    const at = `/lib/${triplet}/${name}`
    if (found[at] || (interpreter && name === basename(interpreter))) continue
    const library = find(root, name, places)
    found[at] = library
    queue.push(...linkedTo(library).needed.filter(dependency => !dependency.startsWith('ld-linux')))
  }
  return found
}

function find(root: string, name: string, places: readonly string[]): string {
  const found = places.map(place => inRoot(root, join(root, place, name))).find(file => existsSync(file))
  if (!found)
    throw new Error(
      `${name} is not in ${root}: run scripts/provision.sh base, or scripts/debian-root.sh for another architecture`,
    )
  return found
}

/** Follows symbolic links; the target of an absolute link is below the root. */
function inRoot(root: string, path: string): string {
  if (!lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink()) return path
  const target = readlinkSync(path)
  return inRoot(root, target.startsWith('/') ? join(root, target) : join(dirname(path), target))
}

async function packagesOf(root: string, files: readonly string[]): Promise<SystemPackage[]> {
  if (files.length === 0) return []
  const dpkg = async (...args: string[]) =>
    (await promisify(execFile)('dpkg-query', [`--admindir=${join(root, 'var/lib/dpkg')}`, ...args])).stdout
  // Packages list the paths from before /lib and /sbin became links into /usr.
  const spellings = files.flatMap(file => {
    const path = file.slice(root === '/' ? 0 : root.length)
    return [path, path.replace(/^\/usr/, ''), `/usr${path}`]
  })
  // dpkg-query also fails if only some of the paths are unknown. Only one spelling of each path is known.
  const found = await dpkg('--search', ...new Set(spellings)).catch((error: { stdout?: string }) => error.stdout ?? '')
  const owners = [...found.matchAll(/^([^ ,:]+)(?::\S+)?: /gm)].map(([, name = '']) => name)
  const names = [...new Set(owners)].sort()
  if (names.length === 0)
    throw new Error(`no Debian package in ${root} contains ${files[0]}: build images on Debian or Ubuntu`)
  const format = `--showformat=${['Package', 'Version', 'Architecture'].map(field => `\${${field}}`).join('\t')}\n`
  const rows = (await dpkg('--show', format, ...names)).trim().split('\n')
  return rows.map(row => {
    const [name = '', version = '', architecture = ''] = row.split('\t')
    return { name, version, architecture, licences: licencesIn(join(root, `/usr/share/doc/${name}/copyright`)) }
  })
}

/** The license names in a machine-readable copyright file; other files contain only prose. */
function licencesIn(copyright: string): string[] {
  const names = [...readFileSync(copyright, 'utf8').matchAll(/^License: *(\S.*)$/gm)].map(([, name = '']) =>
    name.trim(),
  )
  return names.length > 0 ? [...new Set(names)].sort() : ['see its copyright file']
}
