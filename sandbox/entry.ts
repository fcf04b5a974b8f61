/**
 * Entry point of a checkout: all commands of the production program, and the sandbox commands.
 */
import { openProgram, runProgram } from '../src/cli/program.ts'
import { addComponentCommands } from '../src/program/components.ts'

const program = openProgram()
addComponentCommands(program)
const [, , command = 'help'] = process.argv
// Loading the sandbox takes longer than most commands run.
const needsSandbox = ['sandbox', 'help', 'completion'].includes(command) || command.startsWith('-')
await runProgram(program, needsSandbox ? [(await import('./commands/sandbox.ts')).sandboxCommand()] : [])
