/** Which bus an object uses, and with which account. Some of these tests attack the operator's account. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { OpenstackConfig } from '../../contract/openstack-config.ts'
import type { Settings } from '../../contract/settings.ts'
import { hostNotAllowed } from '../../contract/url.ts'
import { openStackBuses } from '../../openstack/bus.ts'
import { hostText } from '../../openstack/bus-address.ts'
import type { BusAccess, MessageBus } from '../cloud.ts'
import { resolveSettings } from '../config.ts'
import { busFor, type OwnBus } from './bus-access.ts'

const endpoints = { CONTRABASS_ENDPOINT: 'https://contrabass', VIOLA_ENDPOINT: 'https://viola' }
const ownUrls = { ...endpoints, RABBITMQ_URLS: 'amqp://own-bus:5672/' }
const own: OwnBus = { user: 'own', password: async () => 'own-password', ca: 'own CA' }
const contrabass: MessageBus = { urls: ['amqp://cloud-bus:5672/'], user: 'cloud', password: 'cloud-password' }
const rabbitmqSecretRef = { name: 'mine' }
const stored = {
  RABBITMQ_URLS: 'amqps://my-bus:5671/v,my-bus-2',
  RABBITMQ_USER: 'me',
  RABBITMQ_PASSWORD: 'my-password',
}

interface Given {
  env?: Record<string, string>
  settings?: Settings
  secrets?: OpenstackConfig['spec']['secrets']
  stored?: Record<string, string>
  bus?: MessageBus
  own?: Partial<OwnBus>
  allowed?: string[]
}

async function choice(given: Given) {
  const { env = endpoints, settings = {}, secrets, allowed } = given
  const config = { metadata: { name: 'main', namespace: 'team' }, spec: { settings, secrets } }
  const secret = async (namespace: string, name: string, key: string) =>
    namespace === 'team' && name === 'mine' ? given.stored?.[key] : assert.fail('another Secret')
  return busFor(config as unknown as OpenstackConfig, resolveSettings(env, { settings }), given.bus, secret, {
    buses: openStackBuses,
    own: { ...own, ...given.own },
    isAllowedHost: host => allowed?.includes(host) ?? true,
  })
}

/** `me/my-password at my-bus:5671 tls, my-bus-2:5672 in v trusting own CA` */
function accessText({ hosts, vhost, user, password, ca }: BusAccess): string {
  const list = hosts.map(host => `${hostText(host)}${host.tls ? ' tls' : ''}`).join(', ')
  return `${user}/${password} at ${list} in ${vhost} trusting ${ca}`
}

const cases: Record<string, [given: Given, expected: string]> = {
  'no bus is configured': [{}, 'none'],
  'the bus of Contrabass': [{ bus: contrabass }, 'cloud/cloud-password at cloud-bus:5672 in / trusting own CA'],
  'the Secret of the object comes first': [
    { secrets: { rabbitmqSecretRef }, stored, bus: contrabass, env: ownUrls },
    'me/my-password at my-bus:5671 tls, my-bus-2:5672 in v trusting own CA',
  ],
  'the Secret may contain a CA': [
    { secrets: { rabbitmqSecretRef }, stored: { ...stored, RABBITMQ_CA: 'my CA' } },
    'me/my-password at my-bus:5671 tls, my-bus-2:5672 in v trusting my CA',
  ],
  'the addresses may be in the object, and the account in its Secret': [
    {
      secrets: { rabbitmqSecretRef },
      stored: { ...stored, RABBITMQ_URLS: '' },
      settings: { rabbitmqUrls: ['other-bus'] },
    },
    'me/my-password at other-bus:5672 in / trusting own CA',
  ],
  'the bus of Contrabass takes precedence over the operator’s own, which is for all clouds': [
    { env: ownUrls, bus: contrabass },
    'cloud/cloud-password at cloud-bus:5672 in / trusting own CA',
  ],
  'the operator’s own bus': [{ env: ownUrls }, 'own/own-password at own-bus:5672 in / trusting own CA'],
  'the operator’s own bus with its account in the address': [
    { env: { ...endpoints, RABBITMQ_URLS: 'amqp://u:p@own-bus/' }, own: { user: undefined } },
    'u/p at own-bus:5672 in / trusting own CA',
  ],
  'an address in the object gets no account from outside its namespace': [
    { env: ownUrls, bus: contrabass, settings: { rabbitmqUrls: ['amqp://attacker'] } },
    'spec.settings.rabbitmqUrls: needs an account of this namespace; name its Secret in spec.secrets.rabbitmqSecretRef',
  ],
  'a missing Secret does not fall back to another bus': [
    { secrets: { rabbitmqSecretRef }, bus: contrabass, env: ownUrls },
    'Secret mine: RABBITMQ_URLS is missing; add it, or set spec.settings.rabbitmqUrls',
  ],
  'a Secret without a password': [
    { secrets: { rabbitmqSecretRef }, stored: { ...stored, RABBITMQ_PASSWORD: undefined as unknown as string } },
    'Secret mine: the user or the password is missing',
  ],
  'a password that cannot be decrypted': [
    { bus: { ...contrabass, password: undefined } },
    'rabbitMQPw of Contrabass: cannot decrypt it with the key',
  ],
  'a host that is not allowed': [
    { bus: contrabass, allowed: ['elsewhere'] },
    `rabbitMQUrls of Contrabass: cloud-bus ${hostNotAllowed}`,
  ],
  'the operator’s own host is always allowed': [
    { env: ownUrls, allowed: [] },
    'own/own-password at own-bus:5672 in / trusting own CA',
  ],
  'an invalid address': [
    { bus: { ...contrabass, urls: ['http://x'] } },
    'rabbitMQUrls of Contrabass: address 1 is invalid; write amqp://host:5672/vhost, amqps://… or host:port',
  ],
}
for (const [name, [given, expected]] of Object.entries(cases))
  test(name, async () => {
    const chosen = await choice(given)
    assert.equal(!chosen ? 'none' : 'problem' in chosen ? chosen.problem : accessText(chosen.access), expected)
  })
