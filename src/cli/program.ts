/**
 * The program: its name, its version, the user commands, and its exit code.
 */
import { type Command, CommanderError } from 'commander'
import { environment } from '../runtime/env.ts'
import { messageOf } from '../runtime/errors.ts'
import { version } from '../runtime/version.ts'
import { exitCodeOf, userCommands } from './commands.ts'
import { languageOf, messagesIn } from './messages/messages.ts'
import { terminalIo } from './terminal.ts'
import { userCommand } from './user-command.ts'

export const programLanguage = () => languageOf(process.argv.slice(2), environment())

export function openProgram(): Command {
  const { help } = messagesIn(programLanguage())
  return userCommand(programLanguage(), 'multinic', help.program, '')
    .version(`multinic ${version}`, '--version', help.versionOption)
    .helpCommand('help [command]', help.helpCommand)
    .showHelpAfterError()
    .enablePositionalOptions()
}

/** Wrong use is thrown, so that it has the exit code of wrong use. */
function throwing(command: Command): Command {
  command.commands.forEach(throwing)
  return command.exitOverride()
}

/** Adds the user commands, then the others, and runs the command of the arguments. */
export async function runProgram(program: Command, others: readonly Command[]): Promise<void> {
  const users = userCommands(terminalIo(environment(), programLanguage()), ending => {
    if (ending === 'no') process.exitCode = 1
  })
  for (const command of [...users, ...others.map(throwing)]) program.addCommand(command)
  try {
    await program.parseAsync()
  } catch (error) {
    if (!(error instanceof CommanderError)) console.error(`multinic: ${messageOf(error)}`)
    process.exitCode = exitCodeOf(error)
  }
}
