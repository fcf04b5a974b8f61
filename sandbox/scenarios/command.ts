/**
 * `multinic sandbox play` and `multinic sandbox tour`: run scenarios on a sandbox, interactively or not.
 */
import { createInterface } from 'node:readline/promises'
import type { Command } from 'commander'
import { addCommand, type SandboxLocation, stateDirOf, withControl } from '../commands/cli-options.ts'
import { findOwner, stopAndRemove } from '../lifecycle/state-dir.ts'
import { findScenario, scenarioNames } from './find.ts'
import { paragraph, runScenario } from './runner.ts'

export function addScenarioCommands(sandbox: Command): void {
  addCommand(sandbox, 'play', 'run a scenario; without one, list the scenarios of the project')
    .argument('[scenario]', 'YAML file, or a name such as reboot')
    .action(async (scenarioName: string | undefined, location: SandboxLocation) => {
      if (scenarioName === undefined) return console.log(await scenarioList())
      const scenario = await findScenario(scenarioName)
      const { columns } = process.stdout
      await withControl(location, async control => {
        console.log(paragraph(`${scenario.name}: ${scenario.about}`, columns))
        const prompt = openPrompt()
        try {
          await runScenario(scenario, { control, print: console.log, confirm: prompt?.confirm, columns })
        } finally {
          prompt?.close()
        }
      })
      console.log(`\nfinished: ${scenario.name}`)
    })

  addCommand(sandbox, 'tour', 'guided tour: start a sandbox, explain it step by step, remove it').action(
    async (location: SandboxLocation) => tour(location),
  )
}

async function scenarioList(): Promise<string> {
  const names = await scenarioNames()
  const found = await Promise.all(names.map(findScenario))
  const width = Math.max(...names.map(name => name.length))
  return found
    .map(({ about }, index) => `${(names[index] ?? '').padEnd(width)}  ${about.trim().split('\n').join(' ')}`)
    .join('\n')
}

/** A sandbox that was running before the tour keeps running after it. */
async function tour(location: SandboxLocation): Promise<void> {
  const state = stateDirOf(location)
  const scenario = await findScenario('tour')
  const { columns } = process.stdout
  const startsSandbox = (await findOwner(state)) === undefined
  const prompt = openPrompt()
  const print = console.log
  print(`${paragraph(`${scenario.name}: ${scenario.about}`, columns)}\n`)
  try {
    if (startsSandbox) {
      const { upDetached } = await import('../commands/up.ts')
      await upDetached({ state, nodes: 3, nicDelayMs: 300, program: './bin/multinic', print: onlyProgress(print) })
    }
    await withControl(location, control => runScenario(scenario, { control, print, confirm: prompt?.confirm, columns }))
    if (startsSandbox)
      await prompt?.confirm('Press Enter to remove the sandbox (Ctrl-C keeps it running; "make down" removes it)')
  } finally {
    prompt?.close()
    if (startsSandbox && !prompt?.interrupted()) {
      await stopAndRemove(state)
      print('sandbox removed: processes, namespaces, files')
    }
  }
}

/** Keeps the progress lines of `up` and drops the status tree and the commands to try. */
function onlyProgress(print: (line: string) => void): (line: string) => void {
  return line => {
    if (!line.includes('\n') && line !== '') print(`  ${line}`)
  }
}

/** Waits for Enter at each pause. Undefined without a terminal: the scenario then runs without pauses. */
function openPrompt() {
  if (!process.stdin.isTTY || !process.stdout.isTTY) return undefined
  const terminal = createInterface({ input: process.stdin, output: process.stdout })
  const interrupt = new AbortController()
  terminal.once('SIGINT', () => interrupt.abort(new Error('interrupted by Ctrl-C')))
  return {
    async confirm(text: string) {
      await terminal.question(`\n  ${text.trim()} `, { signal: interrupt.signal })
    },
    close: () => terminal.close(),
    interrupted: () => interrupt.signal.aborted,
  }
}
