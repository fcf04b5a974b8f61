/** The commands against a real operator with its cloud, its Kubernetes API and an inventory. */
import assert from 'node:assert/strict'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { stringify } from 'yaml'
import {
  addPort,
  addServer,
  addSubnet,
  type Port,
  type Server,
  type Subnet,
  setPortStatus,
} from '../../sandbox/cloud/state.ts'
import { openstackConfigFor } from '../../sandbox/lifecycle/install.ts'
import { startStubServer } from '../../test/openstack/stub-server.ts'
import { clusterId, type OperatorEnvironment, startOperatorEnvironment } from '../../test/operator/environment.ts'
import { type Run, runner } from '../../test/support/cli.ts'
import { eventually } from '../../test/support/eventually.ts'
import { openstackConfigs } from '../contract/openstack-config.ts'
import { type RunningInventory, startInventory } from '../inventory/main.ts'
import { silent } from '../telemetry/log.ts'

let dir: string
let environment: OperatorEnvironment
let inventory: RunningInventory
let multinic: Run
let worker: Server
let storage: Subnet
let late: Port

before(async () => {
  dir = await mkdtemp(join(tmpdir(), 'multinic-cli-operator-'))
  environment = await startOperatorEnvironment()
  storage = addSubnet(environment.cloudState, { name: 'storage', cidr: '10.10.0.0/24', mtu: 9000 })
  worker = addServer(environment.cloudState, 'worker-1')
  setPortStatus(
    environment.cloudState,
    addPort(environment.cloudState, { server: worker, subnet: storage }).id,
    'ACTIVE',
  )
  late = addPort(environment.cloudState, { server: worker, subnet: storage })
  setPortStatus(environment.cloudState, late.id, 'BUILD')
  inventory = await startInventory({
    env: {
      INVENTORY_ADDR: '127.0.0.1:0',
      INVENTORY_DB_PATH: join(dir, 'inventory.db'),
      KUBECONFIG: environment.api.kubeconfig,
      INVENTORY_TOKENS_FILE: environment.caller.tokensFile,
    },
    log: silent,
  })
  await environment.startOperator({
    INVENTORY_URL: inventory.url,
    INVENTORY_TOKEN_FILE: environment.caller.tokenFile,
  })
  await environment.create({})
  await eventually(async () => assert.equal((await inventory.recorder.list(clusterId)).length, 1), { within: 20_000 })
  multinic = runner({
    MULTINIC_INVENTORY_URL: inventory.url,
    MULTINIC_OPERATOR_URL: environment.operatorUrl(),
    MULTINIC_TOKEN_FILE: environment.caller.tokenFile,
  })
})
after(async () => {
  await inventory.close()
  await environment.close()
  await rm(dir, { recursive: true })
})

test('why of a port that is not selected yet shows the verdict of the operator', async () => {
  await eventually(async () => {
    const { code, out } = await multinic('why', late.id)
    assert.equal(code, 0)
    assert.match(out, new RegExp(`^port ${late.id} {2}ignored\\n {2}VM worker-1, OpenstackConfig .*/main\\n`))
    assert.match(
      out,
      /the status of the port is BUILD\n {2}→ Wait until the status changes, or extend openstackPortAllowedStatuses\./,
    )
  })
})

test('why of a node shows both of its ports', async () => {
  const { out } = await multinic('why', 'worker-1')
  assert.match(out, /multinic0 .*10\.10\.0\./)
  assert.match(out, new RegExp(`port ${late.id} {2}ignored`))
})

test('plan shows what a change of the object would send', async () => {
  const vmNames = [worker.id]
  const asked = openstackConfigFor(environment.cloudState, {
    name: 'main',
    vmNames,
    subnetIDs: [storage.id],
    clusterId,
  })
  asked.spec.settings = { ...asked.spec.settings, openstackPortAllowedStatuses: ['*'] }
  const file = join(dir, 'main.yaml')
  await writeFile(file, stringify(asked))
  const { code, out } = await multinic('plan', '-f', file)
  assert.equal(code, 0)
  assert.match(out, /1 to send; dry run, nothing was changed\n\n~ worker-1 {2}would be sent/)
  assert.match(out, new RegExp(` {4}port ${late.id} becomes multinic1\n`))
})

test('without an operator, plan shows what the last sync planned, and how old that is', async () => {
  const file = join(dir, 'main.yaml')
  const withoutOperator = ['--operator', 'http://127.0.0.1:1'] as const
  await eventually(async () => {
    const { code, out, notes } = await multinic('plan', '-f', file, ...withoutOperator)
    assert.equal(code, 1)
    assert.match(notes.join('\n'), /cannot reach the operator at http:\/\/127\.0\.0\.1:1: /)
    assert.match(
      out,
      /main \(.*\) {2}1 unchanged; last plan that the operator stored, at 20\S+Z \((now|\d+[smh] ago)\); your file was not planned/,
    )
  })
  const { out } = await multinic('plan', '-f', file, '-o', 'json', ...withoutOperator)
  assert.equal(JSON.parse(out)[0].stored[0].plan.unchanged, 1)
  // The inventory has no plan of it: the error stays.
  const other = join(dir, 'other.yaml')
  await writeFile(other, (await readFile(file, 'utf8')).replace('name: main', 'name: other'))
  const { code, out: nothing, error } = await multinic('plan', '-f', other, ...withoutOperator)
  assert.deepEqual([code, nothing], [2, ''])
  assert.match(error, /cannot reach the operator/)
})

test('a dry run that the operator refuses is not replaced by an old plan', async () => {
  await using refusing = await startStubServer(() => ({ status: 403, body: { status: 403, detail: 'no right' } }))
  const { code, out, error } = await multinic('plan', '-f', join(dir, 'main.yaml'), '--operator', refusing.url)
  assert.deepEqual([code, out], [2, ''])
  assert.match(error, /403|no right/)
})

test('status with a kubeconfig shows the state of the OpenstackConfig', async () => {
  await eventually(async () => {
    const { out } = await multinic('status', '--kubeconfig', environment.api.kubeconfig)
    assert.match(out, /OpenstackConfig multinic-system\/main {2}Ready {2}ports 1\/2 {2}synced (now|\d+s ago)/)
    assert.match(out, /ignored ports: 1 PortStatusNotAllowed/)
    assert.match(
      out,
      /worker-1 {2}Pending\n(.*\n)*.*○ multinic0 {2}Pending {2}10\.10\.0\.\d+\/24 {2}storage {2}mtu 9000/,
    )
  })
})

test('an object whose deletion waits says so in why, status and doctor', async () => {
  const at = { namespace: 'multinic-system', name: 'main' }
  const spec = { settings: { violaEndpoint: 'http://127.0.0.1:9' } }
  await environment.kube.patch(openstackConfigs, at, { spec })
  await environment.kube.delete(openstackConfigs, at)
  const kubeconfig = ['--kubeconfig', environment.api.kubeconfig] as const
  const texts =
    /ECONNREFUSED.*On the nodes: worker-1 multinic0\..*until 20.*Z.*kubectl -n multinic-system patch osc main/
  await eventually(
    async () => {
      const { out } = await multinic('why', 'worker-1')
      assert.match(out, /port \S+ {2}multinic0 {2}selected\n.*\n {2}RemovalPending: /)
      assert.match(out, texts)
    },
    { within: 20_000 },
  )
  const status = (await multinic('status', ...kubeconfig)).out
  assert.match(status, /main {2}not ready {2}being deleted, requested .*\n.*RemovalPending: /)
  assert.match(status, texts)
  const doctor = (await multinic('doctor', ...kubeconfig)).out
  assert.match(doctor, /✗ OpenstackConfig multinic-system\/main is being deleted since 20.*Z: /)
  assert.match(doctor, texts)
})
