/**
 * Runs a scenario on a running sandbox, step by step, and stops the faults that it started even if a step fails.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { wrapped } from '../../src/cli/render/wrap.ts'
import { messageOf } from '../../src/runtime/errors.ts'
import { runOnNode } from '../commands/shell.ts'
import type { ControlClient } from '../control/client.ts'
import { type InterfaceView, type SandboxStatus, statusTree } from '../control/status.ts'
import type { Scenario, Step } from './scenario.ts'

export interface RunOptions {
  control: ControlClient
  print: (line: string) => void
  /** Called at a pause; resolves when the user continues. */
  confirm?: ((prompt: string) => Promise<void>) | undefined
  /** Width of the terminal. */
  columns?: number | undefined
}

const defaultTimeoutMs = 60_000
const pollMs = 100

export async function runScenario(scenario: Scenario, options: RunOptions): Promise<void> {
  const ports = new Map<string, string>()
  const faults = new Set<string>()
  try {
    for (const step of scenario.steps) {
      try {
        await runStep(step, options, ports, faults)
      } catch (error) {
        throw new Error(`${scenario.file}:${step.line}: ${step.kind}: ${messageOf(error)}`, { cause: error })
      }
    }
  } finally {
    for (const name of [...faults].reverse()) await options.control.stopFault(name)
  }
}

/** One paragraph, broken at the width of the terminal: the lines of a scenario file are longer than some terminals. */
export function paragraph(text: string, columns = 100): string {
  const lines = text.trimEnd().split('\n')
  return wrapped(lines.map(line => line.trim()).join(' '), columns).join('\n')
}

async function runStep(
  step: Step,
  options: RunOptions,
  ports: Map<string, string>,
  faults: Set<string>,
): Promise<void> {
  const { control, print } = options
  const idOf = (name: string) => ports.get(name) ?? ''
  switch (step.kind) {
    case 'say':
      return print(`\n${paragraph(`▸ ${step.value}`, options.columns)}`)
    case 'attach': {
      const { vm, subnet, count = 1, as } = step.value
      const attached = await control.attach({ vm, subnet, count })
      if (as !== undefined && attached[0]) ports.set(as, attached[0].id)
      for (const { macAddress, address } of attached)
        print(`  attached ${as ? `${as}: ` : ''}${macAddress} ${address} to ${vm}`)
      return
    }
    case 'detach': {
      const { port, vm = '', name = '' } = step.value
      const gone = await control.detach(
        port === undefined ? { vm, name } : { vm: await vmOf(control, idOf(port)), port: idOf(port) },
      )
      for (const { macAddress, address } of gone) print(`  detached ${port ?? name}: ${macAddress} ${address}`)
      return
    }
    case 'reboot':
      await control.reboot(step.value)
      return print(`  ${step.value} rebooted`)
    case 'fault': {
      const { name, node, for: forMs } = { node: undefined, for: undefined, ...step.value }
      const active = await control.startFault({ name, node, forMs })
      const started = active.find(fault => fault.name === name)
      if (started) faults.add(name)
      return print(`  fault ${name}${started ? `: ${started.effect}` : ' injected'}`)
    }
    case 'end':
      await control.stopFault(step.value === 'all' ? undefined : step.value)
      if (step.value === 'all') faults.clear()
      else faults.delete(step.value)
      return print(`  stopped ${step.value === 'all' ? 'all faults' : step.value}`)
    case 'expect': {
      const { within = defaultTimeoutMs, port, node, ...expected } = step.value
      const subject = port ?? node ?? ''
      const observed = await waitFor(within, control, status =>
        port === undefined ? checkNode(status, subject, expected) : checkPort(status, idOf(port), expected),
      )
      return print(`  ✔ ${subject}: ${observed}`)
    }
    case 'ready':
      await waitFor(step.value, control, status => ({ met: status.ready, observed: statusTree(status) }))
      return print('  ✔ all attached ports are configured')
    case 'run': {
      const { node, line, shows } = step.value
      const { host, nodes } = await control.status()
      if (host === 'simulated') return print(withoutShell(node, line, nodes))
      const output = await runOnNode(control, node, line)
      print(`  ${node}$ ${line}`)
      if (output) print(`    ${output.replaceAll('\n', '\n    ')}`)
      if (shows !== undefined && !output.includes(shows)) throw new Error(`the output does not contain "${shows}"`)
      return
    }
    case 'show':
      return print(`  ${statusTree(await control.status()).replaceAll('\n', '\n  ')}`)
    case 'pause':
      return options.confirm?.(step.value ?? 'Press Enter to continue')
  }
}

interface Check {
  met: boolean
  observed: string
}

interface Expectation {
  state?: string | undefined
  reason?: string | undefined
  nic?: string | undefined
  gone?: true | undefined
}

/** Polls until the check is met and returns what it observed; throws with the last observation. */
async function waitFor(
  withinMs: number,
  control: ControlClient,
  check: (status: SandboxStatus) => Check,
): Promise<string> {
  const end = performance.now() + withinMs
  for (;;) {
    const { met, observed } = check(await control.status())
    if (met) return observed
    if (performance.now() > end) throw new Error(`not met within ${withinMs / 1000} s; observed:\n${observed}`)
    await sleep(pollMs)
  }
}

function checkPort(status: SandboxStatus, id: string, expected: Expectation): Check {
  const nic = status.nodes.flatMap(node => node.interfaces).find(each => each.portId === id)
  if (expected.gone) return { met: nic === undefined, observed: nic ? nicText(nic) : 'gone' }
  if (!nic) return { met: false, observed: 'port not found' }
  const met =
    (expected.state ?? nic.status) === nic.status &&
    (expected.reason ?? nic.reason) === nic.reason &&
    (expected.nic ?? nic.name) === nic.name
  return { met, observed: nicText(nic) }
}

function nicText({ name, status, reason, message, address }: InterfaceView): string {
  const why = status === 'Configured' ? [] : [reason, message]
  return [name || 'port', status, address, ...why].filter(Boolean).join('  ')
}

/** Simulated nodes cannot run commands: shows the NICs of the node instead. */
function withoutShell(node: string, line: string, nodes: SandboxStatus['nodes']): string {
  const nics = nodes.find(({ name }) => name === node)?.interfaces ?? []
  return [`  ${node} is simulated and cannot run "${line}"; its NICs:`, ...nics.map(nicText)].join('\n    ')
}

function checkNode(status: SandboxStatus, name: string, expected: Expectation): Check {
  const node = status.nodes.find(each => each.name === name)
  if (!node) return { met: expected.gone === true, observed: `node ${name} not found` }
  const { state, reason, message } = node
  const met =
    !expected.gone &&
    (expected.state ?? state) === state &&
    (expected.reason ?? reason) === reason &&
    (expected.nic === undefined || node.interfaces.some(nic => nic.name === expected.nic))
  return { met, observed: [state, reason, message].filter(Boolean).join('  ') }
}

async function vmOf(control: ControlClient, portId: string): Promise<string> {
  const { nodes } = await control.status()
  return nodes.find(node => node.interfaces.some(nic => nic.portId === portId))?.name ?? ''
}
