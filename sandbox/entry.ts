/**
 * Entry point of a checkout: all commands of the production program, and the sandbox commands.
 */
import { Command } from 'commander'
import { openProgram, runProgram } from '../src/cli/program.ts'
import { addComponentCommands } from '../src/program/components.ts'

const program = openProgram()
addComponentCommands(program)
const [, , command = 'help'] = process.argv
// Loading the sandbox takes longer than most commands run.
const needsSandbox = ['sandbox', 'help', 'completion'].includes(command) || command.startsWith('-')
const sandbox = new Command('sandbox').description(
  'a complete local environment: two clusters, a cloud, nodes with real kernel NICs',
)
if (needsSandbox) (await import('./commands/sandbox.ts')).addSandboxCommands(sandbox)
await runProgram(program, [sandbox])
