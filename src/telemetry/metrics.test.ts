/** Running components expose exactly the metrics of the catalogue. */
import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { request } from 'undici'
import { addPort, addServer, addSubnet, setPortStatus } from '../../sandbox/cloud/state.ts'
import { startOperatorEnvironment } from '../../test/operator/environment.ts'
import { openToEveryone } from '../../test/support/access.ts'
import { startControllerCluster } from '../../test/support/controller-cluster.ts'
import { eventually } from '../../test/support/eventually.ts'
import { assertCatalogue, parseExposition } from '../../test/support/exposition.ts'
import { collectGarbage } from '../../test/support/garbage.ts'
import { startTargetCluster } from '../../test/support/target-cluster.ts'
import { aNodeOf, aViola } from '../../test/support/viola.ts'
import { createInventoryApp } from '../inventory/app.ts'
import { openStore } from '../inventory/store.ts'
import { createOperatorMetrics } from '../operator/metrics.ts'
import type { SyncResult } from '../operator/sync/sync.ts'
import { silent } from './log.ts'
import { createMetrics } from './metrics.ts'

const metricsOf = async (url: string) => (await request(`${url}/metrics`)).body.text()

test('the operator and Viola expose the metrics of the catalogue, before and after a sync', async () => {
  const environment = await startOperatorEnvironment()
  try {
    assertCatalogue('viola', await metricsOf(environment.violaUrl))
    await environment.startOperator()
    await eventually(async () => assertCatalogue('operator', await metricsOf(environment.operatorUrl())))
    const subnet = addSubnet(environment.cloudState, { name: 'storage', cidr: '10.10.0.0/24', mtu: 9000 })
    const port = addPort(environment.cloudState, { server: addServer(environment.cloudState, 'worker-1'), subnet })
    setPortStatus(environment.cloudState, port.id, 'ACTIVE')
    await environment.create({})
    await eventually(async () =>
      assert.match(await metricsOf(environment.operatorUrl()), /ports\{.*reason="Selected"\} 1/),
    )
    assertCatalogue('operator', await metricsOf(environment.operatorUrl()))
    assertCatalogue('viola', await metricsOf(environment.violaUrl))
  } finally {
    await environment.close()
  }
})

test('the controller exposes the metrics of the catalogue', async () => {
  const cluster = await startControllerCluster()
  const controller = await cluster.startController()
  try {
    assertCatalogue('controller', await metricsOf(controller.health))
  } finally {
    await controller.stop()
    await cluster.close()
  }
})

test('the inventory exposes the metrics of the catalogue', async () => {
  const dir = await mkdtemp(join(tmpdir(), 'multinic-metrics-'))
  const store = await openStore({ path: join(dir, 'inventory.db'), log: silent })
  const app = createInventoryApp({ store, access: await openToEveryone(), log: silent })
  try {
    const text = async () => (await app.inject({ url: '/metrics' })).body
    assertCatalogue('inventory', await text())
    assert.match(await text(), /^multinic_inventory_database_up 1$/m)
    store.problem = () => 'ECONNREFUSED'
    assert.match(await text(), /^multinic_inventory_database_up 0$/m)
  } finally {
    await app.close()
    await store.close()
    await rm(dir, { recursive: true })
  }
})

test('metrics of a deleted object disappear, and unknown providers share one label', async () => {
  const metrics = createMetrics('operator')
  const counts = createOperatorMetrics(metrics, () => new Date())
  const findings = { verdicts: [{ portId: 'p', vm: 'v', reason: 'Selected', message: '' }], removalsOnHold: ['p'] }
  const shown = async () => (await metrics.text()).match(/config="[^"]*"/g) ?? []
  counts.sync('team/main', { changed: 1, findings, unreadyPorts: ['p'] } as unknown as SyncResult, 1)
  counts.collect()
  assert.equal((await shown()).length, 4)
  counts.forget('team/main')
  assert.deepEqual(await shown(), [])

  const biz = await startTargetCluster()
  const viola = await aViola({ KUBECONFIG: biz.api.kubeconfig })
  try {
    const bodies = Array.from({ length: 520 }, (_, n) => [`made-up-${n}`, aNodeOf(`n-${n}`)] as const)
    for (const [provider, node] of bodies) await viola.post([node], { provider })
    const { body } = await viola.ask('GET', '/metrics')
    const family = parseExposition(body).get('multinic_viola_node_configs_total')
    const providers = new Set(family?.samples.map(({ labels }) => labels['provider']))
    assert.deepEqual([providers.size, providers.has('other')], [501, true])
  } finally {
    await viola.close()
    await biz.close()
  }
})

test('a gauge is removed for one label set or for all', async () => {
  const metrics = createMetrics('viola')
  metrics.set('multinic_viola_target_up', 1, { target: 'a' })
  metrics.set('multinic_viola_target_up', 0, { target: 'b"\n' })
  metrics.forget('multinic_viola_target_up', { target: 'a' })
  const shown = async () => parseExposition(await metrics.text()).get('multinic_viola_target_up')?.samples
  assert.deepEqual(await shown(), [{ name: 'multinic_viola_target_up', labels: { target: 'b"\n' }, value: 0 }])
  metrics.forget('multinic_viola_target_up')
  assert.deepEqual(await shown(), [])
})

const head = '# HELP x_total Words.\n# TYPE x_total counter\n'
const broken: Record<string, string> = {
  'a sample of nobody': 'x_total 1\n',
  'a family twice': `${head}x_total 1\n${head}`,
  'a series twice': `${head}x_total{a="1"} 1\nx_total{a="1"} 2\n`,
  'a quote in a label': `${head}x_total{a="""} 1\n`,
  'no number': `${head}x_total one\n`,
  'a sample of another family': `${head}y_total 1\n`,
  'a text that is cut': `${head}x_total 1`,
}
for (const [what, text] of Object.entries(broken))
  test(`the reader refuses ${what}`, () => assert.throws(() => parseExposition(text)))

test('every garbage collection is counted, also of several that Node reports together', async () => {
  const metrics = createMetrics('viola', { process: true })
  for (let n = 0; n < 5; n++) collectGarbage()
  await eventually(async () => {
    const [, counted] = /gc_duration_seconds_count\{kind="major"\} (\d+)/.exec(await metrics.text()) ?? []
    assert.ok(Number(counted) >= 5, `${counted} of 5`)
  })
})
