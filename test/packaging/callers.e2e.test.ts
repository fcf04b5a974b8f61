/**
 * The right of the operator, the inventory and Viola to ask a real API server about their callers, and that of the operator to
 * write through Viola: each rule that the chart binds is removed once. rbac.e2e.test.ts and real.e2e.test.ts do the same for the
 * rest.
 */
import assert from 'node:assert/strict'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { request } from 'undici'
import { parseAllDocuments } from 'yaml'
import { createCloudState } from '../../sandbox/cloud/state.ts'
import { openstackConfigFor } from '../../sandbox/lifecycle/install.ts'
import { planPath } from '../../src/contract/operator-api.ts'
import { inventoryPath } from '../../src/inventory/api.ts'
import { startInventory } from '../../src/inventory/main.ts'
import type { KubeObject } from '../../src/kube/types.ts'
import { runOperator } from '../../src/operator/main.ts'
import { silent } from '../../src/telemetry/log.ts'
import { type ControlPlane, kubeconfigText } from '../rigs/kubernetes/control-plane.ts'
import { startControlPlane } from '../rigs/kubernetes/rig.ts'
import { type Rule, root, without } from '../support/audited-cluster.ts'
import { eventually } from '../support/eventually.ts'
import { aNodeOf, aViola } from '../support/viola.ts'

const namespace = 'multinic-system'
const within = 60_000
let cp: ControlPlane

before(async () => {
  cp = await startControlPlane()
  await kubectl('create', 'namespace', namespace)
  await kubectl('apply', '--filename', join(root, 'config/crd/bases'))
  await kubectl('wait', '--for=condition=Established', '--timeout=60s', 'crd', '--all')
  const chart = parseAllDocuments(await readFile(join(root, 'test/golden/helm/everything.yaml'), 'utf8'))
  const objects = chart.flatMap(document => (document.toJS() as KubeObject | null) ?? [])
  await apply(...objects.filter(({ kind }) => /^(ServiceAccount|(Cluster)?Role(Binding)?)$/.test(kind)))
})
after(() => cp?.close())

const kubectl = async (...args: string[]) => (await cp.exec('kubectl', args)).stdout

async function apply(...items: object[]): Promise<void> {
  const input = JSON.stringify({ apiVersion: 'v1', kind: 'List', items })
  await cp.exec('kubectl', ['apply', '--server-side', '--force-conflicts', '--filename', '-'], { input })
}

async function kubeconfigOf(account: string): Promise<string> {
  const token = (await kubectl('create', 'token', account, '--namespace', namespace)).trim()
  const path = join(cp.dir, `${account}.kubeconfig`)
  await writeFile(path, kubeconfigText(cp.server, cp.authority.cert, { token }), { mode: 0o600 })
  return path
}

/** Headers of a caller. */
async function headersOf(account: string): Promise<{ authorization: string }> {
  const token = await kubectl('create', 'token', account, '--namespace', namespace, '--audience=multinic')
  return { authorization: `Bearer ${token.trim()}` }
}

const rulesOf = async (role: string) =>
  (JSON.parse(await kubectl('get', 'clusterrole', role, '--output', 'json')) as { rules: Rule[] }).rules

/** The permissions in rules, as `create tokenreviews`. */
const permissionsIn = (rules: readonly Rule[]) =>
  rules.flatMap(({ resources, verbs }) => resources.flatMap(resource => verbs.map(verb => `${verb} ${resource}`)))

/** Binds the account to these rules instead, and waits until the API server uses them. */
async function bind(binding: string, account: string, rules: Rule[], missing: { rule: Rule; permission: string }) {
  const group = 'rbac.authorization.k8s.io'
  const role = { apiVersion: `${group}/v1`, kind: 'ClusterRole', metadata: { name: `reduced-${binding}` }, rules }
  await kubectl('delete', 'clusterrolebinding', binding, '--ignore-not-found')
  await apply(role, {
    ...{ apiVersion: `${group}/v1`, kind: 'ClusterRoleBinding', metadata: { name: binding } },
    roleRef: { apiGroup: group, kind: 'ClusterRole', name: role.metadata.name },
    subjects: [{ kind: 'ServiceAccount', name: account, namespace }],
  })
  const [verb = '', resource = ''] = missing.permission.split(' ')
  const allowed = permissionsIn(rules).includes(missing.permission) ? 'yes' : 'no'
  const as = `--as=system:serviceaccount:${namespace}:${account}`
  await eventually(
    async () => {
      const question = ['auth', 'can-i', verb, `${resource}.${missing.rule.apiGroups[0]}`, '--all-namespaces', as]
      const { stdout } = await cp.exec('kubectl', question, { check: false })
      assert.equal(stdout.trim(), allowed)
    },
    { within, every: 100 },
  )
}

interface Server {
  /** Status and body of a request by this caller. */
  read(headers: { authorization: string }): Promise<string>
  close(): Promise<unknown>
}

async function answer(url: string, headers: { authorization: string }, posted?: unknown): Promise<string> {
  const { statusCode, body } = await request(url, {
    headers: { ...headers, ...(posted !== undefined && { 'content-type': 'application/json' }) },
    ...(posted !== undefined && { method: 'POST', body: JSON.stringify(posted) }),
  })
  return `${statusCode} ${await body.text()}`
}

const selection = { name: 'main', vmNames: ['vm-1'], subnetIDs: ['s-1'], clusterId: 'biz-1' }
const config = openstackConfigFor(createCloudState(), selection)

/** By ServiceAccount of the chart. */
const servers: Record<string, (KUBECONFIG: string) => Promise<Server>> = {
  async 'multinic-operator'(KUBECONFIG) {
    const end = new AbortController()
    const listening = Promise.withResolvers<string>()
    const nobody = 'http://127.0.0.1:9'
    const env = {
      ...{ KUBECONFIG, OPERATOR_ADDR: '127.0.0.1:0', POD_NAMESPACE: namespace, WATCH_NAMESPACES: namespace },
      ...{ RABBITMQ_EVENTS_ENABLED: 'false', CONTRABASS_ENDPOINT: nobody, VIOLA_ENDPOINT: nobody },
    }
    const ended = runOperator({ env, log: silent, signal: end.signal, onListen: listening.resolve })
    ended.catch(listening.reject)
    const url = await listening.promise
    return {
      read: headers => answer(`${url}${planPath}`, headers, config),
      async close() {
        end.abort()
        await ended
      },
    }
  },
  async 'multinic-inventory'(KUBECONFIG) {
    const env = { KUBECONFIG, INVENTORY_ADDR: '127.0.0.1:0', INVENTORY_DB_PATH: join(cp.dir, 'inventory.db') }
    const { url, close } = await startInventory({ env, log: silent })
    return { read: headers => answer(`${url}${inventoryPath}`, headers), close }
  },
  async 'viola-api'(KUBECONFIG) {
    const viola = await aViola({ KUBECONFIG, VIOLA_ANONYMOUS_ACCESS: 'false', TARGET_NAMESPACE: namespace })
    const read = async (headers: { authorization: string }) => {
      const { status, body } = await viola.list('', { headers })
      return `${status} ${body}`
    }
    return { read, close: viola.close }
  },
}

for (const [account, start] of Object.entries(servers))
  test(`${account} needs each right to ask about its callers`, async () => {
    const binding = `${namespace}-${account}-callers`
    const rules = await rulesOf('system:auth-delegator')
    const readWith = async (): Promise<string> => {
      const server = await start(await kubeconfigOf(account))
      try {
        return await server.read(await headersOf('multinic-reader'))
      } finally {
        await server.close()
      }
    }
    // A reader may not request a plan: the operator has asked about both the caller and the right.
    assert.match(await readWith(), account === 'multinic-operator' ? /^403 .*may not create/ : /^200 /)
    for (const rule of rules)
      for (const permission of permissionsIn([rule])) {
        await bind(binding, account, without(permission)(rules), { rule, permission })
        assert.match(await readWith(), /^503 .*cannot check the caller/s, permission)
      }
  })

test('the operator needs each right to read and write through Viola', async () => {
  const account = 'multinic-operator'
  const rules = await rulesOf('multinic-provider-writer')
  const [rule] = rules
  assert.ok(rule)
  const delegator = await rulesOf('system:auth-delegator')
  const [asks] = delegator
  assert.ok(asks)
  const permission = permissionsIn([asks])[0] ?? ''
  await bind(`${namespace}-viola-api-callers`, 'viola-api', delegator, { rule: asks, permission })
  const statuses = async () => {
    const viola = await aViola({
      ...{ KUBECONFIG: await kubeconfigOf('viola-api'), TARGET_NAMESPACE: namespace },
      VIOLA_ANONYMOUS_ACCESS: 'false',
    })
    const headers = await headersOf(account)
    try {
      return [(await viola.list('', { headers })).status, (await viola.post([aNodeOf('w1')], { headers })).status]
    } finally {
      await viola.close()
    }
  }
  assert.deepEqual(await statuses(), [200, 200])
  const refused: Record<string, number[]> = { 'get providers': [403, 200], 'update providers': [200, 403] }
  assert.deepEqual(permissionsIn(rules).sort(), Object.keys(refused))
  for (const [permission, expected] of Object.entries(refused)) {
    const binding = `${namespace}-multinic-operator-providers`
    await bind(binding, account, without(permission)(rules), { rule, permission })
    assert.deepEqual(await statuses(), expected, permission)
  }
})
