/**
 * Runs a block of the documents with bash, as a reader would paste it, in a directory that looks like the checkout.
 */
import { mkdtemp, rm, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { run } from '../rigs/process.ts'
import { type Block, commandsOf, root } from './blocks.ts'

export interface Shell {
  /** Working directory; files that the commands write stay here. */
  dir: string
  run(block: Block): Promise<string>
  close(): Promise<void>
}

export interface ShellOptions {
  env: Record<string, string>
  /** Shell functions that replace programs. */
  functions?: string
  /** Placeholders and the values that a reader would enter. */
  replacements?: () => Record<string, string>
}

/** Tests run as root already; make runs in the checkout; `briefly` ends a command that watches forever. */
const commonFunctions = `
exec </dev/null
sudo() { "$@"; }
make() { command make --silent --directory ${root} "$@"; }
briefly() { local code=0; timeout --signal=INT 5 "$@" || code=$?; [ "$code" = 0 ] || [ "$code" = 124 ] || [ "$code" = 130 ]; }
`

export async function openShell({ env, functions = '', replacements = () => ({}) }: ShellOptions): Promise<Shell> {
  const dir = await mkdtemp(join(tmpdir(), 'multinic-docs-'))
  for (const name of ['bin', 'config', 'deployments', 'docs', 'scripts'])
    await symlink(join(root, name), join(dir, name))
  return {
    dir,
    async run(block) {
      let text = commandsOf(block)
      for (const [name, value] of Object.entries(replacements())) text = text.replaceAll(name, value)
      const script = `cd ${dir}\n${commonFunctions}\n${functions}\n${text}`
      const { code, stdout, stderr } = await run('bash', ['-euo', 'pipefail', '-c', script], { env, check: false })
      if (code !== 0) throw new Error(`${block.page}:${block.line}: exit code ${code}\n${text}\n${stdout}\n${stderr}`)
      return stdout
    },
    close: () => rm(dir, { recursive: true, force: true }),
  }
}
