/** Broken environment variables and messages are accepted, or refused with the field. */
import assert from 'node:assert/strict'
import { createCipheriv } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import fc from 'fast-check'
import { parseSettings } from '../../src/agent/config.ts'
import { parseInput } from '../../src/agent/input.ts'
import type { Settings as SettingsTable } from '../../src/contract/setting.ts'
import { type Settings, syncSettings } from '../../src/contract/settings.ts'
import { controllerConfig } from '../../src/controller/config.ts'
import { aConfig, aReport } from '../../src/controller/controller.fixture.ts'
import { readReport } from '../../src/controller/report.ts'
import { controllerSettings } from '../../src/controller/settings.ts'
import { inventorySettings, inventorySettingsFrom } from '../../src/inventory/config.ts'
import { parseBusAddresses } from '../../src/openstack/bus-address.ts'
import { decryptPassword } from '../../src/openstack/cipher.ts'
import { readNotification } from '../../src/openstack/notification.ts'
import { processSettingsFrom, resolveSettings } from '../../src/operator/config.ts'
import { processSettings } from '../../src/operator/settings.ts'
import { violaSettingsFrom } from '../../src/viola/config.ts'
import { brokenBytes, brokenRecords, brokenTexts, brokenValues } from './broken-inputs.ts'
import { fuzz, refusalOf } from './fuzz.ts'

const file = (path: string) => readFileSync(new URL(`../${path}`, import.meta.url), 'utf8')
const captured = JSON.parse(file('openstack/notifications.json')) as { message: object }[]

test('broken bus notifications', async () => {
  const wrapped = captured.map(({ message }) => ({ 'oslo.version': '2.0', 'oslo.message': JSON.stringify(message) }))
  const inputs = brokenBytes([...wrapped, ...captured.map(({ message }) => message)])
  await fuzz(
    inputs,
    body => {
      const reading = readNotification(body)
      if (reading.kind === 'poison') assert.ok(reading.why !== '')
      if (reading.kind === 'notification')
        for (const { id } of reading.subjects) assert.ok(id.length > 0 && id.length <= 253)
      return reading.kind
    },
    { atLeast: { notification: 200, other: 200, poison: 1_000 } },
  )
})

test('broken bus addresses: no error shows the password', async () => {
  const samples = ['amqp://user:hunter2hunter2@host:5672/vhost', 'amqps://[2001:db8::1]:5671', 'rabbit://a:1,b:2']
  await fuzz(
    brokenTexts(samples),
    text => {
      const addresses = parseBusAddresses([text])
      if (!('error' in addresses)) return 'accepted'
      assert.doesNotMatch(addresses.error, /hunter2/)
      return 'refused'
    },
    { atLeast: { accepted: 500, refused: 500 } },
  )
})

const aes = (bits: number, key: string) => {
  const cipher = createCipheriv(`aes-${bits}-cbc`, key, Buffer.alloc(16, 7))
  return Buffer.concat([Buffer.alloc(16, 7), cipher.update('correct horse'), cipher.final()]).toString('base64')
}
const keys = ['0123456789abcdef', '0123456789abcdef01234567', '0123456789abcdef0123456789abcdef']

test('broken encrypted passwords and keys: no error shows either', async () => {
  const salted = Buffer.concat([Buffer.from('Salted__'), Buffer.alloc(40, 9)]).toString('base64')
  const material = brokenTexts([...keys.map(key => aes(key.length * 8, key)), salted])
  const key = fc.oneof({ weight: 3, arbitrary: fc.constantFrom(...keys) }, brokenTexts(keys))
  await fuzz(
    fc.tuple(material, key),
    async ([encrypted, decryptionKey]) => {
      const message = await refusalOf(() => decryptPassword(encrypted, decryptionKey))
      if (message === undefined) return 'opened'
      for (const secret of [encrypted, decryptionKey])
        if (secret.length > 12) assert.ok(!message.includes(secret), message)
      return 'refused'
    },
    { atLeast: { opened: 50, refused: 1_000 } },
  )
})

const nic = { id: 0, name: 'multinic0', macAddress: 'fa:16:3e:00:00:01', address: '10.1.0.5', cidr: '10.1.0.0/24' }
const agentInput = {
  version: 1,
  mode: 'apply',
  nodeName: 'worker-1',
  instanceId: 'i-1',
  generation: 7,
  specHash: 'abc',
  nodeAddresses: ['10.0.0.1'],
  interfaces: [
    { ...nic, mtu: 1450, portId: 'port-1', addresses: ['10.1.0.5/24', '2001:db8::5/64'], gateway: '10.1.0.1' },
    {
      id: 1,
      macAddress: 'FA:16:3E:00:00:02',
      routes: [{ destination: '10.9.0.0/16', nexthop: '10.1.0.1' }],
      allowedAddressPairs: ['10.8.0.7'],
    },
  ],
}

test('broken agent input: every error has the path of the field', async () => {
  await fuzz(
    brokenTexts([agentInput]),
    text => {
      const { request, errors } = parseInput(text)
      assert.equal(request === undefined, errors.length > 0)
      for (const { path, message } of errors) assert.ok(path !== '' && message !== '')
      for (const nic of request?.interfaces ?? []) {
        assert.match(nic.name, /^multinic[0-9]$/)
        assert.match(nic.macAddress, /^([0-9a-f]{2}:){5}[0-9a-f]{2}$/)
        for (const argument of [
          nic.address,
          nic.cidr,
          nic.gateway,
          ...(nic.addresses ?? []),
          ...(nic.allowedAddressPairs ?? []),
        ])
          assert.match(argument ?? '::', /^[0-9A-Fa-f:./]+$/, 'safe as an argument of ip')
      }
      return request ? 'accepted' : 'refused'
    },
    { atLeast: { accepted: 200, refused: 2_000 } },
  )
})

test('broken settings of the agent: every error names the variable', async () => {
  const env = {
    NETWORK_POLICY_ROUTING_ENABLED: 'true',
    NETWORK_ROUTING_TABLE_BASE: '100',
    NETWORK_ROUTE_METRIC: '100',
    NETWORK_TAKEOVER: 'refuse',
    NIC_WAIT: '15s',
    MULTINIC_BACKEND: 'netplan',
    NETWORK_PROBE: 'reported,multinic2=required',
    NETWORK_PROBE_PEERS: '10.0.0.1,2001:db8::1',
    NETWORK_PROBE_TIMEOUT: '800ms',
    KUBERNETES_SERVICE_HOST: '10.96.0.1',
    KUBERNETES_SERVICE_PORT: '443',
  }
  await fuzz(
    brokenRecords([env]),
    variables => {
      const { errors } = parseSettings(variables)
      for (const { path } of errors) assert.ok(Object.hasOwn(env, path), path)
      return errors.length > 0 ? 'refused' : 'accepted'
    },
    { atLeast: { accepted: 500, refused: 1_000 } },
  )
})

test('broken agent reports: a report that does not match the Job counts as missing', async () => {
  const report = aReport(aConfig())
  const expected = {
    node: report.node,
    mode: 'apply' as const,
    generation: report.generation,
    specHash: report.specHash,
  }
  await fuzz(
    brokenTexts([report]),
    message => {
      const result = readReport({ exitCode: 0, message }, expected)
      if ('missing' in result) {
        assert.ok(result.missing.length < 1_000_000)
        return 'missing'
      }
      assert.equal(result.report.specHash, expected.specHash)
      return 'read'
    },
    { atLeast: { read: 200, missing: 2_000 } },
  )
})

const secret = 'a-token-that-nobody-may-see'
/** A valid or invalid value for each variable. */
function placeholders(table: SettingsTable): Record<string, string> {
  return Object.fromEntries(Object.keys(table).map(name => [name, /FILE|PATH|DIR/.test(name) ? '/nowhere' : '']))
}

const components: Record<string, [read: (env: Record<string, string>) => unknown, valid: Record<string, string>]> = {
  operator: [
    processSettingsFrom,
    {
      ...placeholders(processSettings),
      POLL_MIN_INTERVAL: '1s',
      LEADER_ELECT: 'false',
      INVENTORY_URL: 'http://inventory',
    },
  ],
  viola: [
    violaSettingsFrom,
    {
      LISTEN_ADDR: ':8080',
      KUBE_TIMEOUT: '10s',
      VIOLA_PARALLEL: '16',
      VIOLA_ANONYMOUS_ACCESS: 'false',
      TARGET_NAMESPACE: 'a',
    },
  ],
  controller: [
    controllerConfig,
    {
      ...placeholders(controllerSettings),
      JOB_TTL: '10m',
      MAX_UNAVAILABLE: '10%',
      DRIFT_INTERVAL: '5m',
      CLEANUP_TIMEOUT: '4m',
      NETWORK_TAKEOVER: 'dynamic',
      AGENT_APPARMOR_PROFILE: 'RuntimeDefault',
    },
  ],
  inventory: [
    inventorySettingsFrom,
    {
      ...placeholders(inventorySettings),
      INVENTORY_DATABASE_URL: `postgresql://user:${secret}@host:5432/name`,
      INVENTORY_HISTORY_DAYS: '365',
      INVENTORY_RATE_LIMIT: '100',
      INVENTORY_ANONYMOUS_ACCESS: 'false',
    },
  ],
}
for (const [component, [read, valid]] of Object.entries(components))
  test(`broken environment of the ${component}: every error names the variable`, async () => {
    await fuzz(
      brokenRecords([valid]),
      async env => {
        const message = await refusalOf(() => read(env))
        if (message === undefined) return 'accepted'
        for (const line of message.split('\n').slice(1))
          assert.ok(Object.hasOwn(valid, line.trim().split(':')[0] ?? ''), message)
        assert.ok(!message.includes(secret), message)
        return 'refused'
      },
      { atLeast: { accepted: 500, refused: 200 } },
    )
  })

test('broken sync settings, from the environment and from an object: every error names the setting', async () => {
  const env = {
    ...Object.fromEntries(
      Object.values(syncSettings).map(setting => [setting.environment, 'default' in setting ? setting.default : '']),
    ),
    CONTRABASS_ENDPOINT: 'https://contrabass',
    VIOLA_ENDPOINT: 'https://viola',
    CONTRABASS_ENCRYPT_KEY: secret,
  }
  const object: Settings = {
    ...{ contrabassEndpoint: 'https://contrabass/', violaEndpoint: 'https://viola', violaInsecureTLS: false },
    ...{ contrabassTimeout: '30s', pollFastInterval: '20s', downPortFastRetryMax: 5 },
    ...{ openstackEndpointInterface: 'public', openstackPortOwners: ['compute:*'], openstackPortBaseline: 'none' },
  }
  await fuzz(
    fc.tuple(brokenRecords([env]), brokenValues([object, {}])),
    async ([variables, overrides]) => {
      const isObject = typeof overrides === 'object' && overrides !== null
      const message = await refusalOf(() => resolveSettings(variables, { settings: isObject ? overrides : {} }))
      if (message === undefined) return 'accepted'
      assert.match(message, /spec\.settings\.\w+: |[A-Z_]+ of the operator: /)
      assert.ok(!message.includes(secret), message)
      return 'refused'
    },
    { atLeast: { accepted: 200, refused: 1_000 } },
  )
})

test('the unchanged sample is accepted', () => {
  assert.deepEqual(parseInput(JSON.stringify(agentInput)).errors, [])
})
