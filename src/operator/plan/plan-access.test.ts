/**
 * Who may request a plan, on the operator's own address and on the inventory's.
 *
 * A plan reads Secrets and sends them to the addresses that the posted object names. Whoever gets one without the right to
 * those Secrets can send the credentials of any namespace to a host of their own.
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
import { addServer, addSubnet } from '../../../sandbox/cloud/state.ts'
import { sandboxNamespace as namespace } from '../../../sandbox/lifecycle/components.ts'
import { openstackConfigFor } from '../../../sandbox/lifecycle/install.ts'
import { clusterId, type OperatorEnvironment, startOperatorEnvironment } from '../../../test/operator/environment.ts'
import { grant, type Rule } from '../../../test/support/access.ts'
import { eventually } from '../../../test/support/eventually.ts'
import { someVerdicts } from '../../../test/support/inventory.ts'
import { type OpenstackConfig, openstackConfig } from '../../contract/openstack-config.ts'
import { planAnswer, planPath, verdictsPath } from '../../contract/operator-api.ts'
import { type RunningInventory, startInventory } from '../../inventory/main.ts'
import { silent } from '../../telemetry/log.ts'
import { serveOperatorApi } from '../app.ts'
import { wellKnownSecret } from '../clouds/credentials.ts'

let dir: string
let environment: OperatorEnvironment
let inventory: RunningInventory
let foreignHost: Server
/** Requests that reached the host that the posted object names. */
let received: string[] = []
let tokensFile: string

const configs = (verb: string): Rule => ({
  apiGroups: ['multinic.example.com'],
  resources: ['openstackconfigs'],
  verbs: [verb],
})
const secrets = (...resourceNames: string[]): Rule => ({
  apiGroups: [''],
  resources: ['secrets'],
  verbs: ['get'],
  ...(resourceNames.length > 0 && { resourceNames }),
})
const all = [wellKnownSecret.name, 'own-key', 'viola-token', 'bus-account']

interface Granted {
  rule: Rule
  /** Absent: in all namespaces. */
  namespace?: string
}

/** Every caller but the first lacks one right. */
const callers: Record<string, Granted[]> = {
  complete: [
    { rule: configs('create'), namespace },
    { rule: secrets(...all), namespace },
  ],
  'without-create': [{ rule: configs('list') }, { rule: secrets(), namespace }],
  'without-secrets': [{ rule: configs('create'), namespace }],
  'without-viola-token': [
    { rule: configs('create'), namespace },
    { rule: secrets(wellKnownSecret.name, 'own-key', 'bus-account'), namespace },
  ],
  'without-bus-account': [
    { rule: configs('create'), namespace },
    { rule: secrets(wellKnownSecret.name, 'own-key', 'viola-token'), namespace },
  ],
  'of-another-namespace': [
    { rule: configs('create'), namespace: 'other-cluster' },
    { rule: secrets(), namespace: 'other-cluster' },
  ],
  reader: [{ rule: configs('list') }, { rule: { apiGroups: ['multinic.io'], resources: ['*'], verbs: ['*'] } }],
  busy: [
    { rule: configs('create'), namespace },
    { rule: secrets(...all), namespace },
  ],
}

const tokenOf = (user: string) => `the-token-of-${user}`

before(async () => {
  dir = await mkdtemp(join(tmpdir(), 'multinic-plan-access-'))
  environment = await startOperatorEnvironment()
  addSubnet(environment.cloudState, { name: 'storage', cidr: '10.10.0.0/24', mtu: 9000 })
  addServer(environment.cloudState, 'worker-1')
  tokensFile = join(dir, 'tokens.yaml')
  const tokens = [...Object.keys(callers), 'tester'].map(user => ({ user, token: tokenOf(user) }))
  await writeFile(tokensFile, stringify({ tokens }))
  for (const [user, rules] of Object.entries(callers))
    for (const [namespace, list] of Map.groupBy(rules, rule => rule.namespace))
      await grant(
        environment.kube,
        user,
        list.map(({ rule }) => rule),
        namespace,
      )
  inventory = await startInventory({
    env: {
      INVENTORY_ADDR: '127.0.0.1:0',
      INVENTORY_DB_PATH: join(dir, 'inventory.db'),
      INVENTORY_TOKENS_FILE: tokensFile,
      KUBECONFIG: environment.api.kubeconfig,
    },
    log: silent,
    addRoutes: (app, access) => serveOperatorApi(app, () => environment.apiDeps(), access),
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

/** Its encryption key is in the well-known Secret of the namespace that it claims to be in. */
function attackingConfig(named: OpenstackConfig['spec']['secrets'] = {}): OpenstackConfig {
  const address = `http://127.0.0.1:${(foreignHost.address() as AddressInfo).port}`
  const config = configFor({ contrabassEndpoint: address, violaEndpoint: address })
  return { ...config, spec: { ...config.spec, secrets: named } }
}

async function post(url: string, config: OpenstackConfig, token?: string) {
  const { statusCode, body } = await request(`${url}${planPath}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...(token !== undefined && { authorization: `Bearer ${token}` }) },
    body: JSON.stringify(config),
  })
  return { status: statusCode, answer: (await body.json()) as { detail?: string } }
}

const addresses = { operator: () => environment.operatorUrl(), inventory: () => inventory.url }

async function withOperator(check: (url: string) => Promise<void>): Promise<void> {
  const stop = await environment.startOperator({ OPERATOR_TOKENS_FILE: tokensFile })
  received = []
  try {
    await eventually(async () => assert.equal((await request(`${environment.operatorUrl()}/healthz`)).statusCode, 200))
    for (const url of Object.values(addresses)) await check(url())
  } finally {
    await stop()
  }
}

test('with all rights the posted object makes the operator connect to the host that it names', async () => {
  assert.ok(openstackConfig.safeParse(attackingConfig()).success)
  await withOperator(async url => {
    received = []
    assert.equal((await post(url, attackingConfig(), tokenOf('complete'))).status, 200)
    assert.notDeepEqual(received, [])
  })
})

test('a caller with all rights gets a plan', async () => {
  await withOperator(async url => {
    const { status, answer } = await post(url, configFor(), tokenOf('complete'))
    assert.equal(status, 200)
    assert.equal(planAnswer.parse(answer).error, undefined)
  })
})

test('an unknown or missing token is refused, and no request reaches the named host', async () => {
  await withOperator(async url => {
    for (const token of [undefined, 'a-token-that-is-wrong'])
      assert.equal((await post(url, attackingConfig(), token)).status, 401)
  })
  assert.deepEqual(received, [])
})

const ref = (name: string) => ({ name, key: 'value' })
const lacking: Record<string, [config: () => OpenstackConfig, refusal: RegExp]> = {
  'without-create': [
    attackingConfig,
    /may not create openstackconfigs\.multinic\.example\.com in namespace multinic-system/,
  ],
  'without-secrets': [attackingConfig, /may not get secrets contrabass-encrypt-key in namespace multinic-system/],
  'without-viola-token': [
    () => attackingConfig({ violaTokenSecretRef: ref('viola-token') }),
    /may not get secrets viola-token in namespace multinic-system/,
  ],
  'without-bus-account': [
    () => attackingConfig({ rabbitmqSecretRef: { name: 'bus-account' } }),
    /may not get secrets bus-account in namespace multinic-system/,
  ],
  'of-another-namespace': [attackingConfig, /may not create openstackconfigs/],
  reader: [attackingConfig, /may not create openstackconfigs/],
  complete: [
    () => attackingConfig({ contrabassEncryptKeySecretRef: ref('a-secret-of-others') }),
    /may not get secrets a-secret-of-others/,
  ],
}
for (const [user, [config, refusal]] of Object.entries(lacking))
  test(`a caller ${user} is refused, and no request reaches the named host`, async () => {
    await withOperator(async url => {
      const { status, answer } = await post(url, config(), tokenOf(user))
      assert.equal(status, 403)
      assert.match(answer.detail ?? '', refusal)
    })
    assert.deepEqual(received, [])
  })

test('the rights are those of the namespace that the object claims, and it must claim one', async () => {
  await withOperator(async url => {
    const config = attackingConfig()
    const moved = { ...config, metadata: { ...config.metadata, namespace: 'kube-system' } }
    assert.equal((await post(url, moved, tokenOf('complete'))).status, 403)
    const { namespace: _, ...metadata } = config.metadata
    assert.equal((await post(url, { ...config, metadata }, tokenOf('complete'))).status, 400)
  })
  assert.deepEqual(received, [])
})

test('verdicts need the right to list OpenstackConfigs, or to get the one that is asked for', async () => {
  const one: Rule = { ...configs('get'), resourceNames: ['main'] }
  await grant(environment.kube, 'tester', [one], namespace)
  await inventory.recorder.put([], [someVerdicts([])])
  const statusOf = async (user: string, query = '') => {
    const headers = { authorization: `Bearer ${tokenOf(user)}` }
    return (await request(`${inventory.url}${verdictsPath}${query}`, { headers })).statusCode
  }
  assert.equal((await request(`${inventory.url}${verdictsPath}`)).statusCode, 401)
  assert.equal(await statusOf('reader'), 200)
  assert.equal(await statusOf('complete'), 403)
  assert.equal(await statusOf('tester'), 403)
  assert.equal(await statusOf('tester', `?config=${namespace}/main`), 200)
  assert.equal(await statusOf('tester', `?config=${namespace}/other`), 403)
})

test('a caller who requests too many plans gets a 429, and others do not', async () => {
  const stop = await environment.startOperator({ OPERATOR_TOKENS_FILE: tokensFile })
  try {
    await eventually(async () => assert.equal((await request(`${environment.operatorUrl()}/healthz`)).statusCode, 200))
    const [operator, second] = Object.values(addresses).map(url => url()) as [string, string]
    const statuses: number[] = []
    for (let i = 0; i < 40 && !statuses.includes(429); i++)
      statuses.push((await post(i % 2 ? operator : second, configFor(), tokenOf('busy'))).status)
    assert.ok(statuses.includes(429), 'the limit counts the plans of both addresses')
    assert.equal((await post(operator, configFor(), tokenOf('complete'))).status, 200)
  } finally {
    await stop()
  }
})
