/**
 * The whole chain in the sandbox: time from an attached port to a configured NIC.
 */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Port } from '../../sandbox/cloud/state.ts'
import { startTestSandbox, type TestSandbox } from '../system/sandbox.fixture.ts'
import { type Bench, figure, median } from './figure.ts'

const attaches = 10

export const bench: Bench = async report => {
  const idleNode = { against: 'a Node process that does nothing', reference: median(repeated(5, startNode)) }
  const system = await startTestSandbox({ nodes: 3, nicDelayMs: 300 })
  try {
    await configured(system, attach(system, 0))
    const times: number[] = []
    for (let index = 1; index <= attaches; index++) {
      const started = performance.now()
      await configured(system, attach(system, index))
      times.push((performance.now() - started) / 1000)
      // Start at another moment of the poll interval each time.
      await sleep(137 * index)
    }
    report(figure('walk.attach_to_configured_s', median(times), 's', idleNode, { atMost: 2 }))
  } finally {
    await system.stop()
  }
}

function attach(system: TestSandbox, index: number): Port {
  const [port] = system.attach({ vm: `worker-${(index % 3) + 1}`, subnet: index % 2 === 0 ? 'storage' : 'backup' })
  return port ?? assert.fail('nothing was attached')
}

async function configured(system: TestSandbox, port: Port): Promise<void> {
  for (;;) {
    const { nodes } = await system.sandbox.status()
    const nic = nodes.flatMap(node => node.interfaces).find(each => each.portId === port.id)
    if (nic?.status === 'Configured') return
    await sleep(10)
  }
}

function startNode(): number {
  return seconds(() => execFileSync(process.execPath, ['-e', '0']))
}

function repeated(times: number, act: () => number): number[] {
  return Array.from({ length: times }, act)
}

function seconds(act: () => unknown): number {
  const started = performance.now()
  act()
  return (performance.now() - started) / 1000
}
