import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openstackConfigAnnotations } from '../../src/contract/openstack-config.ts'
import { againOf, checkNow } from './commands.ts'

const { forceReconcile, releaseRemovals } = openstackConfigAnnotations

test('a NIC that stopped is set going by an annotation of its object', () => {
  const source = 'multinic-system/production'
  const command = (annotation: string) =>
    `kubectl -n multinic-system annotate openstackconfig production --overwrite ${annotation}="$(date +%s)"`
  assert.equal(checkNow(source), command(forceReconcile))
  assert.equal(againOf({ look: 'bad', source }), command(forceReconcile))
  assert.equal(againOf({ look: 'held', source }), command(releaseRemovals))
  assert.equal(againOf({ look: 'ok', source }), undefined)
})

test('nothing that is no name gets into a command', () => {
  for (const source of ['', 'production', 'a/b/c', 'a/$(reboot)', 'a b/c', '-n/x', 'a/;ls'])
    assert.equal(checkNow(source), undefined, source)
})
