/**
 * Checks single commands of the documents against the commands and options of the program, the targets of the Makefile and
 * the files of the repository. Runs nothing.
 */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Command } from 'commander'
import { addSandboxCommands } from '../../sandbox/commands/sandbox.ts'
import { userCommands } from '../../src/cli/commands.ts'
import { openProgram } from '../../src/cli/program.ts'
import { terminalIo } from '../../src/cli/terminal.ts'
import { root } from './blocks.ts'

const program = openProgram()
for (const command of userCommands(terminalIo({}, 'en'), () => {})) program.addCommand(command)
addSandboxCommands(program.command('sandbox'))
for (const part of ['operator', 'viola', 'controller', 'inventory', 'agent']) program.command(part)

export const commandNames = program.commands.map(command => command.name())

const makefile = readFileSync(join(root, 'Makefile'), 'utf8')
const targets = [...makefile.matchAll(/^([a-z][a-z0-9-]*):/gm)].map(([, name]) => name)

/** The mistake in a command, or undefined. */
export function findMistake(line: string): string | undefined {
  const words = argumentsOf(line)
  const [tool = '', ...rest] = words
  if (/^(\.\/bin\/)?multinic$|^kubectl-multinic$/.test(tool)) return checkProgram(rest)
  if (tool === 'kubectl' && rest[0] === 'multinic') return checkProgram(rest.slice(1))
  if (tool === 'make') return checkMake(rest)
  if (/^(\.\/)?scripts\/.*\.sh$/.test(tool)) return checkScript(tool, rest)
  return missingFile(rest)
}

function checkProgram(words: string[]): string | undefined {
  let command: Command = program
  for (const [at, word] of words.entries()) {
    const below = command.commands.find(one => one.name() === word)
    if (below) {
      command = below
      continue
    }
    if (command.commands.length > 0 && !word.startsWith('-')) return `multinic has no command ${word}`
    // The words after the node are a command for it.
    if (command.name() === 'shell') return undefined
    return checkOptions(command, words.slice(at))
  }
  return undefined
}

function checkOptions(command: Command, words: string[]): string | undefined {
  const known = command.options.flatMap(({ short, long }) => [short, long])
  const wrong = words.find(
    word => /^--?[a-z]/.test(word) && !known.includes(word.split('=', 1)[0]) && word !== '--help',
  )
  return wrong && `multinic ${command.name()} has no option ${wrong}`
}

function checkMake(words: string[]): string | undefined {
  const wrong = words.find(word => !word.includes('=') && !word.startsWith('-') && !targets.includes(word))
  return wrong && `the Makefile has no target ${wrong}`
}

function checkScript(script: string, words: string[]): string | undefined {
  if (!existsSync(join(root, script))) return `${script} does not exist`
  const text = readFileSync(join(root, script), 'utf8')
  const wrong = words.find(word => word.startsWith('--') && !text.includes(word))
  return wrong && `${script} has no option ${wrong}`
}

/** A path in the repository that does not exist. */
function missingFile(words: string[]): string | undefined {
  const paths = words.filter(word => /^(\.\/)?(config|deployments|docs|scripts|test|Dockerfile)\b[\w./-]*$/.test(word))
  const missing = paths.find(path => !existsSync(join(root, path)))
  return missing && `${missing} does not exist`
}

/** Splits a line like a shell, as far as the documents need it, without leading assignments and sudo. */
export function argumentsOf(line: string): string[] {
  const words = [...line.matchAll(/"(?:[^"\\]|\\.)*"|'[^']*'|[^\s"']+(?:"[^"]*"|'[^']*')?/g)].map(([word]) => word)
  const from = words.findIndex(word => word !== 'sudo' && !/^[A-Z_]+=/.test(word))
  const until = words.findIndex(word => /^([|>#;&…]|&&|\|\||2?>.*)$/.test(word))
  return words.slice(Math.max(from, 0), until === -1 ? undefined : until)
}

/** The commands of a shell script, one per line. */
export function linesOf(text: string): string[] {
  return text
    .replaceAll('\\\n', ' ')
    .split('\n')
    .map(line => line.trim())
    .filter(line => line !== '' && !line.startsWith('#'))
}
