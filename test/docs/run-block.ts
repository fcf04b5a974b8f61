/**
 * Runs a block of the documents as a person would paste it: by bash, in a directory that looks like the checkout.
 */
import { mkdtemp, rm, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { run } from '../rigs/process.ts'
import { type Block, commandsOf, root } from './blocks.ts'

export interface Stage {
  /** What the commands write stays here. */
  dir: string
  play(block: Block): Promise<string>
  close(): Promise<void>
}

export interface StageOptions {
  env: Record<string, string>
  /** Functions of the shell that stand before programs. */
  before?: string
  /** Names that a reader puts his own in for. */
  given?: () => Record<string, string>
}

/** Whoever runs the tests is root already; make works in the checkout itself; what watches for ever is ended after a look. */
const usual = `
exec </dev/null
sudo() { "$@"; }
make() { command make --silent --directory ${root} "$@"; }
look() { local code=0; timeout --signal=INT 5 "$@" || code=$?; [ "$code" = 0 ] || [ "$code" = 124 ] || [ "$code" = 130 ]; }
`

export async function openStage({ env, before = '', given = () => ({}) }: StageOptions): Promise<Stage> {
  const dir = await mkdtemp(join(tmpdir(), 'multinic-docs-'))
  for (const name of ['bin', 'config', 'deployments', 'docs', 'scripts'])
    await symlink(join(root, name), join(dir, name))
  return {
    dir,
    async play(block) {
      let text = commandsOf(block)
      for (const [name, value] of Object.entries(given())) text = text.replaceAll(name, value)
      const script = `cd ${dir}\n${usual}\n${before}\n${text}`
      const { code, stdout, stderr } = await run('bash', ['-euo', 'pipefail', '-c', script], { env, check: false })
      if (code !== 0) throw new Error(`${block.page}:${block.line} ends with ${code}\n${text}\n${stdout}\n${stderr}`)
      return stdout
    },
    close: () => rm(dir, { recursive: true, force: true }),
  }
}
