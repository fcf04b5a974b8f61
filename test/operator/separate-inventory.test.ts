/** The operator and a separate inventory, over real HTTP. */
import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, test } from 'node:test'
import { addPort, addServer, addSubnet, setPortStatus } from '../../sandbox/cloud/state.ts'
import { type RunningInventory, startInventory } from '../../src/inventory/main.ts'
import { silent } from '../../src/telemetry/log.ts'
import { grant, rules } from '../support/access.ts'
import { eventually } from '../support/eventually.ts'
import { type OperatorEnvironment, startOperatorEnvironment } from './environment.ts'

const token = 'a-token-of-the-operator'
let dir: string
let environment: OperatorEnvironment
let inventory: RunningInventory

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'multinic-inventory-'))
  await writeFile(join(dir, 'token'), `${token}\n`)
  await writeFile(join(dir, 'tokens.yaml'), `tokens:\n  - { user: operator, token: ${token} }\n`)
  environment = await startOperatorEnvironment()
  await grant(environment.kube, 'operator', [rules.readInventory, rules.writeProvider()])
  const server = addServer(environment.cloudState, 'worker-1')
  const subnet = addSubnet(environment.cloudState, { name: 'storage', cidr: '10.10.0.0/24', mtu: 9000 })
  setPortStatus(
    environment.cloudState,
    addPort(environment.cloudState, { server, subnet, address: '10.10.0.10' }).id,
    'ACTIVE',
  )
  inventory = await openInventory('127.0.0.1:0')
})
afterEach(async () => {
  await environment.close()
  await inventory.close()
  await rm(dir, { recursive: true, force: true })
})

function openInventory(address: string): Promise<RunningInventory> {
  const env = {
    INVENTORY_ADDR: address,
    INVENTORY_DB_PATH: join(dir, 'inventory.db'),
    INVENTORY_TOKENS_FILE: join(dir, 'tokens.yaml'),
    KUBECONFIG: environment.api.kubeconfig,
  }
  return startInventory({ env, log: silent })
}

async function nodeNames(): Promise<string[]> {
  const headers = { authorization: `Bearer ${token}` }
  const answer = await fetch(`${inventory.url}/v1/inventory/node-configs`, { headers })
  assert.equal(answer.status, 200)
  const records = (await answer.json()) as { nodeName: string }[]
  return records.map(({ nodeName }) => nodeName)
}

const within = { within: 30_000 }

test('records are written with the token of the file', async () => {
  await environment.startOperator({ INVENTORY_URL: inventory.url, INVENTORY_TOKEN_FILE: join(dir, 'token') })
  await environment.create({})
  await eventually(async () => assert.deepEqual(await nodeNames(), ['worker-1']), within)
})

test('nodes are delivered while the inventory is down, and recorded when it is back', async () => {
  const { url } = inventory
  await inventory.close()
  await environment.startOperator({ INVENTORY_URL: url, INVENTORY_TOKEN_FILE: join(dir, 'token') })
  await environment.create({})
  await eventually(
    async () => assert.deepEqual(await environment.deliveredTexts(), ['worker-1: multinic0=10.10.0.10']),
    within,
  )
  inventory = await openInventory(new URL(url).host)
  await eventually(async () => assert.deepEqual(await nodeNames(), ['worker-1']), within)
})
