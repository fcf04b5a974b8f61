/** Broken requests to Viola, the inventory and the operator get a documented response with the field, never a server error. */
import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import fc from 'fast-check'
import { createCloudState } from '../../sandbox/cloud/state.ts'
import { openstackConfigFor } from '../../sandbox/lifecycle/install.ts'
import { recordsPath } from '../../src/contract/inventory.ts'
import { planPath, verdictsPath } from '../../src/contract/operator-api.ts'
import { problem } from '../../src/contract/problem.ts'
import { violaPath } from '../../src/contract/viola.ts'
import { startInventory } from '../../src/inventory/main.ts'
import { createOperatorApp } from '../../src/operator/app.ts'
import { createPlanLimit } from '../../src/operator/limits/plan-limit.ts'
import { createLog, type Log } from '../../src/telemetry/log.ts'
import { createMetrics } from '../../src/telemetry/metrics.ts'
import { accessOf, adminCaller } from '../support/access.ts'
import { someVerdicts } from '../support/inventory.ts'
import { seeds } from '../support/inventory-fuzz.ts'
import { startTargetCluster } from '../support/target-cluster.ts'
import { aNodeOf, aViola } from '../support/viola.ts'
import { brokenBytes, brokenTexts } from './broken-inputs.ts'
import { fuzz } from './fuzz.ts'

/** A log that keeps the errors of a server. */
function errorLog(): { log: Log; failures: string[] } {
  const failures: string[] = []
  return { log: createLog({}, { level: 'error', write: line => failures.push(line) }), failures }
}

/** Texts that a header or a URL can contain. */
const inHeader = (samples: string[]) =>
  brokenTexts(samples).map(text => text.replace(/[^\x20-\x7e]/g, '').slice(0, 4_000))
const inPath = (samples: string[]) =>
  brokenTexts(samples).map(text => encodeURIComponent(text.toWellFormed()).slice(0, 6_000))

/** A problem document names the field, header, URL or body that is wrong. */
function checkProblem(status: number, body: string): void {
  const document = problem.parse(JSON.parse(body))
  assert.equal(document.status, status)
  assert.ok(document.detail !== '', body)
  for (const { message } of document.errors ?? []) assert.ok(message !== '', body)
}

test('broken requests to Viola: POST, GET and DELETE', async () => {
  const biz = await startTargetCluster()
  const { log, failures } = errorLog()
  const viola = await aViola({ KUBECONFIG: biz.api.kubeconfig }, log)
  const provider = fc.oneof({ weight: 5, arbitrary: fc.constant('p1') }, inHeader(['p1', 'provider-2']))
  const post = fc.record({
    method: fc.constant('POST' as const),
    path: fc.constant(violaPath),
    body: brokenBytes([[aNodeOf('w1', 2, { expectedSpecHash: 'none' })], [aNodeOf('w1', 2), aNodeOf('w2', 1)]]),
  })
  const query = (name: string) => inPath(['w1', 'abc']).map(text => `${violaPath}?${name}=${text}`)
  const get = fc.record({ method: fc.constant('GET' as const), path: fc.oneof(query('nodeName'), query('since')) })
  const names = inPath(['w1', 'Worker_2'])
  const remove = fc.record({ method: fc.constant('DELETE' as const), path: names.map(text => `${violaPath}/${text}`) })
  try {
    await fuzz(
      fc.tuple(fc.oneof({ weight: 8, arbitrary: post }, get, remove), provider),
      async ([{ method, path, ...more }, id]) => {
        const { status, body } = await viola.ask(method, path, { provider: id, ...more })
        assert.ok([200, 204, 304, 400, 404, 405, 409, 413, 414].includes(status), `${status} ${body}`)
        if (status >= 400 && status !== 409) checkProblem(status, body)
        return String(status)
      },
      { atLeast: { 200: 500, 204: 300, 400: 2_000 } },
    )
    assert.deepEqual(failures, [])
  } finally {
    await viola.close()
    await biz.close()
  }
})

test('broken writes to the inventory, and broken requests for verdicts', async () => {
  const dir = await mkdtemp(join(tmpdir(), 'multinic-fuzz-'))
  const cluster = await startTargetCluster()
  const { token, tokensFile } = await adminCaller(dir)
  const { log, failures } = errorLog()
  type Answer = Promise<{ statusCode: number; body: string }>
  let put: ((body: Buffer) => Answer) | undefined
  let get: ((url: string) => Answer) | undefined
  const ignored = { vm: 'vm-1', portId: 'port-1', reason: 'PortNotBound', message: 'the port has no device owner yet' }
  const inventory = await startInventory({
    env: {
      INVENTORY_ADDR: '127.0.0.1:0',
      INVENTORY_DB_PATH: join(dir, 'inventory.db'),
      INVENTORY_TOKENS_FILE: tokensFile,
      KUBECONFIG: cluster.api.kubeconfig,
      INVENTORY_RATE_LIMIT: '0',
    },
    log,
    addRoutes: app => {
      const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
      put = payload => app.inject({ method: 'PUT', url: recordsPath, headers, payload })
      get = url => app.inject({ url, headers: { authorization: headers.authorization } })
    },
  })
  try {
    await fuzz(
      brokenBytes(seeds.map(write => ({ records: [write], verdicts: [someVerdicts([ignored], { after: 'vm' })] }))),
      async body => {
        const response = (await put?.(body)) ?? assert.fail()
        assert.ok([200, 204, 400, 413].includes(response.statusCode), `${response.statusCode} ${response.body}`)
        if (response.statusCode >= 400) checkProblem(response.statusCode, response.body)
        return String(response.statusCode)
      },
      { atLeast: { 200: 200, 400: 2_000 } },
    )
    await fuzz(
      fc.tuple(
        fc.constantFrom('config', 'port', 'vm', 'providerId', 'selected', 'limit', 'cursor'),
        inPath(['multinic-system/main', '10', 'true']),
      ),
      async ([name, text]) => {
        const response = (await get?.(`${verdictsPath}?${name}=${text}`)) ?? assert.fail()
        assert.ok([200, 400].includes(response.statusCode), `${response.statusCode} ${response.body}`)
        if (response.statusCode >= 400) checkProblem(response.statusCode, response.body)
        return String(response.statusCode)
      },
      { atLeast: { 200: 500, 400: 500 } },
    )
    assert.deepEqual(failures, [])
  } finally {
    await inventory.close()
    await cluster.close()
    await rm(dir, { recursive: true })
  }
})

test('broken dry runs', async () => {
  const cloudState = createCloudState()
  const config = openstackConfigFor(cloudState, {
    name: 'main',
    vmNames: ['vm-1'],
    subnetIDs: ['s-1'],
    clusterId: 'biz-1',
  })
  const { log, failures } = errorLog()
  const cluster = await startTargetCluster()
  const { token, tokensFile } = await adminCaller(cluster.dir)
  const verdict = { vm: 'vm-1', portId: 'port-1', reason: 'VmNotFound' as const, message: 'gone' }
  const plan = { nodes: [], verdicts: [verdict], removalsOnHold: [] }
  const app = createOperatorApp({
    log,
    metrics: createMetrics('operator'),
    ready: () => [],
    isLeader: () => true,
    access: await accessOf(cluster.api.kubeconfig, tokensFile, 'OPERATOR'),
    planLimit: createPlanLimit(1e9),
    dryRun: async () => ({ plan, cloudState: {} }) as never,
  })
  const authorization = { authorization: `Bearer ${token}` }
  const post = fc.record({
    method: fc.constant('POST' as const),
    url: fc.constant(planPath),
    payload: brokenBytes([config]),
    headers: fc.constant({ ...authorization, 'content-type': 'application/json' }),
  })
  try {
    await fuzz(
      post,
      async input => {
        const response = await app.inject(input)
        assert.ok([200, 400, 413].includes(response.statusCode), `${response.statusCode} ${response.body}`)
        if (response.statusCode >= 400) checkProblem(response.statusCode, response.body)
        return String(response.statusCode)
      },
      { atLeast: { 200: 500, 400: 2_000 } },
    )
    assert.deepEqual(failures, [])
  } finally {
    await app.close()
    await cluster.close()
  }
})
