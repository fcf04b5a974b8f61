import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { NodeConfig } from '../../contract/node-config.ts'
import { isNotFound } from '../../kube/errors.ts'
import { aConfig } from '../controller.fixture.ts'
import { entryWriter } from './entry-writer.ts'
import type { BizConfigSource } from './source.ts'

const entry: NodeConfig = { ...aConfig(), kind: 'MultiNicBizConfig', metadata: { name: 'biz:w1', namespace: 'ns' } }
const others = { patchMetadata: () => assert.fail('not an entry'), patchStatus: () => assert.fail('not an entry') }

function writerWith(entries: NodeConfig[]) {
  const stored: NodeConfig[] = []
  const source = {
    configs: { get: () => entries[0] },
    put: (config: NodeConfig) => {
      stored.push(config)
      return config
    },
  } as unknown as BizConfigSource
  const kube = { patch: () => assert.fail('no request is needed') }
  return { writer: entryWriter(kube, source, others), stored }
}

test('the status of an entry that is no longer in its MultiNicBizConfig is not found, as of a deleted object', async () => {
  const { writer, stored } = writerWith([])
  await assert.rejects(writer.patchStatus(entry, { state: 'Failed' }), isNotFound)
  assert.deepEqual(stored, [])
})

test('the status of an entry is stored with the entry', async () => {
  const { writer, stored } = writerWith([entry])
  await writer.patchStatus(entry, { state: 'Failed' })
  assert.equal(stored[0]?.status?.state, 'Failed')
})
