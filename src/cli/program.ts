/**
 * The program as people call it: its name, its version, their commands, and how it ends.
 */
import { Command, CommanderError } from 'commander'
import { environment } from '../runtime/env.ts'
import { messageOf } from '../runtime/errors.ts'
import { version } from '../runtime/version.ts'
import { exitCodeOf, peopleCommands } from './commands.ts'
import { terminalIo } from './terminal.ts'

export function openProgram(): Command {
  return new Command('multinic')
    .description('Configures additional network interfaces on Kubernetes nodes that are OpenStack VMs')
    .version(`multinic ${version}`, '--version', 'tell the version')
    .showHelpAfterError()
    .enablePositionalOptions()
}

/** Adds the people's commands, and others after them, and does what was typed. */
export async function runProgram(program: Command, others: readonly Command[]): Promise<void> {
  const people = peopleCommands(terminalIo(environment()), ending => {
    if (ending === 'no') process.exitCode = 1
  })
  for (const command of [...people, ...others]) program.addCommand(command)
  try {
    await program.parseAsync()
  } catch (error) {
    if (!(error instanceof CommanderError)) console.error(`multinic: ${messageOf(error)}`)
    process.exitCode = exitCodeOf(error)
  }
}
