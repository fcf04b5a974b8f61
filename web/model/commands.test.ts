import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openstackConfigAnnotations } from '../../src/contract/openstack-config.ts'
import { reconcileCommand, retryCommand } from './commands.ts'

const { forceReconcile, releaseRemovals } = openstackConfigAnnotations

test('the commands set an annotation on the OpenstackConfig of the NIC', () => {
  const source = 'multinic-system/production'
  const command = (annotation: string) =>
    `kubectl -n multinic-system annotate openstackconfig production --overwrite ${annotation}="$(date +%s)"`
  assert.equal(reconcileCommand(source), command(forceReconcile))
  assert.equal(retryCommand({ severity: 'failed', source }), command(forceReconcile))
  assert.equal(retryCommand({ severity: 'onHold', source }), command(releaseRemovals))
  assert.equal(retryCommand({ severity: 'configured', source }), undefined)
})

test('a source that is not a valid Kubernetes name gives no command', () => {
  for (const source of ['', 'production', 'a/b/c', 'a/$(reboot)', 'a b/c', '-n/x', 'a/;ls'])
    assert.equal(reconcileCommand(source), undefined, source)
})
