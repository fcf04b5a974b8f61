/**
 * Runs the user commands like the program, with a terminal that records.
 */
import { readFile } from 'node:fs/promises'
import { Command, CommanderError } from 'commander'
import { exitCodeOf, userCommands } from '../../src/cli/commands.ts'
import type { Io } from '../../src/cli/io.ts'
import { languageOf } from '../../src/cli/messages/messages.ts'
import { messageOf } from '../../src/runtime/errors.ts'

export interface CommandResult {
  code: number
  out: string
  notes: string[]
  /** What the program would print before it exits with that code. */
  error: string
}

export interface Run {
  (...args: string[]): Promise<CommandResult>
  with(other: { stdin?: string; terminal?: boolean; env?: Record<string, string> }): Run
}

export function runner(env: Record<string, string>, stdin = '', terminal = false): Run {
  async function run(...args: string[]): Promise<CommandResult> {
    const ran: CommandResult = { code: 0, out: '', notes: [], error: '' }
    const io: Io = {
      env,
      language: languageOf(args, env),
      out: text => {
        ran.out += text
      },
      note: line => void ran.notes.push(line),
      read: async path => (path === '-' ? stdin : readFile(path, 'utf8')),
      terminal,
      now: () => new Date(),
    }
    const program = new Command('multinic').exitOverride()
    const ended = (ending: 'yes' | 'no') => {
      ran.code = ending === 'no' ? 1 : 0
    }
    for (const command of userCommands(io, ended)) {
      for (const each of [command, ...command.commands])
        each.configureOutput({
          writeOut: io.out,
          writeErr: text => {
            ran.error += text
          },
        })
      program.addCommand(command)
    }
    try {
      await program.parseAsync(args, { from: 'user' })
    } catch (error) {
      if (!(error instanceof CommanderError)) ran.error += messageOf(error)
      ran.code = exitCodeOf(error)
    }
    return ran
  }
  return Object.assign(run, {
    with: (other: { stdin?: string; terminal?: boolean; env?: Record<string, string> }) =>
      runner({ ...env, ...other.env }, other.stdin ?? stdin, other.terminal ?? terminal),
  })
}
