/**
 * Single commands of the documents, held against what they name: the program's own commands and options, targets of the
 * Makefile, files of the tree. Nothing is run.
 */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Command } from 'commander'
import { sandboxCommand } from '../../sandbox/commands/sandbox.ts'
import { peopleCommands } from '../../src/cli/main.ts'
import { openProgram } from '../../src/cli/program.ts'
import { terminalIo } from '../../src/cli/terminal.ts'
import { root } from './blocks.ts'

const program = openProgram()
for (const command of [...peopleCommands(terminalIo({}), () => {}), sandboxCommand()]) program.addCommand(command)
for (const part of ['operator', 'viola', 'controller', 'inventory', 'agent']) program.command(part)

const makefile = readFileSync(join(root, 'Makefile'), 'utf8')
const targets = [...makefile.matchAll(/^([a-z][a-z0-9-]*):/gm)].map(([, name]) => name)

/** What is wrong with a command, or nothing. */
export function mistakeIn(line: string): string | undefined {
  const words = wordsOf(line)
  const [tool = '', ...rest] = words
  if (/^(\.\/bin\/)?multinic$|^kubectl-multinic$/.test(tool)) return mistakeInProgram(rest)
  if (tool === 'kubectl' && rest[0] === 'multinic') return mistakeInProgram(rest.slice(1))
  if (tool === 'make') return mistakeInMake(rest)
  if (/^(\.\/)?scripts\/.*\.sh$/.test(tool)) return mistakeInScript(tool, rest)
  return lostFile(rest)
}

function mistakeInProgram(words: string[]): string | undefined {
  let command: Command = program
  for (const [at, word] of words.entries()) {
    const below = command.commands.find(one => one.name() === word)
    if (below) {
      command = below
      continue
    }
    if (command.commands.length > 0 && !word.startsWith('-')) return `multinic has no command ${word}`
    // What follows a node is a command for it.
    if (command.name() === 'shell') return undefined
    return mistakeInOptions(command, words.slice(at))
  }
  return undefined
}

function mistakeInOptions(command: Command, words: string[]): string | undefined {
  const known = command.options.flatMap(({ short, long }) => [short, long])
  const wrong = words.find(
    word => /^--?[a-z]/.test(word) && !known.includes(word.split('=', 1)[0]) && word !== '--help',
  )
  return wrong && `multinic ${command.name()} has no option ${wrong}`
}

function mistakeInMake(words: string[]): string | undefined {
  const wrong = words.find(word => !word.includes('=') && !word.startsWith('-') && !targets.includes(word))
  return wrong && `the Makefile has no target ${wrong}`
}

function mistakeInScript(script: string, words: string[]): string | undefined {
  if (!existsSync(join(root, script))) return `there is no ${script}`
  const text = readFileSync(join(root, script), 'utf8')
  const wrong = words.find(word => word.startsWith('--') && !text.includes(word))
  return wrong && `${script} knows no ${wrong}`
}

/** A path into the tree that leads nowhere. */
function lostFile(words: string[]): string | undefined {
  const places = words.filter(word => /^(\.\/)?(config|deployments|docs|scripts|test|Dockerfile)\b[\w./-]*$/.test(word))
  const lost = places.find(place => !existsSync(join(root, place)))
  return lost && `there is no ${lost}`
}

/** As a shell would cut them, as far as documents need it; assignments and sudo before a command do not count. */
export function wordsOf(line: string): string[] {
  const words = [...line.matchAll(/"(?:[^"\\]|\\.)*"|'[^']*'|[^\s"']+(?:"[^"]*"|'[^']*')?/g)].map(([word]) => word)
  const from = words.findIndex(word => word !== 'sudo' && !/^[A-Z_]+=/.test(word))
  const until = words.findIndex(word => /^([|>#;&…]|&&|\|\||2?>.*)$/.test(word))
  return words.slice(Math.max(from, 0), until === -1 ? undefined : until)
}

/** The commands of a text of shell, one a line. */
export function linesOf(text: string): string[] {
  return text
    .replaceAll('\\\n', ' ')
    .split('\n')
    .map(line => line.trim())
    .filter(line => line !== '' && !line.startsWith('#'))
}
