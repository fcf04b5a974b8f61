/**
 * `--watch`: runs a command when something has changed, and prints its result if it differs, until Ctrl-C.
 */
import { messageOf } from '../runtime/errors.ts'
import type { AccessFlags } from './access.ts'
import { CliError, type Ending, type Io } from './io.ts'
import { liveChanges } from './live-changes.ts'
import { messagesIn } from './messages/messages.ts'

export async function watching(
  io: Io,
  flags: AccessFlags,
  act: (io: Io) => Promise<Ending>,
  pollMs = 2_000,
): Promise<never> {
  const changes = liveChanges(io, flags, pollMs)
  let shown: string | undefined
  try {
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
      if (text !== shown) io.out(io.terminal ? screen(text, io) : text)
      shown = text
      await changes.next()
    }
  } finally {
    changes.stop()
  }
}

const [home, toLineEnd, toScreenEnd] = ['\u001b[H', '\u001b[K', '\u001b[J']

/** Drawn over the last text. What does not fit would scroll, so it is left out. */
function screen(text: string, { rows, language }: Io): string {
  const all = text.trimEnd().split('\n')
  const room = rows ? Math.max(1, rows - 2) : all.length
  const hidden = all.length - room
  const lines = hidden > 1 ? [...all.slice(0, room), messagesIn(language).moreLines(hidden)] : all
  return `${home}${lines.map(line => `${line}${toLineEnd}\n`).join('')}${toScreenEnd}`
}
