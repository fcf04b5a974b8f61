/**
 * Plants known secrets in a sandbox, makes everything fail once, and then searches every log, status, Event, database, metric,
 * trace, node file and support bundle for them.
 */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { gunzipSync } from 'node:zlib'
import { request } from 'undici'
import { stringify } from 'yaml'
import { sandboxNamespace as namespace } from '../../sandbox/lifecycle/components.ts'
import { installEncryptKey } from '../../sandbox/lifecycle/install.ts'
import { bizConfigs } from '../../src/contract/legacy/biz-config.ts'
import { nodeConfigs } from '../../src/contract/node-config.ts'
import { openstackConfigs } from '../../src/contract/openstack-config.ts'
import { violaPath } from '../../src/contract/viola.ts'
import { events, jobs, leases, nodes, pods, secrets } from '../../src/kube/resources.ts'
import type { Resource } from '../../src/kube/types.ts'
import { environment } from '../../src/runtime/env.ts'
import { eventually } from '../support/eventually.ts'
import { startTestSandbox, type TestSandbox } from '../system/sandbox.fixture.ts'
import { type Collector, collectTraces, type Recording, recordSecrets } from './recording.ts'

const configMaps: Resource = { group: '', version: 'v1', kind: 'ConfigMap', plural: 'configmaps', namespaced: true }
const canary = (name: string) => `canary-${name}-${randomBytes(9).toString('hex')}`
const planted = {
  violaToken: canary('viola-token'),
  inventoryToken: canary('inventory-token'),
  wrongToken: canary('wrong-token'),
  busPassword: canary('bus-password'),
  ownBusPassword: canary('own-bus-password'),
  databasePassword: canary('database-password'),
  kubeconfigKey: canary('kubeconfig-key'),
  kubeconfigToken: canary('kubeconfig-token'),
  traceHeader: canary('trace-header'),
  deprecatedKey: canary('key-in-object').slice(0, 32),
}

let system: TestSandbox
let recording: Recording
let collector: Collector
let dir: string

before(async () => {
  dir = await mkdtemp(join(tmpdir(), 'multinic-canary-'))
  const file = async (name: string, text: string) => {
    await writeFile(join(dir, name), text, { mode: 0o600 })
    return join(dir, name)
  }
  const caller = (token: string) => stringify({ tokens: [{ user: 'operator', groups: ['system:masters'], token }] })
  recording = await recordSecrets(() => system.sandbox.cloud.urls.contrabass)
  collector = await collectTraces()
  system = await startTestSandbox({
    nodes: 1,
    withConfig: false,
    env: {
      LOG_LEVEL: 'debug',
      CONTRABASS_ENDPOINT: recording.url,
      VIOLA_TOKENS_FILE: await file('viola-tokens.yaml', caller(planted.violaToken)),
      VIOLA_TOKEN_FILE: await file('viola-token', planted.violaToken),
      INVENTORY_TOKENS_FILE: await file('inventory-tokens.yaml', caller(planted.inventoryToken)),
      INVENTORY_ANONYMOUS_ACCESS: 'true',
      RABBITMQ_USER: 'operator',
      RABBITMQ_PASSWORD: planted.ownBusPassword,
      RABBITMQ_URLS: 'amqp://127.0.0.1:1/',
      OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
      OTEL_EXPORTER_OTLP_HEADERS: `authorization=${planted.traceHeader}`,
    },
  })
  // Nothing listens there: the connection fails, and the component reports the error.
  system.sandbox.cloudState.bus = { urls: ['amqp://127.0.0.1:1/'], user: 'cloud', password: planted.busPassword }
})
after(async () => {
  await system.stop()
  await recording[Symbol.asyncDispose]()
  await collector[Symbol.asyncDispose]()
  await rm(dir, { recursive: true })
})

/** All collected texts by their place. */
const collected = new Map<string, string | Buffer>()

async function collectAll(): Promise<void> {
  const { sandbox } = system
  for (const [cluster, { kube }] of Object.entries({ management: sandbox.management, biz: sandbox.biz }))
    for (const resource of [
      openstackConfigs,
      nodeConfigs,
      bizConfigs,
      events,
      jobs,
      pods,
      nodes,
      configMaps,
      leases,
    ] as Resource[]) {
      const { items } = await kube.list(resource)
      const old = String(collected.get(`${cluster} ${resource.plural}`) ?? '')
      collected.set(`${cluster} ${resource.plural}`, old + JSON.stringify(items))
    }
  for (const component of ['operator', 'viola', 'controller', 'inventory'])
    for (const path of [
      '/metrics',
      '/readyz',
      '/healthz',
      '/openapi.json',
      '/v1/inventory/node-configs',
      '/v1/operator/verdicts',
    ]) {
      const { body } = await request(`${sandbox.urls[component]}${path}`)
      collected.set(`${component}${path}`, await body.text())
    }
  for (const path of await filesIn(sandbox.state.path('logs'))) collected.set(path, await readFile(path))
  for (const { root } of sandbox.nodes.values())
    for (const path of await filesIn(root)) collected.set(path, await readFile(path).catch(() => ''))
  for (const path of await filesIn(sandbox.state.path('pods')))
    collected.set(path, await readFile(path).catch(() => ''))
  for (const end of ['', '-wal', '-shm']) {
    const database = sandbox.state.path(`inventory.db${end}`)
    if (existsSync(database)) collected.set(database, await readFile(database))
  }
  collected.set('traces', collector.bodies.join('\n'))
}

async function filesIn(folder: string): Promise<string[]> {
  if (!existsSync(folder)) return []
  const found = await readdir(folder, { recursive: true, withFileTypes: true })
  return found.filter(entry => entry.isFile()).map(entry => join(entry.parentPath, entry.name))
}

/** The Ready condition of the object as text. */
async function ready(): Promise<string> {
  const { status } = await system.openstackConfig('canary')
  const condition = status?.conditions?.find(({ type }) => type === 'Ready')
  return `${condition?.status} ${condition?.reason}: ${condition?.message}`
}
const waitForReady = (pattern: RegExp) =>
  eventually(async () => assert.match(await ready(), pattern), { within: 60_000 })

test('everything in the chain fails once', async () => {
  const { cloudState, management, cloud } = system.sandbox
  await system.addConfig('canary', ['worker-1'], ['storage', 'backup'])
  system.attach({ vm: 'worker-1', subnet: 'storage' })
  await waitForReady(/^True/)
  await system.waitUntilReady(60_000)

  for (const service of ['contrabass', 'keystone', 'neutron', 'nova'] as const) {
    cloudState.faults.failing = [service]
    cloud.revokeTokens()
    await management.kube.patch(
      openstackConfigs,
      { namespace, name: 'canary' },
      {
        metadata: { annotations: { 'multinic.io/force-reconcile': service } },
      },
    )
    await waitForReady(/^(False|True \w+: .*(Nova|nova))/)
    await collectAll()
  }
  cloudState.faults.failing = []
  await waitForReady(/^True/)

  const name = { namespace, name: 'contrabass-encrypt-key' }
  for (const key of ['too short', planted.deprecatedKey]) {
    await management.kube.patch(secrets, name, {
      data: { CONTRABASS_ENCRYPT_KEY: Buffer.from(key).toString('base64') },
    })
    await waitForReady(/^False ContrabassError/)
  }
  await management.kube.patch(
    openstackConfigs,
    { namespace, name: 'canary' },
    { spec: { settings: { contrabassEncryptKey: planted.deprecatedKey } } },
  )
  await collectAll()
  await installEncryptKey(management.kube, cloudState)
  await waitForReady(/^True/)

  const knownUser = { ...cloudState.user }
  cloudState.user.password = canary('new-password')
  recording.secrets.add(cloudState.user.password)
  cloud.revokeTokens()
  await waitForReady(/^False KeystoneError|^True/)
  Object.assign(cloudState.user, knownUser)

  for (const component of ['operator', 'viola', 'controller'] as const) system.killComponent(component)
  await eventually(collectAll, { within: 60_000, every: 500 })
  await system.waitUntilReady(60_000)
})

test('callers send right and wrong tokens and invalid bodies', async () => {
  const { urls, clusterId } = system.sandbox
  for (const token of [planted.violaToken, planted.wrongToken, planted.inventoryToken])
    for (const [method, url] of [
      ['POST', `${urls['viola']}${violaPath}?token=${token}`],
      ['PUT', `${urls['inventory']}/v1/inventory/records`],
      ['POST', `${urls['inventory']}/v1/operator/plan`],
      ['GET', `${urls['operator']}/nowhere/${token}`],
    ] as const) {
      const headers = {
        authorization: `Bearer ${token}`,
        'x-provider-id': clusterId,
        'content-type': 'application/json',
      }
      const answer = await request(url, { method, headers, ...(method !== 'GET' && { body: `{"${token}` }) })
      await answer.body.dump()
      assert.ok(answer.statusCode >= 400 && answer.statusCode < 500, `${method} ${url}: ${answer.statusCode}`)
    }
  await collectAll()
})

const program = join(import.meta.dirname, '../../src/main.ts')

/** Output in the first seconds of a component that cannot work. */
function outputOf(component: string, env: Record<string, string>): Promise<string> {
  return new Promise(resolve => {
    const child = execFile(
      process.execPath,
      [program, component],
      { env: { PATH: environment()['PATH'], LOG_LEVEL: 'debug', ...env }, timeout: 90_000 },
      (_error, out, err) => resolve(out + err),
    )
    child.stderr?.once('data', () => setTimeout(() => child.kill(), 5_000).unref())
  })
}

test('components fail to reach their database and clusters', async () => {
  const database = `postgresql://inventory:${planted.databasePassword}@127.0.0.1:1/inventory?sslpassword=${planted.databasePassword}`
  const collectOutput = async (component: string, env: Record<string, string>) => {
    collected.set(`output of ${component}`, await outputOf(component, env))
  }
  const kubeconfig = join(dir, 'kubeconfig')
  const encoded = Buffer.from(planted.kubeconfigKey).toString('base64')
  await writeFile(
    kubeconfig,
    stringify({
      'current-context': 'biz',
      clusters: [{ name: 'biz', cluster: { server: 'https://127.0.0.1:1' } }],
      users: [
        {
          name: 'me',
          user: { token: planted.kubeconfigToken, 'client-certificate-data': encoded, 'client-key-data': encoded },
        },
      ],
      contexts: [{ name: 'biz', context: { cluster: 'biz', user: 'me' } }],
    }),
  )
  const addresses = { LISTEN_ADDR: '127.0.0.1:0', HEALTH_ADDR: '127.0.0.1:0', OPERATOR_ADDR: '127.0.0.1:0' }
  const env = { ...addresses, KUBECONFIG: kubeconfig, INVENTORY_ENABLED: 'false' }
  await Promise.all([
    collectOutput('inventory', {
      INVENTORY_ADDR: '127.0.0.1:0',
      INVENTORY_DATABASE_URL: database,
      INVENTORY_ANONYMOUS_ACCESS: 'true',
    }),
    ...['viola', 'controller', 'operator'].map(component => collectOutput(component, env)),
  ])
  for (const [place, output] of collected)
    if (place.startsWith('output of')) assert.ok(String(output).length > 50, `${place}: ${output}`)
})

test('support bundles of both clusters are collected', async () => {
  for (const name of ['management', 'biz']) {
    const file = join(dir, `bundle-${name}.tgz`)
    const args = [
      program,
      'support-bundle',
      '--kubeconfig',
      system.sandbox.state.path(name, 'kubeconfig'),
      '--namespace',
      namespace,
      '--file',
      file,
    ]
    await new Promise<void>((resolve, reject) =>
      execFile(process.execPath, args, error => (error ? reject(error) : resolve())),
    )
    collected.set(file, gunzipSync(readFileSync(file)))
  }
})

async function tokenOf({ kubeconfig }: { kubeconfig: string }): Promise<string> {
  return /token: (\S+)/.exec(await readFile(kubeconfig, 'utf8'))?.[1] ?? assert.fail(`no token in ${kubeconfig}`)
}

test('no collected text contains a secret', async () => {
  await collectAll()
  const { cloudState } = system.sandbox
  const all = new Set([
    ...Object.values(planted),
    ...recording.secrets,
    cloudState.user.password,
    cloudState.provider.encryptKey,
    await tokenOf(system.sandbox.management),
    await tokenOf(system.sandbox.biz),
  ])
  assert.ok(recording.secrets.size > 8, 'tokens and encrypted passwords were recorded')
  /** The user wrote this secret into the object; no component may repeat it. */
  const expected = new Set([`management openstackconfigs ${planted.deprecatedKey}`])
  const found = [...collected].flatMap(([place, content]) =>
    [...all].filter(secret => isIn(secret, content)).map(secret => `${place} ${secret}`),
  )
  assert.deepEqual(
    found.filter(text => !expected.has(text)),
    [],
  )
})

/** Plain, in Base64, URL-encoded, or as a JSON string. */
function isIn(secret: string, content: string | Buffer): boolean {
  const forms = [
    secret,
    Buffer.from(secret).toString('base64').replace(/=+$/, ''),
    encodeURIComponent(secret),
    JSON.stringify(secret).slice(1, -1),
  ]
  return forms.some(form => content.includes(form))
}

/** Each kind of place that must be searched, with a text that it contains: proof that it is not empty. */
const sinks: Record<string, [place: RegExp, text: string][]> = {
  log: ['operator', 'viola', 'controller'].map(name => [new RegExp(`/${name}\\.log$`), `"component":"${name}"`]),
  'log of an agent': [[/\/pods\/worker-1\//, '"verdict"']],
  status: [
    [/^management openstackconfigs$/, '"ContrabassError"'],
    [/^biz multinicnodeconfigs$/, '"interfaceStatuses"'],
  ],
  Event: [[/^management events$/, '"involvedObject"']],
  database: [[/\/inventory\.db(-wal)?$/, 'worker-1']],
  metric: ['operator', 'viola', 'controller', 'inventory'].map(name => [new RegExp(`^${name}/metrics$`), '# TYPE']),
  trace: ['operator', 'viola', 'controller', 'agent'].map(name => [/^traces$/, name]),
  'support bundle': [
    [/\/bundle-management\.tgz$/, 'OpenstackConfig'],
    [/\/bundle-biz\.tgz$/, 'worker-1'],
  ],
  'file of a node': [[/\/etc\/.*multinic/, 'multinic0']],
}
for (const [sink, expectations] of Object.entries(sinks))
  test(`every ${sink} was searched and was not empty`, () => {
    for (const [place, text] of expectations) {
      const found = [...collected].filter(([name]) => place.test(name))
      assert.ok(
        found.some(([, content]) => content.includes(text)),
        `no ${text} in ${found.length} places like ${place}`,
      )
    }
  })

test('the search finds texts that are there', () => {
  for (const text of ['worker-1', system.sandbox.cloudState.project.id])
    assert.ok(
      [...collected.values()].some(content => isIn(text, content)),
      text,
    )
  assert.ok(isIn('a b', 'see YSBi'), 'found in Base64')
  const debug = [...collected]
    .filter(([place]) => place.endsWith('.log'))
    .some(([, text]) => text.includes('"level":"debug"'))
  assert.ok(debug, 'the components log at debug level')
})

test('a core dump of a component contains none of its memory', () => {
  for (const component of ['operator', 'viola', 'controller']) {
    const pid = system.sandbox.components.pidOf(component) ?? assert.fail(`${component} does not run`)
    assert.match(readFileSync(`/proc/${pid}/coredump_filter`, 'utf8'), /^0+\n$/)
  }
})
