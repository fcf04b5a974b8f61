/** Built-in kinds as the components use them: Secrets, Leases, Events, Nodes. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { nodeConfigs } from '../../../src/contract/node-config.ts'
import { isAlreadyExists, isConflict } from '../../../src/kube/errors.ts'
import { createEventRecorder } from '../../../src/kube/events.ts'
import { runLeaderElection } from '../../../src/kube/leader.ts'
import { collectionPath } from '../../../src/kube/paths.ts'
import { events, leases, nodes, secrets } from '../../../src/kube/resources.ts'
import { silent } from '../../../src/telemetry/log.ts'
import { eventually } from '../../support/eventually.ts'
import { aNodeConfig, type KubeContext, present, rejection } from './context.ts'

export function kindCases(context: () => KubeContext): void {
  test('Secret data must be base64', async () => {
    const { kube, namespace, name } = context()
    const key = { namespace, name: name() }
    const data = { KEY: Buffer.from('sécret\u0000').toString('base64') }
    const made = await kube.create(secrets, { apiVersion: 'v1', kind: 'Secret', metadata: key, data })
    assert.equal(made.type, 'Opaque')
    assert.deepEqual((await present(kube, secrets, key)).data, data)
    const bad = { apiVersion: 'v1', kind: 'Secret', metadata: { namespace, name: name() }, data: { KEY: 'no base64!' } }
    assert.equal((await rejection(kube.create(secrets, bad))).status, 400)
  })

  test('stringData of a Secret is stored as data', async () => {
    const { kube, namespace, name } = context()
    const key = { namespace, name: name() }
    const body = { apiVersion: 'v1', kind: 'Secret', metadata: key, stringData: { a: 'plain' } }
    await kube.raw('POST', collectionPath(secrets, namespace), body)
    assert.deepEqual((await present(kube, secrets, key)).data, { a: Buffer.from('plain').toString('base64') })
  })

  test('of two concurrent updates of a Lease one succeeds', async () => {
    const { kube, namespace, name } = context()
    const key = { namespace, name: name() }
    const spec = { holderIdentity: 'a', leaseDurationSeconds: 15, renewTime: '2026-01-02T03:04:05.678000Z' }
    const made = await kube.create(leases, { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata: key, spec })
    assert.deepEqual(made.spec, spec)
    const take = (holderIdentity: string) => kube.replace(leases, { ...made, spec: { ...spec, holderIdentity } })
    const outcomes = await Promise.allSettled([take('b'), take('c')])
    const lost = outcomes.filter(outcome => outcome.status === 'rejected')
    assert.equal(lost.length, 1)
    assert.ok(isConflict(lost[0]?.reason))
    const winner = outcomes[0]?.status === 'fulfilled' ? 'b' : 'c'
    assert.equal((await present(kube, leases, key)).spec?.holderIdentity, winner)
  })

  test('of two concurrent creates of a Lease one succeeds', async () => {
    const { kube, namespace, name } = context()
    const metadata = { namespace, name: name() }
    const make = () => kube.create(leases, { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata })
    const outcomes = await Promise.allSettled([make(), make()])
    const lost = outcomes.filter(outcome => outcome.status === 'rejected')
    assert.equal(lost.length, 1)
    assert.ok(isAlreadyExists(lost[0]?.reason))
  })

  test('a leader releases its Lease, and the next one takes over', { timeout: 30_000 }, async () => {
    const { kube, namespace, name } = context()
    const lease = name()
    const leaders: string[] = []
    const run = (identity: string) => {
      const stop = new AbortController()
      const ended = runLeaderElection({
        ...{ kube, namespace, name: lease, identity, leaseMs: 3_000, renewMs: 1_000, log: silent, signal: stop.signal },
        async onLeading(signal) {
          leaders.push(identity)
          await new Promise(resolve => signal.addEventListener('abort', resolve, { once: true }))
        },
      })
      return { stop: () => stop.abort(), ended }
    }
    const first = run('first')
    await eventually(() => assert.deepEqual(leaders, ['first']))
    const second = run('second')
    await eventually(async () => {
      const { spec } = await present(kube, leases, { namespace, name: lease })
      assert.notEqual(spec?.renewTime, spec?.acquireTime)
    })
    assert.deepEqual(leaders, ['first'])
    first.stop()
    await first.ended
    await eventually(() => assert.deepEqual(leaders, ['first', 'second']))
    assert.equal((await present(kube, leases, { namespace, name: lease })).spec?.leaseTransitions, 1)
    second.stop()
    await second.ended
    assert.equal((await present(kube, leases, { namespace, name: lease })).spec?.holderIdentity || '', '')
  })

  test('a repeated Event increments its count', async () => {
    const { kube, namespace, name } = context()
    const object = await kube.create(nodeConfigs, aNodeConfig(context(), name()))
    const recorder = createEventRecorder({ kube, component: 'conformance', log: silent })
    recorder.event(object, 'Warning', 'NicMissing', 'no device has fa:16:3e:00:00:02')
    await recorder.flush()
    recorder.event(object, 'Warning', 'NicMissing', 'no device has fa:16:3e:00:00:02')
    await recorder.flush()
    const { items } = await kube.list(events, {
      namespace,
      fieldSelector: `involvedObject.name=${object.metadata.name},involvedObject.kind=MultiNicNodeConfig`,
    })
    assert.equal(items.length, 1)
    assert.equal(items[0]?.count, 2)
    assert.equal(items[0]?.reason, 'NicMissing')
    assert.equal(items[0]?.involvedObject.uid, object.metadata.uid)
  })

  test('Events of cluster-scoped objects are in the namespace default', async () => {
    const { kube, name } = context()
    const own = `conformance-${context().namespace}-${name()}`
    const node = await kube.create(nodes, { apiVersion: 'v1', kind: 'Node', metadata: { name: own } })
    const failures: unknown[] = []
    const log = { ...silent, warn: (_: string, facts: unknown) => failures.push(facts) }
    const recorder = createEventRecorder({ kube, component: 'conformance', log })
    recorder.event(node, 'Normal', 'Configured', '2 interfaces')
    await recorder.flush()
    assert.deepEqual(failures, [])
    const { items } = await kube.list(events, { namespace: 'default', fieldSelector: `involvedObject.name=${own}` })
    assert.ok(items.some(item => item.reason === 'Configured'))
    await kube.delete(nodes, { name: own })
  })

  test('a Node has a status subresource', async () => {
    const { kube, name } = context()
    const own = `conformance-${context().namespace}-${name()}`
    await kube.create(nodes, { apiVersion: 'v1', kind: 'Node', metadata: { name: own } })
    const nodeInfo = { systemUUID: '11111111-2222-3333-4444-555555555555', bootID: 'b1', osImage: 'Ubuntu 24.04' }
    await kube.patchStatus(nodes, { name: own }, { nodeInfo, conditions: [{ type: 'Ready', status: 'True' }] })
    const found = await present(kube, nodes, { name: own })
    assert.equal(found.status?.nodeInfo?.systemUUID, nodeInfo.systemUUID)
    assert.equal(found.status?.conditions?.find(({ type }) => type === 'Ready')?.status, 'True')
    await kube.delete(nodes, { name: own })
  })
}
