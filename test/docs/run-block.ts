/**
 * Runs a block of the documents with bash, as a reader would paste it, in a directory that looks like the checkout. Every
 * command must exit with 0, or with the code in its comment, and print what the page shows.
 */
import { mkdtemp, rm, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { run } from '../rigs/process.ts'
import { type Block, exitCode, root, stepsOf } from './blocks.ts'
import { findDifference } from './output-shape.ts'

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

/**
 * Tests run as root already; make runs in the checkout; `briefly` ends a command that must watch forever: 124 is the code
 * of `timeout` for a command that was still running.
 */
const commonFunctions = `
exec </dev/null
sudo() { "$@"; }
make() { command make --silent --directory ${root} "$@"; }
expect() { [ "$1" = "$2" ] || { echo "exit code $1 instead of $2" >&2; return 1; }; }
briefly() { local code=0; timeout --signal=INT 5 "$@" || code=$?; expect "$code" 124; }
`

/** Printed before the commands of each step. */
const separator = '\x1e'
const separate = "printf '\\036'\n"

/** Lines whose comment names an exit code must exit with this one. */
function withExitCodes(commands: string): string {
  return commands.replaceAll(/^.*$/gm, line => {
    const { code } = exitCode.exec(line)?.groups ?? {}
    return code ? `code=0; ${line.replace(/\s+# .*/, '')} || code=$?; expect "$code" ${code}` : line
  })
}

export async function openShell({ env, functions = '', replacements = () => ({}) }: ShellOptions): Promise<Shell> {
  const dir = await mkdtemp(join(tmpdir(), 'multinic-docs-'))
  for (const name of ['bin', 'config', 'deployments', 'docs', 'scripts'])
    await symlink(join(root, name), join(dir, name))
  return {
    dir,
    async run(block) {
      const steps = stepsOf(block)
      let text = steps.map(({ commands }) => separate + withExitCodes(commands)).join('')
      for (const [name, value] of Object.entries(replacements())) text = text.replaceAll(name, value)
      const terminal = block.language === 'console' ? 'exec 2>&1\n' : ''
      const script = `cd ${dir}\n${commonFunctions}\n${functions}\n${terminal}${text}`
      const { code, stdout, stderr } = await run('bash', ['-euo', 'pipefail', '-c', script], { env, check: false })
      const place = `${block.page}:${block.line}`
      if (code !== 0) throw new Error(`${place}: exit code ${code}\n${text}\n${stdout}\n${stderr}`)
      const [, ...outputs] = stdout.split(separator)
      for (const [index, { commands, output }] of steps.entries()) {
        const difference = output && findDifference(output, outputs[index] ?? '')
        if (difference) throw new Error(`${place}: ${commands.trim()}: ${difference}`)
      }
      return outputs.join('')
    },
    close: () => rm(dir, { recursive: true, force: true }),
  }
}
