/**
 * Programs for an image, with the libraries that they are linked to and the Debian packages that these are of: from this
 * machine, or from a directory of unpacked packages (debian-root.sh), which may be of another processor.
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

/** `wanted`: where each is in the image, and where it is found. Names without a slash are the system's own. */
export async function programsFrom(root: string, wanted: Record<string, string>): Promise<Programs> {
  const files: Record<string, ImageFile> = {}
  const fromSystem = new Set<string>()
  for (const [path, name] of Object.entries(wanted)) {
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

/** By the path at which the loader looks for each. */
function librariesOf(root: string, program: string): Record<string, string> {
  const { architecture, interpreter, needed } = linkedTo(program)
  const triplet = triplets[architecture] ?? ''
  const places = [`/lib/${triplet}`, `/usr/lib/${triplet}`]
  const found: Record<string, string> = {}
  if (interpreter) found[interpreter] = find(root, basename(interpreter), places)
  const waiting = [...needed]
  for (let name = waiting.pop(); name !== undefined; name = waiting.pop()) {
    const at = `/lib/${triplet}/${name}`
    if (found[at] || (interpreter && name === basename(interpreter))) continue
    const library = find(root, name, places)
    found[at] = library
    waiting.push(...linkedTo(library).needed.filter(one => !one.startsWith('ld-linux')))
  }
  return found
}

function find(root: string, name: string, places: readonly string[]): string {
  const found = places.map(place => inRoot(root, join(root, place, name))).find(file => existsSync(file))
  if (!found)
    throw new Error(`${name} is not in ${root}: scripts/provision.sh base, or debian-root.sh for another root`)
  return found
}

/** Where a link leads: an absolute one means a path below the root. */
function inRoot(root: string, path: string): string {
  if (!lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink()) return path
  const target = readlinkSync(path)
  return inRoot(root, target.startsWith('/') ? join(root, target) : join(dirname(path), target))
}

async function packagesOf(root: string, files: readonly string[]): Promise<SystemPackage[]> {
  if (files.length === 0) return []
  const dpkg = async (...args: string[]) =>
    (await promisify(execFile)('dpkg-query', [`--admindir=${join(root, 'var/lib/dpkg')}`, ...args])).stdout
  // Packages name files as they were before /lib and /sbin became links into /usr.
  const spellings = files.flatMap(file => {
    const path = file.slice(root === '/' ? 0 : root.length)
    return [path, path.replace(/^\/usr/, ''), `/usr${path}`]
  })
  // It also fails when only some are unknown, and a file has one right spelling.
  const said = await dpkg('--search', ...new Set(spellings)).catch((error: { stdout?: string }) => error.stdout ?? '')
  const owners = [...said.matchAll(/^([^ ,:]+)(?::\S+)?: /gm)].map(([, name = '']) => name)
  const names = [...new Set(owners)].sort()
  if (names.length === 0)
    throw new Error(`no package of ${root} is known to have ${files[0]}: images are made on Debian or Ubuntu`)
  const format = `--showformat=${['Package', 'Version', 'Architecture'].map(field => `\${${field}}`).join('\t')}\n`
  const rows = (await dpkg('--show', format, ...names)).trim().split('\n')
  return rows.map(row => {
    const [name = '', version = '', architecture = ''] = row.split('\t')
    return { name, version, architecture, licences: licencesIn(join(root, `/usr/share/doc/${name}/copyright`)) }
  })
}

/** Short names of a machine-readable copyright file; others tell in prose. */
function licencesIn(copyright: string): string[] {
  const names = [...readFileSync(copyright, 'utf8').matchAll(/^License: *(\S.*)$/gm)].map(([, name = '']) =>
    name.trim(),
  )
  return names.length > 0 ? [...new Set(names)].sort() : ['see its copyright file']
}
