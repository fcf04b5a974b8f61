/**
 * Entry point of the CLI: one file for Node 20 and later, without the components and the sandbox.
 */
import { openProgram, runProgram } from './program.ts'

void runProgram(openProgram(), [])
