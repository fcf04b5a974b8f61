import assert from 'node:assert/strict'
import { test } from 'node:test'
import { nodeConfigAnnotations, nodeConfigs } from '../../src/contract/node-config.ts'
import { openstackConfigAnnotations } from '../../src/contract/openstack-config.ts'
import { checkCommand, reconcileCommand, retryCommand } from './commands.ts'

const { forceReconcile, approveRemovals } = openstackConfigAnnotations
const node = { providerId: 'biz-1', nodeName: 'worker-1' }
const nic = { source: 'multinic-system/production', name: 'multinic2' }

test('experience H2: the retry command sets the annotation of the controller on the node config, in the cluster of the node', () => {
  const command = `kubectl --context biz-1 -n multinic-system annotate mnnc worker-1 --overwrite ${nodeConfigAnnotations.retry}=multinic2`
  for (const severity of ['failed', 'drifted', 'pending'] as const)
    assert.equal(retryCommand(node, { severity, ...nic }), command)
  assert.equal(retryCommand(node, { severity: 'configured', ...nic }), undefined)
  assert.match(checkCommand(node) ?? '', new RegExp(`--context biz-1 .* ${nodeConfigAnnotations.check}=now$`))
  assert.equal(nodeConfigs.plural, 'multinicnodeconfigs')
})

test('removals and syncs are commands for the OpenstackConfig of the NIC', () => {
  const command = (annotation: string) =>
    `kubectl -n multinic-system annotate openstackconfig production --overwrite ${annotation}="$(date +%s)"`
  assert.equal(reconcileCommand(nic.source), command(forceReconcile))
  assert.equal(retryCommand(node, { severity: 'onHold', ...nic }), command(approveRemovals))
})

test('a name that a shell would interpret gives no command', () => {
  for (const source of ['', 'production', 'a/b/c', 'a/$(reboot)', 'a b/c', '-n/x', 'a/;ls'])
    assert.equal(reconcileCommand(source), undefined, source)
  for (const [providerId, nodeName] of [
    ['', 'worker-1'],
    ['$(reboot)', 'worker-1'],
    ['--kubeconfig=x', 'worker-1'],
    ['biz', 'worker;ls'],
  ] as const)
    assert.equal(checkCommand({ providerId, nodeName }), undefined, `${providerId} ${nodeName}`)
})
