/**
 * Plays a scenario on a running sandbox, step by step, and ends the faults that it began, whatever happens.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { messageOf } from '../../src/runtime/errors.ts'
import { saidOn } from '../commands/shell.ts'
import type { Control } from '../control/client.ts'
import { type InterfaceView, type SandboxStatus, treeOf } from '../control/status.ts'
import type { Scenario, Step } from './scenario.ts'

export interface Stage {
  control: Control
  say: (line: string) => void
  /** At a pause: resolves when whoever watches wants to go on. */
  next?: ((prompt: string) => Promise<void>) | undefined
}

const usualMs = 60_000
const lookMs = 100

export async function play(scenario: Scenario, stage: Stage): Promise<void> {
  const ports = new Map<string, string>()
  const begun = new Set<string>()
  try {
    for (const step of scenario.steps) {
      try {
        await playStep(step, stage, ports, begun)
      } catch (error) {
        throw new Error(`${scenario.file}:${step.line}: ${step.kind}: ${messageOf(error)}`, { cause: error })
      }
    }
  } finally {
    for (const word of [...begun].reverse()) await stage.control.faultOff(word)
  }
}

async function playStep(step: Step, stage: Stage, ports: Map<string, string>, begun: Set<string>): Promise<void> {
  const { control, say } = stage
  const idOf = (name: string) => ports.get(name) ?? ''
  switch (step.kind) {
    case 'say':
      return say(`\n▸ ${step.value.trimEnd().replaceAll('\n', '\n  ')}`)
    case 'attach': {
      const { vm, subnet, count = 1, as } = step.value
      const attached = await control.attach({ vm, subnet, count })
      if (as !== undefined && attached[0]) ports.set(as, attached[0].id)
      for (const { macAddress, address } of attached)
        say(`  attached ${as ? `${as}: ` : ''}${macAddress} ${address} to ${vm}`)
      return
    }
    case 'detach': {
      const { port, vm = '', name = '' } = step.value
      const gone = await control.detach(
        port === undefined ? { vm, name } : { vm: await vmOf(control, idOf(port)), port: idOf(port) },
      )
      for (const { macAddress, address } of gone) say(`  detached ${port ?? name}: ${macAddress} ${address}`)
      return
    }
    case 'reboot':
      await control.reboot(step.value)
      return say(`  ${step.value} is up again`)
    case 'fault': {
      const { word, node, for: forMs } = { node: undefined, for: undefined, ...step.value }
      const active = await control.faultOn({ word, node, forMs })
      const on = active.find(fault => fault.word === word)
      if (on) begun.add(word)
      return say(`  fault ${word}${on ? `: ${on.does}` : ' happened'}`)
    }
    case 'end':
      await control.faultOff(step.value === 'all' ? undefined : step.value)
      if (step.value === 'all') begun.clear()
      else begun.delete(step.value)
      return say(`  ended ${step.value === 'all' ? 'all faults' : step.value}`)
    case 'expect': {
      const { within = usualMs, port, node, ...wanted } = step.value
      const what = port ?? node ?? ''
      const told = await until(within, control, status =>
        port === undefined ? nodeMeets(status, what, wanted) : portMeets(status, idOf(port), wanted),
      )
      return say(`  ✔ ${what}: ${told}`)
    }
    case 'ready':
      await until(step.value, control, status => ({ met: status.ready, told: treeOf(status) }))
      return say('  ✔ everything that is attached is configured')
    case 'run': {
      const { node, line, shows } = step.value
      const { host, nodes } = await control.status()
      if (host === 'simulated') return say(withoutShell(node, line, nodes))
      const said = await saidOn(node, await control.node(node), line)
      say(`  ${node}$ ${line}`)
      if (said) say(`    ${said.replaceAll('\n', '\n    ')}`)
      if (shows !== undefined && !said.includes(shows)) throw new Error(`"${shows}" is not in what it said`)
      return
    }
    case 'show':
      return say(`  ${treeOf(await control.status()).replaceAll('\n', '\n  ')}`)
    case 'pause':
      return stage.next?.(step.value ?? 'Enter goes on')
  }
}

interface Look {
  met: boolean
  told: string
}

interface Wanted {
  state?: string | undefined
  reason?: string | undefined
  nic?: string | undefined
  gone?: true | undefined
}

/** What was told when it was met; fails with what was told last. */
async function until(withinMs: number, control: Control, look: (status: SandboxStatus) => Look): Promise<string> {
  const end = performance.now() + withinMs
  for (;;) {
    const { met, told } = look(await control.status())
    if (met) return told
    if (performance.now() > end) throw new Error(`not within ${withinMs / 1000} s; it is:\n${told}`)
    await sleep(lookMs)
  }
}

function portMeets(status: SandboxStatus, id: string, wanted: Wanted): Look {
  const nic = status.nodes.flatMap(node => node.interfaces).find(each => each.portId === id)
  if (wanted.gone) return { met: nic === undefined, told: nic ? shown(nic) : 'gone' }
  if (!nic) return { met: false, told: 'no such port' }
  const met =
    (wanted.state ?? nic.status) === nic.status &&
    (wanted.reason ?? nic.reason) === nic.reason &&
    (wanted.nic ?? nic.name) === nic.name
  return { met, told: shown(nic) }
}

function shown({ name, status, reason, message, address }: InterfaceView): string {
  const why = status === 'Configured' ? [] : [reason, message]
  return [name || 'a port', status, address, ...why].filter(Boolean).join('  ')
}

/** There is nothing to run a line on: what is known of the node stands for what it would have said. */
function withoutShell(node: string, line: string, nodes: SandboxStatus['nodes']): string {
  const nics = nodes.find(({ name }) => name === node)?.interfaces ?? []
  const told = [`  ${node} is simulated and has no shell for "${line}"; its NICs:`, ...nics.map(shown)]
  return told.join('\n    ')
}

function nodeMeets(status: SandboxStatus, name: string, wanted: Wanted): Look {
  const node = status.nodes.find(each => each.name === name)
  if (!node) return { met: wanted.gone === true, told: `there is no node ${name}` }
  const { state, reason, message } = node
  const met =
    !wanted.gone &&
    (wanted.state ?? state) === state &&
    (wanted.reason ?? reason) === reason &&
    (wanted.nic === undefined || node.interfaces.some(nic => nic.name === wanted.nic))
  return { met, told: [state, reason, message].filter(Boolean).join('  ') }
}

async function vmOf(control: Control, portId: string): Promise<string> {
  const { nodes } = await control.status()
  return nodes.find(node => node.interfaces.some(nic => nic.portId === portId))?.name ?? ''
}
