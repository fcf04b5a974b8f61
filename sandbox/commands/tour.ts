/**
 * `multinic sandbox tour`: shows MultiNIC step by step on a sandbox, and stops the faults that it started even if a step fails.
 */
import { createInterface } from 'node:readline/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { wrapped } from '../../src/cli/render/wrap.ts'
import type { ControlClient } from '../control/client.ts'
import { type InterfaceView, statusTree } from '../control/status.ts'
import { catalogue } from '../faults/catalogue.ts'
import { findOwner, stopAndRemove } from '../lifecycle/state-dir.ts'
import { type SandboxLocation, stateDirOf, withControl } from './cli-options.ts'
import { runOnNode } from './shell.ts'
import { type TourStep, title, tourSteps } from './tour-steps.ts'

const timeoutMs = 60_000
const pollMs = 100
const print = console.log

/** A sandbox that was running before the tour keeps running after it. */
export async function tour(location: SandboxLocation): Promise<void> {
  const state = stateDirOf(location)
  const startsSandbox = (await findOwner(state)) === undefined
  const prompt = openPrompt()
  print(`${paragraph(title)}\n`)
  try {
    if (startsSandbox) {
      const { up } = await import('./up.ts')
      await up({ state, nodes: 3, nicDelayMs: 300, program: './bin/multinic', print: onlyProgress })
    }
    await withControl(location, control => runSteps(control, prompt?.confirm))
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

/** Broken at the width of the terminal. */
export function paragraph(text: string, columns = process.stdout.columns ?? 100): string {
  return wrapped(text, columns).join('\n')
}

/** Keeps the progress lines of `up` and drops the status tree and the commands to try. */
function onlyProgress(line: string): void {
  if (!line.includes('\n') && line !== '') print(`  ${line}`)
}

type Confirm = (prompt: string) => Promise<void>

async function runSteps(control: ControlClient, confirm: Confirm | undefined): Promise<void> {
  const ports = new Map<string, { vm: string; id: string }>()
  const portNamed = (name: string) => ports.get(name) ?? { vm: '', id: '' }

  async function runStep(step: TourStep): Promise<void> {
    if ('say' in step) return print(`\n${paragraph(`▸ ${step.say}`)}`)
    if ('pause' in step) return confirm?.(step.pause)
    if ('show' in step) return print(`  ${statusTree(await control.status()).replaceAll('\n', '\n  ')}`)
    if ('run' in step) return print(await outputOf(control, step.run))
    if ('attach' in step) {
      const { as, ...input } = step.attach
      const [{ id, macAddress, address } = { id: '', macAddress: '', address: '' }] = await control.attach(input)
      ports.set(as, { vm: input.vm, id })
      return print(`  attached ${as}: ${macAddress} ${address} to ${input.vm}`)
    }
    if ('untilConfigured' in step) {
      const { id } = portNamed(step.untilConfigured)
      const nic = await waitForNic(control, id, found => found?.status === 'Configured')
      return print(`  ✔ ${step.untilConfigured}: ${nicText(nic)}`)
    }
    if ('detach' in step) {
      const { vm, id } = portNamed(step.detach)
      await control.detach({ vm, port: id })
      await waitForNic(control, id, found => found === undefined)
      return print(`  ✔ ${step.detach}: gone`)
    }
    if ('reboot' in step) {
      await control.reboot(step.reboot)
      return print(`  ${step.reboot} rebooted`)
    }
    const name = 'fault' in step ? step.fault : step.end
    await ('fault' in step ? control.startFault({ name }) : control.stopFault(name))
    const { component, effect } = catalogue[name]
    print('fault' in step ? `  fault ${name}: ${component} ${effect}` : `  stopped ${name}`)
  }

  try {
    for (const step of tourSteps) await runStep(step)
  } catch (error) {
    await control.stopFault()
    throw error
  }
}

/** Polls until the NIC of a port is as wanted. */
async function waitForNic(
  control: ControlClient,
  portId: string,
  isMet: (nic: InterfaceView | undefined) => boolean,
): Promise<InterfaceView | undefined> {
  for (const end = performance.now() + timeoutMs; ; await sleep(pollMs)) {
    const status = await control.status()
    const nic = status.nodes.flatMap(node => node.interfaces).find(each => each.portId === portId)
    if (isMet(nic)) return nic
    if (performance.now() > end) throw new Error(`not met within ${timeoutMs / 1000} s:\n${statusTree(status)}`)
  }
}

/** Simulated nodes cannot run commands: shows the NICs of the node instead. */
async function outputOf(control: ControlClient, { node, line }: { node: string; line: string }): Promise<string> {
  const { host, nodes } = await control.status()
  if (host !== 'simulated')
    return `  ${node}$ ${line}\n    ${(await runOnNode(control, node, line)).replaceAll('\n', '\n    ')}`
  const nics = nodes.find(({ name }) => name === node)?.interfaces ?? []
  return [`  ${node} is simulated and cannot run "${line}"; its NICs:`, ...nics.map(nicText)].join('\n    ')
}

function nicText(nic: InterfaceView | undefined): string {
  const { name, status, reason, message, address } = nic ?? {}
  return [name || 'port', status, address, ...(status === 'Configured' ? [] : [reason, message])]
    .filter(Boolean)
    .join('  ')
}

/** Waits for Enter at each pause. Undefined without a terminal: the tour then runs without pauses. */
function openPrompt() {
  if (!process.stdin.isTTY || !process.stdout.isTTY) return undefined
  const terminal = createInterface({ input: process.stdin, output: process.stdout })
  const interrupt = new AbortController()
  terminal.once('SIGINT', () => interrupt.abort(new Error('interrupted by Ctrl-C')))
  return {
    async confirm(text: string) {
      await terminal.question(`\n  ${text} `, { signal: interrupt.signal })
    },
    close: () => terminal.close(),
    interrupted: () => interrupt.signal.aborted,
  }
}
