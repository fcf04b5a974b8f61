/**
 * `multinic sandbox play` and `multinic sandbox tour`: scenarios on a sandbox, for people with or without a terminal.
 */
import { createInterface } from 'node:readline/promises'
import type { Command } from 'commander'
import { command, running, stateOf, type Where } from '../commands/cli-options.ts'
import { clean, ownerOf } from '../lifecycle/state-dir.ts'
import { findScenario, shippedScenarios } from './find.ts'
import { play } from './runner.ts'

export function addPlayCommands(sandbox: Command): void {
  command(sandbox, 'play', 'play a scenario on it; without one, lists those that come with the project')
    .argument('[file]', 'a YAML file, or a name such as reboot')
    .action(async (file: string | undefined, where: Where) => {
      if (file === undefined) return console.log(await listed())
      const scenario = await findScenario(file)
      await running(where, async control => {
        console.log(`${scenario.name}: ${scenario.about.trimEnd()}`)
        const person = audience()
        try {
          await play(scenario, { control, say: console.log, next: person?.next })
        } finally {
          person?.leave()
        }
      })
      console.log(`\nplayed to the end: ${scenario.name}`)
    })

  command(sandbox, 'tour', 'a guided tour for newcomers: starts a sandbox, shows it, takes it down').action(
    async (where: Where) => tour(where),
  )
}

async function listed(): Promise<string> {
  const names = await shippedScenarios()
  const found = await Promise.all(names.map(findScenario))
  const longest = Math.max(...names.map(name => name.length))
  return found
    .map(({ about }, index) => `${(names[index] ?? '').padEnd(longest)}  ${about.trim().split('\n').join(' ')}`)
    .join('\n')
}

/** One that ran before the tour is left running after it. */
async function tour(where: Where): Promise<void> {
  const state = stateOf(where)
  const scenario = await findScenario('tour')
  const ownSandbox = (await ownerOf(state)) === undefined
  const person = audience()
  const say = console.log
  say(`${scenario.name}: ${scenario.about.trimEnd()}\n`)
  try {
    if (ownSandbox) {
      const { upDetached } = await import('../commands/up.ts')
      await upDetached({ state, nodes: 3, nicDelayMs: 300, program: './bin/multinic', say: quietly(say) })
    }
    await running(where, control => play(scenario, { control, say, next: person?.next }))
    if (ownSandbox) await person?.next('\nEnter takes the sandbox down (Ctrl-C leaves it running; "make down" ends it)')
  } finally {
    person?.leave()
    if (ownSandbox && !person?.interrupted()) {
      await clean(state)
      say('the sandbox is gone: processes, namespaces, files')
    }
  }
}

/** The steps of the start; what a person could type next comes later. */
function quietly(say: (line: string) => void): (line: string) => void {
  return line => {
    if (!line.includes('\n') && line !== '') say(`  ${line}`)
  }
}

/** Whoever sits at the terminal; nobody where there is none, and then nothing waits. */
function audience() {
  if (!process.stdin.isTTY || !process.stdout.isTTY) return undefined
  const terminal = createInterface({ input: process.stdin, output: process.stdout })
  const left = new AbortController()
  let stopped = false
  terminal.once('SIGINT', () => {
    stopped = true
    left.abort(new Error('left by Ctrl-C'))
  })
  return {
    async next(prompt: string) {
      await terminal.question(`\n  ${prompt.trim()} `, { signal: left.signal })
    },
    leave: () => terminal.close(),
    interrupted: () => stopped,
  }
}
