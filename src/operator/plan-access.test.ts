/**
 * Who may request a plan, on the operator's own address and on the inventory's.
 *
 * A plan reads Secrets and connects to the addresses that the posted object names. Whoever gets one without a token can
 * send the credentials of any namespace to a host of their own.
 */
import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { request } from 'undici'
import { stringify } from 'yaml'
import { addServer, addSubnet } from '../../sandbox/cloud/state.ts'
import { openstackConfigFor } from '../../sandbox/lifecycle/install.ts'
import { clusterId, type OperatorEnvironment, startOperatorEnvironment } from '../../test/operator/environment.ts'
import { eventually } from '../../test/support/eventually.ts'
import { type OpenstackConfig, openstackConfig } from '../contract/openstack-config.ts'
import { planAnswer, planPath, verdictsPath } from '../contract/operator-api.ts'
import { type RunningInventory, startInventory } from '../inventory/main.ts'
import { silent } from '../telemetry/log.ts'
import { serveOperatorApi } from './app.ts'

let dir: string
let environment: OperatorEnvironment
let inventory: RunningInventory
let foreignHost: Server
/** Requests that reached the host that the posted object names. */
let received: string[] = []

before(async () => {
  dir = await mkdtemp(join(tmpdir(), 'multinic-plan-access-'))
  environment = await startOperatorEnvironment()
  addSubnet(environment.cloudState, { name: 'storage', cidr: '10.10.0.0/24', mtu: 9000 })
  addServer(environment.cloudState, 'worker-1')
  inventory = await startInventory({
    env: { INVENTORY_ADDR: '127.0.0.1:0', INVENTORY_DB_PATH: join(dir, 'inventory.db') },
    log: silent,
    addRoutes: (app, { mayRead }) => serveOperatorApi(app, () => environment.apiDeps(), mayRead),
  })
  foreignHost = createServer(({ method, url }, response) => {
    received.push(`${method} ${url}`)
    response.writeHead(404).end('{}')
  })
  await new Promise<void>(resolve => foreignHost.listen(0, '127.0.0.1', resolve))
})
after(async () => {
  foreignHost?.close()
  await inventory?.close()
  await environment?.close()
  await rm(dir, { recursive: true })
})

function configFor(settings: OpenstackConfig['spec']['settings'] = {}): OpenstackConfig {
  const [vmNames, subnetIDs] = [[...environment.cloudState.servers.keys()], [...environment.cloudState.subnets.keys()]]
  const config = openstackConfigFor(environment.cloudState, { name: 'posted', vmNames, subnetIDs, clusterId })
  return { ...config, spec: { ...config.spec, settings: { ...config.spec.settings, ...settings } } }
}

/** Its encryption key is in the Secret of the namespace that it claims to be in. */
function attackingConfig(): OpenstackConfig {
  const address = `http://127.0.0.1:${(foreignHost.address() as AddressInfo).port}`
  return configFor({ contrabassEndpoint: address, violaEndpoint: address })
}

async function post(url: string, config: OpenstackConfig, token?: string) {
  const { statusCode, body } = await request(`${url}${planPath}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...(token !== undefined && { authorization: `Bearer ${token}` }) },
    body: JSON.stringify(config),
  })
  return { status: statusCode, answer: await body.json() }
}

const addresses = { operator: () => environment.operatorUrl(), inventory: () => inventory.url }

async function withOperator(env: Record<string, string>, check: (url: string) => Promise<void>): Promise<void> {
  const stop = await environment.startOperator(env)
  received = []
  try {
    await eventually(async () => assert.equal((await request(`${environment.operatorUrl()}/healthz`)).statusCode, 200))
    for (const url of Object.values(addresses)) await check(url())
  } finally {
    await stop()
  }
}

test('the posted object makes the operator connect to the host that it names', async () => {
  assert.ok(openstackConfig.safeParse(attackingConfig()).success)
  await withOperator({ OPERATOR_TOKENS_FILE: environment.caller.tokensFile }, async url => {
    received = []
    assert.equal((await post(url, attackingConfig(), environment.caller.token)).status, 200)
    assert.notDeepEqual(received, [])
  })
})

test('without configured tokens a plan is refused, and no request reaches the named host', async () => {
  await withOperator({}, async url => {
    for (const token of [undefined, environment.caller.token]) {
      const { status, answer } = await post(url, attackingConfig(), token)
      assert.equal(status, 403)
      assert.match((answer as { detail: string }).detail, /set OPERATOR_TOKENS_FILE or INVENTORY_TOKENS_FILE$/)
    }
    assert.equal((await request(`${url}${verdictsPath}`)).statusCode, 200)
  })
  assert.deepEqual(received, [])
})

test('an unknown or missing token is refused, and no request reaches the named host', async () => {
  await withOperator({ OPERATOR_TOKENS_FILE: environment.caller.tokensFile }, async url => {
    for (const token of [undefined, 'a-token-that-is-wrong'])
      assert.equal((await post(url, attackingConfig(), token)).status, 401)
    if (url === environment.operatorUrl()) assert.equal((await request(`${url}${verdictsPath}`)).statusCode, 401)
  })
  assert.deepEqual(received, [])
})

test('a token for another Biz cluster is refused, and no request reaches the named host', async () => {
  const file = join(dir, 'other.yaml')
  await writeFile(file, stringify({ tokens: [{ name: 'other', token: '0123456789abcdef', providers: ['other'] }] }))
  await withOperator({ OPERATOR_TOKENS_FILE: file }, async url => {
    assert.equal((await post(url, attackingConfig(), '0123456789abcdef')).status, 403)
  })
  assert.deepEqual(received, [])
})

for (const setting of ['OPERATOR_TOKENS_FILE', 'INVENTORY_TOKENS_FILE'])
  test(`a caller of ${setting} gets a plan`, async () => {
    await withOperator({ [setting]: environment.caller.tokensFile }, async url => {
      const { status, answer } = await post(url, configFor(), environment.caller.token)
      assert.equal(status, 200)
      assert.equal(planAnswer.parse(answer).error, undefined)
    })
  })
