/** What another agent left and this one cannot read stops its NIC alone, or all of them, and nothing of it is changed. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { hostPaths } from '../paths.ts'
import type { Unread } from '../state/change-keys.ts'
import { nodeRecordPath } from '../state/node-files.ts'
import type { Observed } from '../state/observed.ts'
import { recordPath } from '../state/ownership.ts'
import { afterPlan, aNode, anInterface, changesOf, macOf, planOf, settingsFrom } from '../test/agent.fixture.ts'
import { type Plan, planRun } from './plan.ts'

const both = [anInterface(0), anInterface(1)]
const moved = both.map(nic => ({ ...nic, mtu: 1400 }))
const configured = afterPlan(aNode(2), both)
const path = recordPath(hostPaths, macOf(0))
const record = JSON.parse(configured.files[path]?.text ?? '')
const withText = (text: string): Observed => ({
  ...configured,
  files: { ...configured.files, [path]: { text, mode: 0o600, uid: 0, gid: 0 } },
})
const outcome = (plan: Plan) => ({
  changed: [...new Set(plan.units.map(({ name }) => name))],
  refused: Object.fromEntries(plan.refused),
  kept: plan.unremovable,
})

const unread = {
  'an unknown key': [JSON.stringify({ ...record, colours: [] }), 'has the unknown key colours'],
  'another version': [JSON.stringify({ ...record, version: 2 }), 'has version 2'],
  'a table of the kernel': [JSON.stringify({ ...record, table: 254 }), 'has a value that no agent writes'],
  'half of the text': ['{"version":1,', 'is no record'],
} as const
for (const [what, [text, problem]] of Object.entries(unread)) {
  const refusal = { reason: 'StateUnreadable', message: `${path} ${problem}` }

  test(`a record with ${what} stops its NIC alone, and stays`, () => {
    const plan = planOf(withText(text), moved)
    const { changed, ...rest } = outcome(plan)
    assert.deepEqual(rest, { refused: { 0: refusal }, kept: [] })
    assert.ok(changed.includes('multinic1') && !changed.includes('multinic0'))
    assert.ok(!changesOf(plan).some(line => line.includes(path)))
  })

  test(`a NIC whose record has ${what} is not removed`, () => {
    const { changed, kept } = outcome(planOf(withText(text), []))
    assert.deepEqual(
      kept.map(({ refusal: why }) => why),
      [refusal],
    )
    assert.ok(changed.includes('multinic1') && !changed.includes('multinic0'))
  })

  test(`a NIC whose record has ${what} keeps what it has of the state that all NICs share`, () => {
    assert.deepEqual(outcome(planOf(withText(text), both)).changed, [])
  })
}

test('a NIC that is not requested, and whose record says nothing, keeps what all NICs share as it is', () => {
  const [text, problem] = unread['half of the text']
  assert.deepEqual(outcome(planOf(withText(text), [])).changed, ['multinic1'])
  const refusal = { reason: 'StateUnreadable', message: `${path} ${problem}` }
  const { changed, refused, kept } = outcome(planOf(withText(text), moved.slice(1)))
  assert.deepEqual([changed, refused, kept], [[], { 1: refusal }, [{ name: 'multinic0', refusal }]])
})

test('a directory in place of a record takes nothing from what all NICs share', () => {
  const foreign = { text: '', mode: 0o755, uid: 0, gid: 0, special: true } as const
  const at = (place: string) => ({ ...configured, files: { ...configured.files, [place]: foreign } })
  const refusal = (place: string) => ({
    ...{ reason: 'ForeignFile', message: `${place} is not a regular file; multinic needs this path` },
  })
  assert.deepEqual(outcome(planOf(at(path), both)), { changed: [], refused: { 0: refusal(path) }, kept: [] })
  const { changed, refused } = outcome(planOf(at(path), moved.slice(1)))
  assert.deepEqual([changed, refused], [[], { 1: refusal(path) }])
  const shared = nodeRecordPath(hostPaths)
  const all = { 0: refusal(shared), 1: refusal(shared) }
  assert.deepEqual(outcome(planOf(at(shared), moved)), { changed: [], refused: all, kept: [] })
})

const planAfter = (entry: Unread, interfaces = moved) =>
  planRun({
    ...{ interfaces, nodeAddresses: ['10.0.0.10'], settings: settingsFrom(), paths: hostPaths },
    ...{ observed: configured, unread: [entry] },
  })
const message = '/var/lib/multinic/journal/0001.json has the unknown change dns of multinic0'
const refusal = { reason: 'StateUnreadable', message }

test('an unknown change in the journal stops its NIC alone', () => {
  const { changed, refused } = outcome(planAfter({ macAddress: macOf(0), message }))
  assert.deepEqual(refused, { 0: refusal })
  assert.ok(changed.includes('multinic1') && !changed.includes('multinic0'))
  const { kept } = outcome(planAfter({ macAddress: macOf(0), message }, []))
  assert.deepEqual(kept, [{ name: 'multinic0', refusal }])
})

test('what cannot be read of a NIC that has neither a record nor a file is named, and is not said to be removed', () => {
  const found = (entry: Unread, interfaces = both) => {
    const settings = settingsFrom()
    const observed = aNode(2)
    return outcome(planRun({ interfaces, nodeAddresses: [], settings, paths: hostPaths, observed, unread: [entry] }))
      .kept
  }
  const gone = 'fa:16:3e:00:00:77'
  assert.deepEqual(found({ macAddress: gone, message }), [{ name: gone, refusal }])
  assert.deepEqual(found({ macAddress: macOf(0), message }, []), [{ name: macOf(0), refusal }])
  assert.deepEqual(found({ message }, []), [{ name: 'node', refusal }])
  assert.deepEqual(found({ message }), [], 'each requested NIC names it')
})

test('a journal that names no NIC stops all of them', () => {
  assert.deepEqual(outcome(planAfter({ message })), { changed: [], refused: { 0: refusal, 1: refusal }, kept: [] })
  const kept = ['multinic0', 'multinic1'].map(name => ({ name, refusal }))
  assert.deepEqual(outcome(planAfter({ message }, [])), { changed: [], refused: {}, kept })
})
