/**
 * Known secrets are planted in a whole sandbox, everything is made to fail that can, and then every log, status, Event,
 * database, metric, trace, file of a node and support bundle is searched for them.
 */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
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

let walk: TestSandbox
let recording: Recording
let collector: Collector
let dir: string

before(async () => {
  dir = await mkdtemp(join(tmpdir(), 'multinic-canary-'))
  const file = async (name: string, text: string) => {
    await writeFile(join(dir, name), text, { mode: 0o600 })
    return join(dir, name)
  }
  const caller = (token: string) =>
    stringify({ tokens: [{ name: 'operator', token, providers: ['*'], roles: ['admin'] }] })
  recording = await recordSecrets(() => walk.sandbox.cloud.urls.contrabass)
  collector = await collectTraces()
  walk = await startTestSandbox({
    nodes: 1,
    withConfig: false,
    env: {
      LOG_LEVEL: 'debug',
      CONTRABASS_ENDPOINT: recording.url,
      VIOLA_TOKENS_FILE: await file('viola-tokens.yaml', caller(planted.violaToken)),
      VIOLA_TOKEN_FILE: await file('viola-token', planted.violaToken),
      INVENTORY_TOKENS_FILE: await file('inventory-tokens.yaml', caller(planted.inventoryToken)),
      INVENTORY_OPEN_READS: 'true',
      RABBITMQ_USER: 'operator',
      RABBITMQ_PASSWORD: planted.ownBusPassword,
      RABBITMQ_URLS: 'amqp://127.0.0.1:1/',
      OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
      OTEL_EXPORTER_OTLP_HEADERS: `authorization=${planted.traceHeader}`,
    },
  })
  // Nobody is there: the account is shown to no one, and the trouble is told.
  walk.sandbox.cloudState.bus = { urls: ['amqp://127.0.0.1:1/'], user: 'cloud', password: planted.busPassword }
})
after(async () => {
  await walk.stop()
  await recording[Symbol.asyncDispose]()
  await collector[Symbol.asyncDispose]()
  await rm(dir, { recursive: true })
})

/** What was seen, by where: the places that are searched. */
const seen = new Map<string, string | Buffer>()

async function everything(): Promise<void> {
  const { sandbox } = walk
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
      const old = String(seen.get(`${cluster} ${resource.plural}`) ?? '')
      seen.set(`${cluster} ${resource.plural}`, old + JSON.stringify(items))
    }
  for (const part of ['operator', 'viola', 'controller', 'inventory'])
    for (const path of [
      '/metrics',
      '/readyz',
      '/healthz',
      '/openapi.json',
      '/v1/inventory/node-configs',
      '/v1/operator/verdicts',
    ]) {
      const { body } = await request(`${sandbox.urls[part]}${path}`)
      seen.set(`${part}${path}`, await body.text())
    }
  for (const path of await filesIn(sandbox.state.path('logs'))) seen.set(path, await readFile(path))
  for (const { root } of sandbox.nodes.values())
    for (const path of await filesIn(root)) seen.set(path, await readFile(path).catch(() => ''))
  for (const path of await filesIn(sandbox.state.path('pods'))) seen.set(path, await readFile(path).catch(() => ''))
  for (const end of ['', '-wal', '-shm']) {
    const database = sandbox.state.path(`inventory.db${end}`)
    if (existsSync(database)) seen.set(database, await readFile(database))
  }
  seen.set('traces', collector.told.join('\n'))
}

async function filesIn(folder: string): Promise<string[]> {
  if (!existsSync(folder)) return []
  const found = await readdir(folder, { recursive: true, withFileTypes: true })
  return found.filter(one => one.isFile()).map(one => join(one.parentPath, one.name))
}

/** The ready condition of the object, as people read it. */
async function ready(): Promise<string> {
  const { status } = await walk.openstackConfig('canary')
  const condition = status?.conditions?.find(({ type }) => type === 'Ready')
  return `${condition?.status} ${condition?.reason}: ${condition?.message}`
}
const becomes = (said: RegExp) => eventually(async () => assert.match(await ready(), said), { within: 60_000 })

test('a walk in which everything fails once', async () => {
  const { cloudState, management, cloud } = walk.sandbox
  await walk.addConfig('canary', ['worker-1'], ['storage', 'backup'])
  walk.attach({ vm: 'worker-1', subnet: 'storage' })
  await becomes(/^True/)
  await walk.waitUntilReady(60_000)

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
    await becomes(/^(False|True \w+: .*(Nova|nova))/)
    await everything()
  }
  cloudState.faults.failing = []
  await becomes(/^True/)

  const name = { namespace, name: 'contrabass-encrypt-key' }
  for (const key of ['too short', planted.deprecatedKey]) {
    await management.kube.patch(secrets, name, {
      data: { CONTRABASS_ENCRYPT_KEY: Buffer.from(key).toString('base64') },
    })
    await becomes(/^False ContrabassError/)
  }
  await management.kube.patch(
    openstackConfigs,
    { namespace, name: 'canary' },
    { spec: { settings: { contrabassEncryptKey: planted.deprecatedKey } } },
  )
  await everything()
  await installEncryptKey(management.kube, cloudState)
  await becomes(/^True/)

  const knownUser = { ...cloudState.user }
  cloudState.user.password = canary('new-password')
  recording.secrets.add(cloudState.user.password)
  cloud.revokeTokens()
  await becomes(/^False KeystoneError|^True/)
  Object.assign(cloudState.user, knownUser)

  for (const part of ['operator', 'viola', 'controller'] as const) walk.killComponent(part)
  await eventually(everything, { within: 60_000, every: 500 })
  await walk.waitUntilReady(60_000)
})

test('callers with right and wrong tokens, and bodies that nobody can read', async () => {
  const { urls, clusterId } = walk.sandbox
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
  await everything()
})

const program = join(import.meta.dirname, '../../src/main.ts')

/** What a part says that cannot do its work, in its first seconds. */
function saidBy(part: string, env: Record<string, string>): Promise<string> {
  return new Promise(resolve => {
    const child = execFile(
      process.execPath,
      [program, part],
      { env: { PATH: environment()['PATH'], LOG_LEVEL: 'debug', ...env }, timeout: 90_000 },
      (_error, out, err) => resolve(out + err),
    )
    child.stderr?.once('data', () => setTimeout(() => child.kill(), 5_000).unref())
  })
}

test('parts whose database and whose clusters cannot be used', async () => {
  const database = `postgresql://inventory:${planted.databasePassword}@127.0.0.1:1/inventory?sslpassword=${planted.databasePassword}`
  const hear = async (part: string, env: Record<string, string>) => {
    seen.set(`a lonely ${part}`, await saidBy(part, env))
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
    hear('inventory', { INVENTORY_ADDR: '127.0.0.1:0', INVENTORY_DATABASE_URL: database }),
    ...['viola', 'controller', 'operator'].map(part => hear(part, env)),
  ])
  for (const [where, said] of seen)
    if (where.startsWith('a lonely')) assert.ok(String(said).length > 50, `${where}: ${said}`)
})

test('support bundles', async () => {
  for (const name of ['management', 'biz']) {
    const directory = join(dir, `bundle-${name}`)
    const args = [
      program,
      'support-bundle',
      '--kubeconfig',
      walk.sandbox.state.path(name, 'kubeconfig'),
      '--namespace',
      namespace,
      '--directory',
      directory,
    ]
    await new Promise<void>((resolve, reject) =>
      execFile(process.execPath, args, error => (error ? reject(error) : resolve())),
    )
    for (const path of await filesIn(directory)) seen.set(path, readFileSync(path))
  }
})

test('none of the secrets is anywhere', async () => {
  await everything()
  const { cloudState, state } = walk.sandbox
  const all = new Set([
    ...Object.values(planted),
    ...recording.secrets,
    cloudState.user.password,
    cloudState.provider.encryptKey,
    await readFile(state.path('management', 'token'), 'utf8'),
    await readFile(state.path('biz', 'token'), 'utf8'),
  ])
  assert.ok(recording.secrets.size > 8, 'tokens and encrypted passwords went by')
  /** Where a person put a secret into an object himself, it is there; nothing of ours repeats it. */
  const own = new Set([`management openstackconfigs ${planted.deprecatedKey}`])
  const found = [...seen].flatMap(([where, content]) =>
    [...all].filter(secret => isIn(secret, content)).map(secret => `${where} ${secret}`),
  )
  assert.deepEqual(
    found.filter(one => !own.has(one)),
    [],
  )
})

/** As it is, in Base64, as a URL writes it, and as JSON does. */
function isIn(secret: string, content: string | Buffer): boolean {
  const forms = [
    secret,
    Buffer.from(secret).toString('base64').replace(/=+$/, ''),
    encodeURIComponent(secret),
    JSON.stringify(secret).slice(1, -1),
  ]
  return forms.some(form => content.includes(form))
}

/** Each kind of place that is promised to be searched, and a word that is there: it was looked into, and is not empty. */
const sinks: Record<string, [place: RegExp, word: string][]> = {
  log: ['operator', 'viola', 'controller'].map(part => [new RegExp(`/${part}\\.log$`), `"part":"${part}"`]),
  'log of an agent': [[/\/pods\/worker-1\//, '"verdict"']],
  status: [
    [/^management openstackconfigs$/, '"ContrabassError"'],
    [/^biz multinicnodeconfigs$/, '"interfaceStatuses"'],
  ],
  Event: [[/^management events$/, '"involvedObject"']],
  database: [[/\/inventory\.db(-wal)?$/, 'worker-1']],
  metric: ['operator', 'viola', 'controller', 'inventory'].map(part => [new RegExp(`^${part}/metrics$`), '# TYPE']),
  trace: ['operator', 'viola', 'controller', 'agent'].map(part => [/^traces$/, part]),
  'support bundle': [
    [/\/bundle-management\/./, 'OpenstackConfig'],
    [/\/bundle-biz\/./, 'worker-1'],
  ],
  'file of a node': [[/\/etc\/.*multinic/, 'multinic0']],
}
for (const [sink, looks] of Object.entries(sinks))
  test(`every ${sink} was searched, and held something`, () => {
    for (const [place, word] of looks) {
      const found = [...seen].filter(([where]) => place.test(where))
      assert.ok(
        found.some(([, content]) => content.includes(word)),
        `no ${word} in ${found.length} places like ${place}`,
      )
    }
  })

test('the search finds what is there', () => {
  for (const word of ['worker-1', walk.sandbox.cloudState.project.id])
    assert.ok(
      [...seen.values()].some(content => isIn(word, content)),
      word,
    )
  assert.ok(isIn('a b', 'see YSBi'), 'Base64 is seen')
  const debug = [...seen]
    .filter(([place]) => place.endsWith('.log'))
    .some(([, text]) => text.includes('"level":"debug"'))
  assert.ok(debug, 'the parts told all that they can')
})

test('a core dump of a part holds none of its memory', () => {
  for (const part of ['operator', 'viola', 'controller']) {
    const pid = walk.sandbox.components.pidOf(part) ?? assert.fail(`${part} does not run`)
    assert.match(readFileSync(`/proc/${pid}/coredump_filter`, 'utf8'), /^0+\n$/)
  }
})
