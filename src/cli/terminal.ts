/**
 * The real terminal, files and clock of the user commands.
 */
import { readFile } from 'node:fs/promises'
import { text } from 'node:stream/consumers'
import type { Language } from '../contract/reasons/catalogue.ts'
import type { Environment } from '../runtime/env.ts'
import type { Io } from './io.ts'

export function terminalIo(env: Environment, language: Language): Io {
  const { stdout } = process
  return {
    env,
    language,
    out(output) {
      // `multinic export | head` closes the pipe early. That is not a failure.
      if (stdout.listenerCount('error') === 0) stdout.once('error', () => process.exit())
      stdout.write(output)
    },
    note: line => console.error(line),
    read: path => (path === '-' ? text(process.stdin) : readFile(path, 'utf8')),
    terminal: stdout.isTTY === true,
    /** Read each time: a window changes while `--watch` runs. */
    get columns() {
      return Number(env['COLUMNS']) || stdout.columns
    },
    get rows() {
      return stdout.rows
    },
    now: () => new Date(),
    confirm: process.stdin.isTTY && stdout.isTTY ? confirm : undefined,
  }
}

async function confirm(question: string): Promise<boolean> {
  const { createInterface } = await import('node:readline/promises')
  const lines = createInterface({ input: process.stdin, output: process.stderr })
  try {
    return /^y(es)?$/i.test((await lines.question(question)).trim())
  } finally {
    lines.close()
  }
}
