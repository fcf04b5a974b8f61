/**
 * The real terminal, files and clock behind the commands.
 */
import { readFile } from 'node:fs/promises'
import { text } from 'node:stream/consumers'
import type { Environment } from '../runtime/env.ts'
import type { Io } from './io.ts'

export function terminalIo(env: Environment): Io {
  const { stdout } = process
  return {
    env,
    out(words) {
      // `multinic export | head` closes the pipe early: that is no failure.
      if (stdout.listenerCount('error') === 0) stdout.once('error', () => process.exit())
      stdout.write(words)
    },
    note: line => console.error(line),
    read: path => (path === '-' ? text(process.stdin) : readFile(path, 'utf8')),
    terminal: stdout.isTTY === true,
    now: () => new Date(),
  }
}
