/** The page about the commands and the commands themselves say the same. */
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import type { Command, Option } from 'commander'
import { peopleCommands } from './commands.ts'
import type { Io } from './io.ts'

const page = await readFile(fileURLToPath(new URL('../../docs/reference/cli.md', import.meta.url)), 'utf8')
const commands = peopleCommands({} as Io, () => {}).flatMap(command =>
  command.commands.length > 0 ? command.commands : [command],
)
/** `migrate plan`; the others have one word. */
const nameOf = (command: Command) => [command.parent?.name(), command.name()].filter(Boolean).join(' ')
const asking = commands.filter(command => command.options.some(({ long }) => long === '--inventory'))
const rowsOf = (start: RegExp) => page.split('\n').filter(line => start.test(line))

function namesOf({ short, long }: Option): string[] {
  return [short, long].filter(name => name !== undefined && name !== null)
}

/** The commands that a cell of the page names. */
function commandsIn(cell: string): Command[] {
  const words = cell.replace(/\(.*?\)/g, '').split(/, ?/)
  return words.flatMap(word => {
    if (word === 'all that ask') return asking
    if (word === 'migrate') return commands.filter(one => one.parent)
    return commands.find(one => nameOf(one) === word.trim()) ?? assert.fail(`no command is called ${word}`)
  })
}

test('every command is on the page with its arguments, and no other', () => {
  const told = rowsOf(/^\| `multinic /).map(row => /`multinic (.*?)`/.exec(row)?.[1])
  const taken = (command: Command) =>
    command.registeredArguments.map(one => (one.required ? `<${one.name()}>` : `[${one.name()}]`))
  assert.deepEqual(
    told,
    commands.map(command => [nameOf(command), ...taken(command)].join(' ')),
  )
})

test('every option is on the page for the commands that have it, and no other', () => {
  const told = rowsOf(/^\| `--/).flatMap(row => {
    const [, names = '', of = ''] = row.split('|')
    const options = [...names.matchAll(/`(-.*?)`/g)].map(([, name]) => name)
    return commandsIn(of.trim()).flatMap(command => options.map(name => `${nameOf(command)} ${name}`))
  })
  const real = commands.flatMap(command =>
    command.options.flatMap(option => namesOf(option).map(name => `${nameOf(command)} ${name}`)),
  )
  assert.deepEqual(told.sort(), real.sort())
})

test('every form is on the page for the commands that have it, and no other', () => {
  const told = rowsOf(/^\| `(json|wide|csv)`/).flatMap(row => {
    const [, forms = '', of = ''] = row.split('|')
    const names = [...forms.matchAll(/`([a-z]+)`/g)].map(([, name]) => name)
    return commandsIn(of.trim()).flatMap(command => names.map(name => `${nameOf(command)} ${name}`))
  })
  const real = commands.flatMap(command => {
    const output = command.options.find(({ long }) => long === '--output')
    return (output?.argChoices ?? []).map(form => `${nameOf(command)} ${form}`)
  })
  assert.deepEqual(told.sort(), real.sort())
})

test('every variable that the help names is on the page', () => {
  const variables = commands.flatMap(command =>
    command.options.flatMap(({ description }) =>
      [...description.matchAll(/\$([A-Z_]+)/g)].map(([, name]) => name ?? ''),
    ),
  )
  assert.equal(new Set(variables).size, 4)
  for (const name of variables) assert.ok(page.includes(`\`${name}\``), name)
})
