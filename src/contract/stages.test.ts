import assert from 'node:assert/strict'
import { test } from 'node:test'
import { aWrite } from '../../test/support/inventory.ts'
import { nodeOf } from '../../web/model/nodes.ts'
import { currentStage } from '../../web/model/stages.ts'
import { nodesAbout, whyOf } from '../cli/why.ts'
import { deviationsOf, type InterfaceRecord as State } from './deviations.ts'
import type { InventoryRecord } from './inventory.ts'
import { stages } from './stages.ts'

const time = '2026-01-01T10:00:00Z'
const timesOf = (...names: (typeof stages)[number][]) => Object.fromEntries(names.map(name => [name, time]))

test('experience M4: CLI and dashboard name the same stage for the same failure', () => {
  const cases: [times: Partial<Record<(typeof stages)[number], string>>, stage: string][] = [
    [timesOf('seen'), 'delivered'],
    [timesOf('seen', 'delivered', 'cr', 'job'), 'applied'],
    // A file that could not be written: the NIC was verified before.
    [timesOf('seen', 'delivered', 'cr', 'job', 'verified'), 'applied'],
    [timesOf('seen', 'delivered', 'cr', 'job', 'applied'), 'verified'],
    [timesOf(...stages), 'verified'],
    [timesOf('seen', 'applied'), 'verified'],
  ]
  for (const [times, stage] of cases) {
    const { macAddress = '' } = aWrite('w1').config.interfaces[0] ?? {}
    const interfaces = [{ macAddress, portId: 'port-w1-0', status: 'Failed' as const, stages: times }]
    const record: InventoryRecord = { ...aWrite('w1'), updatedAt: time, interfaces }
    const [why] = whyOf(nodesAbout('w1', [record], new Date(time)), []).nodes
    assert.equal(why?.interfaces[0]?.waitsFor, stage)
    assert.equal(currentStage({ severity: 'failed', stages: times }), stage)
  }
})

test('experience M4: they also agree on a NIC that drifted, and on one that waits with its last state', () => {
  const pending = { reason: 'Paused', message: 'paused' }
  const changed = { observed: { mtu: 1500 } }
  const cases: [state: Partial<State>, stage: string | undefined][] = [
    [{ status: 'Configured' }, undefined],
    [{ status: 'Failed', reason: 'Drifted', stages: timesOf('seen', 'delivered') }, 'verified'],
    [{ status: 'Configured', ...changed }, 'verified'],
    [{ status: 'Configured', pending, stages: timesOf('seen', 'delivered', 'cr') }, 'job'],
    [{ status: 'Pending', pending, stages: timesOf('seen', 'delivered', 'cr') }, 'job'],
  ]
  for (const [state, stage] of cases) {
    const { macAddress = '' } = aWrite('w1').config.interfaces[0] ?? {}
    const interfaces = [{ macAddress, portId: 'port-w1-0', stages: timesOf(...stages), ...state }]
    const record: InventoryRecord = { ...aWrite('w1'), updatedAt: time, interfaces }
    const [why] = whyOf(nodesAbout('w1', [record], new Date(time)), []).nodes
    assert.equal(why?.interfaces[0]?.waitsFor, stage)
    const [nic] = nodeOf(record, deviationsOf(record)).nics
    assert.equal(nic && currentStage(nic), stage)
  }
})
