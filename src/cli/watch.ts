/**
 * `--watch`: runs a command again and again, and prints its result whenever it changes, until Ctrl-C.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { messageOf } from '../runtime/errors.ts'
import { CliError, type Ending, type Io } from './io.ts'

const intervalMs = 2_000
/** Cursor to the first line, and an empty screen. */
const clear = '\u001b[H\u001b[2J'

export async function watching(io: Io, act: (io: Io) => Promise<Ending>): Promise<never> {
  let shown: string | undefined
  for (;;) {
    let text = ''
    const add = (more: string) => {
      text += more
    }
    try {
      await act({ ...io, out: add, note: line => add(`${line}\n`) })
    } catch (error) {
      // Wrong use ends at once. Later, an inventory that restarts is only a moment without an answer.
      if (shown === undefined || !(error instanceof CliError)) throw error
      text = `${messageOf(error)}\n`
    }
    if (text !== shown) io.out(io.terminal ? `${clear}${text}` : text)
    shown = text
    await sleep(intervalMs)
  }
}
