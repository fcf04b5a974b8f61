import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { NodeConfig, NodeConfigStatus } from '../contract/node-config.ts'
import { aConfig } from './controller.fixture.ts'
import { createOwnStatuses } from './own-status.ts'

const ours: NodeConfigStatus = { state: 'Configured', nics: '2/2' }
const edited: NodeConfigStatus = { state: 'Failed', nics: '2/2' }
const withStatus = (status?: NodeConfigStatus) => aConfig(status ? { status } : {})

function open() {
  let restoredAt: number | undefined
  let listener: (change: { type: 'deleted'; object: NodeConfig }) => void = () => {}
  const statuses = createOwnStatuses({
    configs: {
      on(added) {
        listener = added
        return () => {}
      },
      restoredAt: () => restoredAt,
    },
  })
  return {
    statuses,
    restore: () => {
      restoredAt = 1
    },
    remove: (object: NodeConfig) => listener({ type: 'deleted', object }),
  }
}

test('the first status that the leader finds counts as its own', () => {
  const { statuses } = open()
  const config = withStatus(ours)
  assert.equal(statuses.of(config), config)
  assert.deepEqual(statuses.of(withStatus(edited)).status, ours)
})

test('a status that was invented before the first one is none', () => {
  const { statuses } = open()
  statuses.of(withStatus())
  assert.equal('status' in statuses.of(withStatus(edited)), false)
})

test('what the leader wrote is no edit, also if the response was lost', () => {
  const { statuses } = open()
  statuses.of(withStatus())
  statuses.writing(withStatus(), ours)
  const written = withStatus(ours)
  assert.equal(statuses.of(written), written)
  statuses.wrote(withStatus(edited))
  assert.deepEqual(statuses.of(written).status, edited)
})

test('a write that failed changes nothing', () => {
  const { statuses } = open()
  statuses.of(withStatus(ours))
  statuses.writing(withStatus(ours), edited)
  const config = withStatus(ours)
  assert.equal(statuses.of(config), config)
})

test('after a restore from a backup, or under a new object, the stored status counts', () => {
  const { statuses, restore, remove } = open()
  statuses.of(withStatus(ours))
  restore()
  const restored = withStatus(edited)
  assert.equal(statuses.of(restored), restored)
  remove(restored)
  const config = withStatus(ours)
  assert.equal(statuses.of(config), config)
})

test('an entry of a MultiNicBizConfig is as it is', () => {
  const { statuses } = open()
  const entry = (status: NodeConfigStatus) => ({ ...withStatus(status), kind: 'MultiNicBizConfig' })
  statuses.of(entry(ours))
  const now = entry(edited)
  assert.equal(statuses.of(now), now)
})
