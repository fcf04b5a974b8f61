/**
 * Production entry point: one command per component, and the CLI. The sandbox has an entry point of its own (sandbox/entry.ts).
 */
import { openProgram, runProgram } from './cli/program.ts'
import { addComponentCommands } from './program/components.ts'

const program = openProgram()
addComponentCommands(program)
await runProgram(program, [])
