/** The status of nodes reaches the OpenstackConfig by the stream of Viola: no poll is due for an hour in these tests. */
import assert from 'node:assert/strict'
import { afterEach, beforeEach, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { addPort, addServer, addSubnet, type Server, type Subnet, setPortStatus } from '../../../sandbox/cloud/state.ts'
import { sandboxNamespace as namespace } from '../../../sandbox/lifecycle/components.ts'
import { type OperatorEnvironment, startOperatorEnvironment } from '../../../test/operator/environment.ts'
import { eventually } from '../../../test/support/eventually.ts'
import { nodeConfigs, type State } from '../../contract/node-config.ts'
import { openstackConfigs } from '../../contract/openstack-config.ts'
import { silent } from '../../telemetry/log.ts'
import { runViola } from '../../viola/main.ts'

const rare = { pollFastInterval: '1h', pollSlowInterval: '1h', pollErrorInterval: '1h' }

let environment: OperatorEnvironment
let server: Server
let subnets: Subnet[]

beforeEach(async () => {
  environment = await startOperatorEnvironment()
  const { cloudState } = environment
  subnets = ['storage', 'backup'].map((name, n) => addSubnet(cloudState, { name, cidr: `10.${n}.0.0/24`, mtu: 1500 }))
  server = addServer(cloudState, 'worker-1')
  for (const subnet of subnets) setPortStatus(cloudState, addPort(cloudState, { server, subnet }).id, 'ACTIVE')
})
afterEach(() => environment.close())

async function report(state: State): Promise<void> {
  const [node] = await environment.nodes()
  await environment.report('worker-1', { observedGeneration: node?.metadata.generation ?? 0, state })
}

function readyIs(expected: string, name = 'main'): Promise<void> {
  return eventually(async () => assert.equal((await environment.config(name)).status?.nodes?.ready, expected))
}

/** Reports until both directions work: the stream is open and each status arrives. */
async function followed(name = 'main'): Promise<void> {
  await eventually(async () => assert.equal((await environment.nodes()).length, 1))
  await report('Configured')
  await readyIs('1/1', name)
  await report('InProgress')
  await readyIs('0/1', name)
}

test('a status arrives without a call to the cloud', async () => {
  await environment.startOperator()
  await environment.create({ settings: rare })
  await followed()
  const calls = environment.cloud.calls()
  await report('Failed')
  await eventually(async () => assert.equal((await environment.config()).status?.nodes?.failed, 1))
  await report('Configured')
  await readyIs('1/1')
  assert.deepEqual(environment.cloud.calls(), calls)
  await eventually(() => assert.equal(environment.records.at(-1)?.state, 'Configured'))
})

test('the history gives the reason of a state', async () => {
  await environment.startOperator()
  await environment.create({ settings: rare })
  await followed()
  const { generation = 0 } = (await environment.nodes())[0]?.metadata ?? {}
  const ready = {
    type: 'Ready',
    status: 'False',
    reason: 'NicMissing',
    lastTransitionTime: '2026-01-01T00:00:00Z',
  } as const
  await environment.report('worker-1', {
    ...{ observedGeneration: generation, state: 'Failed' },
    conditions: [{ ...ready, message: 'multinic0: no NIC has this MAC address' }],
  })
  const expected = 'the node is Failed (NicMissing): multinic0: no NIC has this MAC address'
  await eventually(() => assert.equal(environment.records.at(-1)?.why, expected))
})

test('a node config that somebody deletes or edits is delivered again at once, after a full sync', async () => {
  await environment.startOperator()
  await environment.create({ settings: rare })
  await followed()
  const at = { namespace, name: 'worker-1' }
  const uid = async () => (await environment.nodes())[0]?.metadata.uid
  const before = await uid()
  const { neutron } = environment.cloud.calls()
  await environment.kube.delete(nodeConfigs, at)
  await eventually(async () => assert.ok(![before, undefined].includes(await uid())))
  assert.ok(environment.cloud.calls().neutron > neutron)
  const [first] = await environment.nodes()
  const interfaces = first?.spec.interfaces.slice(0, 1) ?? []
  const edit = { metadata: at, spec: { interfaces } }
  await environment.kube.apply(nodeConfigs, edit, { fieldManager: 'kubectl-edit', force: true })
  await eventually(async () => assert.equal((await environment.nodes())[0]?.spec.interfaces.length, 2))
})

test('two objects that share a node both get its status', async () => {
  await environment.startOperator()
  for (const [n, subnet] of subnets.entries())
    await environment.create({ name: `config-${n}`, subnetIDs: [subnet.id], settings: rare })
  await eventually(async () => assert.equal((await environment.nodes())[0]?.spec.interfaces.length, 2))
  await report('Configured')
  for (const n of subnets.keys()) await readyIs('1/1', `config-${n}`)
  await report('InProgress')
  for (const n of subnets.keys()) await readyIs('0/1', `config-${n}`)
})

test('a restarted operator follows again, and gets what changed in between', async () => {
  const stop = await environment.startOperator()
  await environment.create({ settings: rare })
  await followed()
  await stop()
  await report('Configured')
  await environment.startOperator()
  await readyIs('1/1')
  await report('InProgress')
  await readyIs('0/1')
})

test('a restarted Viola is followed again, and what changed in between arrives', async () => {
  const first = await startViola()
  await environment.startOperator({ VIOLA_ENDPOINT: first.url })
  await environment.create({ settings: rare })
  await followed()
  await first.stop()
  await report('Configured')
  const second = await startViola(new URL(first.url).port)
  await readyIs('1/1')
  await report('InProgress')
  await readyIs('0/1')
  await second.stop()
})

test('while the cloud fails, a status starts no sync before the next attempt is due', async () => {
  await environment.startOperator()
  await environment.create({ settings: rare })
  await followed()
  environment.cloudState.faults.failing = ['neutron']
  await environment.kube.patch(
    openstackConfigs,
    { namespace, name: 'main' },
    { metadata: { annotations: { 'multinic.io/force-reconcile': '1' } } },
  )
  await eventually(async () => assert.match((await environment.config()).status?.lastError ?? '', /^Neutron/))
  const calls = environment.cloud.calls()
  for (const state of ['Configured', 'Failed', 'Configured'] as const) await report(state)
  await sleep(500)
  assert.deepEqual(environment.cloud.calls(), calls)
})

async function startViola(port = '0'): Promise<{ url: string; stop: () => Promise<void> }> {
  const stop = new AbortController()
  const listening = Promise.withResolvers<string>()
  const runs = runViola({
    env: {
      LISTEN_ADDR: `127.0.0.1:${port}`,
      KUBECONFIG: environment.api.kubeconfig,
      TARGET_NAMESPACE: namespace,
      VIOLA_TOKENS_FILE: environment.caller.tokensFile,
    },
    log: silent,
    signal: stop.signal,
    onListen: listening.resolve,
  })
  runs.catch(listening.reject)
  const url = await listening.promise
  return {
    url,
    stop: async () => {
      stop.abort()
      await runs
    },
  }
}
