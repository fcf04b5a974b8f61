/** Which hosts a clouds.yaml reaches, and what its owner learns from their answers. Over real HTTP. */
import assert from 'node:assert/strict'
import { type AddressInfo, createServer } from 'node:net'
import { after, before, test } from 'node:test'
import { stringify } from 'yaml'
import * as z from 'zod'
import { type Cloud as SandboxCloud, startCloud } from '../../../sandbox/cloud/cloud.ts'
import { addServer, createCloudState } from '../../../sandbox/cloud/state.ts'
import { type StubResponse, type StubServer, startStubServer } from '../../../test/openstack/stub-server.ts'
import type { OpenstackConfig } from '../../contract/openstack-config.ts'
import { createOpenStackClouds } from '../../openstack/clouds.ts'
import { cloudShape, parseCloudsYaml } from '../../openstack/clouds-yaml.ts'
import { createLog, silent } from '../../telemetry/log.ts'
import { resolveSettings } from '../config.ts'
import { cloudOpener, cloudSecretFor } from './cloud-access.ts'

const state = createCloudState()
const { id: serverId } = addServer(state, 'worker-1')
let cloud: SandboxCloud
let other: StubServer
let respond: () => StubResponse
/** The cloud is at 127.0.0.1. */
let elsewhere: string

before(async () => {
  cloud = await startCloud(state, silent)
  other = await startStubServer(() => respond())
  elsewhere = other.url.replace('127.0.0.1', 'localhost')
})
after(async () => {
  await cloud?.close()
  await other?.[Symbol.asyncDispose]()
})

function fileOf(): { auth: Record<string, unknown> } & Record<string, unknown> {
  const { user, project } = state
  return {
    auth: {
      auth_url: cloud.urls.keystone,
      ...{ username: user.name, password: user.password, user_domain_name: user.domain },
      ...{ project_name: project.name, project_domain_name: user.domain },
    },
  }
}

interface Options {
  namespace?: string
  /** Also allowed, besides 127.0.0.1. */
  host?: string
  env?: Record<string, string>
}

/** Calls everything that a sync calls. Returns the error of the first call that fails, and the log. */
async function use(file: object, { namespace = 'tenant', host, env = {} }: Options = {}) {
  const lines: string[] = []
  const config = {
    metadata: { name: 'main', namespace },
    spec: { cloudSecretRef: { name: 'cloud' } },
  } as unknown as OpenstackConfig
  const settings = resolveSettings({ VIOLA_ENDPOINT: 'https://viola', ...env }, config.spec)
  const clouds = createOpenStackClouds({
    isAllowedHost: named => named === '127.0.0.1' || named === host,
    isOwnNamespace: named => named === 'own',
    log: createLog({}, { write: line => lines.push(line) }),
  })
  const secret = async (_: string, __: string, key: string) =>
    key === 'clouds.yaml' ? stringify({ clouds: { mine: file } }) : undefined
  try {
    const found = await cloudSecretFor(config, { name: 'cloud' }, { secret, parseCloudsYaml })
    const opened = cloudOpener(clouds)('tenant/main', config, settings, found)
    const results = await Promise.allSettled([
      opened.check(),
      opened.portsOfServers([serverId]),
      opened.subnetsByName('storage'),
      opened.networks(['n']),
      opened.serversByName('worker-1'),
      opened.attachmentsOf(serverId),
    ])
    const failed = results.find(result => result.status === 'rejected')
    return { error: failed && (failed.reason as Error).message, log: lines.join('') }
  } catch (error) {
    return { error: (error as Error).message, log: lines.join('') }
  } finally {
    await clouds.close()
  }
}

/** The paths of all values of a schema. */
function pathsOf(schema: z.ZodObject, at: string[] = []): string[][] {
  return Object.entries(schema.shape).flatMap(([key, value]) =>
    value instanceof z.ZodObject ? pathsOf(value, [...at, key]) : [[...at, key]],
  )
}

function withValue(path: readonly string[], value: string): object {
  const file = fileOf()
  const [first = '', second] = path
  return second === undefined ? { ...file, [first]: value } : { ...file, [first]: { ...file.auth, [second]: value } }
}

test('no value of a clouds.yaml leads to a host that is not allowed', async () => {
  respond = () => ({ status: 200, body: {} })
  const ignored = ['identity_endpoint_override', 'network_endpoint', 'compute_endpoint', 'http_proxy', 'https_proxy']
  const paths = [...pathsOf(cloudShape), ...ignored.map(key => [key])]
  const reached: string[] = []
  for (const path of paths) {
    const before = other.requests.length
    await use(withValue(path, `${elsewhere}/v3`), { host: 'localhost' })
    if (other.requests.length > before) reached.push(path.join('.'))
  }
  for (const key of ['auth.auth_url', 'network_endpoint_override', 'compute_endpoint_override'])
    assert.ok(reached.includes(key), `${key} leads to no host at all: ${reached}`)

  other.requests.length = 0
  for (const path of paths) {
    const { error } = await use(withValue(path, `${elsewhere}/v3`))
    if (reached.includes(path.join('.')))
      assert.match(error ?? '', /^\w+: the host localhost is not in ENDPOINT_ALLOWED_HOSTS/, path.join('.'))
  }
  assert.deepEqual(other.requests, [])
})

test('neither a redirect nor a page link leads a cloud to another host', async () => {
  const answers: StubResponse[] = [
    { status: 307, headers: { location: `${elsewhere}/v2.0/ports` } },
    { status: 200, body: { ports: [], ports_links: [{ rel: 'next', href: `${elsewhere}/v2.0/ports?marker=a` }] } },
  ]
  for (const answer of answers) {
    await using neutron = await startStubServer(() => answer)
    await use({ ...fileOf(), network_endpoint_override: neutron.url })
    assert.ok(neutron.requests.length > 0)
  }
  assert.deepEqual(other.requests, [])
})

test('the endpoint of the operator is called also if nobody else may name it', async () => {
  respond = () => ({ status: 200, body: { ports: [], subnets: [], networks: [] } })
  const env = { OPENSTACK_NEUTRON_ENDPOINT: elsewhere }
  assert.equal((await use(fileOf(), { env })).error, undefined)
  assert.ok(other.requests.length > 0)
  other.requests.length = 0
  assert.match(
    (await use({ ...fileOf(), network_endpoint_override: elsewhere }, { env })).error ?? '',
    /not in ENDPOINT/,
  )
  assert.deepEqual(other.requests, [])
})

/** A port on which nothing listens. */
async function closedPort(): Promise<string> {
  const server = createServer().listen(0, '127.0.0.1')
  await new Promise(resolve => server.once('listening', resolve))
  const { port } = server.address() as AddressInfo
  await new Promise(resolve => server.close(resolve))
  return `http://127.0.0.1:${port}`
}

const pages: Record<string, StubResponse> = {
  'a page': { status: 404, body: '<html>the secret page</html>' },
  'an error in JSON': { status: 400, body: { error: { message: 'the secret page' } } },
  'another JSON': { status: 200, body: { secret: 'page' } },
  'a cut answer': { status: 200, cut: true },
  'a refused token': { status: 401, body: 'the secret page' },
}

for (const field of ['auth.auth_url', 'network_endpoint_override', 'compute_endpoint_override'])
  test(`the owner of ${field} cannot tell an open port from a closed one, and the log of the operator can`, async () => {
    const closed = await closedPort()
    const expected = await use(withValue(field.split('.'), closed))
    assert.match(expected.error ?? '', /^\w+: no usable answer; check the endpoint, .* the log of the operator has/)
    assert.match(expected.log, /ECONNREFUSED/)
    for (const [name, page] of Object.entries(pages)) {
      respond = () => page
      const { error, log } = await use(withValue(field.split('.'), other.url))
      assert.equal(error, expected.error, name)
      assert.match(log, /"message":"call of a cloud failed","namespace":"tenant","error":"\w+: /, name)
    }
  })

test('the operator’s own namespace sees the error itself', async () => {
  const { error, log } = await use({ ...fileOf(), network_endpoint_override: await closedPort() }, { namespace: 'own' })
  assert.match(error ?? '', /^neutron: GET 127\.0\.0\.1:\d+\/v2\.0\/\w+: ECONNREFUSED/)
  assert.equal(log, '')
})

test('an OpenStack service tells a tenant its status, which says what to correct', async () => {
  const file = fileOf()
  const { error } = await use({ ...file, auth: { ...file.auth, password: 'wrong' } })
  assert.match(
    error ?? '',
    /^keystone: HTTP 401; the log of the operator has the details; in the clouds\.yaml, check user/,
  )
})
