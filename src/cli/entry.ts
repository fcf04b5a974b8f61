/**
 * The commands for people as a program of their own: one file for any Node from 20 on, without the parts and the sandbox.
 */
import { openProgram, runProgram } from './program.ts'

void runProgram(openProgram(), [])
