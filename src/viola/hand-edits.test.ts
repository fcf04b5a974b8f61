import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { NodeConfig } from '../contract/node-config.ts'
import { withEditors } from './hand-edits.ts'

const edited = {
  apiVersion: 'multinic.io/v1alpha1',
  kind: 'MultiNicNodeConfig',
  metadata: { name: 'w1', namespace: 'multinic-system' },
  spec: { nodeName: 'w1', interfaces: [], specHash: 'of another spec' },
} as NodeConfig

test('an editor is asked for again if the cluster did not answer, and once if it did', async () => {
  let asked = 0
  const cluster = {
    async fieldManagers() {
      asked++
      if (asked === 1) throw new Error('no answer')
      return [
        {
          name: 'kubectl-edit',
          ownsSpec: true,
          time: '2026-01-01T00:00:00Z',
          operation: 'Update',
          annotations: new Set<string>(),
        },
      ]
    },
  }
  const editors = async () => (await withEditors(cluster, [edited])).map(({ editedBy }) => editedBy)
  assert.deepEqual(await editors(), [undefined])
  assert.deepEqual(await editors(), ['kubectl-edit'])
  assert.deepEqual(await editors(), ['kubectl-edit'])
  assert.equal(asked, 2)
})
