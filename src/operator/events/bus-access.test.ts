/** Which bus, and as whom: some of these tests play the attacker. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { OpenstackConfig } from '../../contract/openstack-config.ts'
import type { Settings } from '../../contract/settings.ts'
import type { BusAccess } from '../../openstack/bus.ts'
import { hostText } from '../../openstack/bus-address.ts'
import type { Bus } from '../../openstack/cloud.ts'
import { resolveSettings } from '../config.ts'
import { busFor, type OwnBus } from './bus-access.ts'

const endpoints = { CONTRABASS_ENDPOINT: 'https://contrabass', VIOLA_ENDPOINT: 'https://viola' }
const ownUrls = { ...endpoints, RABBITMQ_URLS: 'amqp://own-bus:5672/' }
const own: OwnBus = { user: 'own', password: async () => 'own-password', ca: 'own authority' }
const contrabass: Bus = { urls: ['amqp://cloud-bus:5672/'], user: 'cloud', password: 'cloud-password' }
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
  bus?: Bus
  own?: Partial<OwnBus>
  allowed?: string[]
}

async function choice(given: Given) {
  const { env = endpoints, settings = {}, secrets, allowed } = given
  const config = { metadata: { name: 'main', namespace: 'team' }, spec: { settings, secrets } }
  const secret = async (namespace: string, name: string, key: string) =>
    namespace === 'team' && name === 'mine' ? given.stored?.[key] : assert.fail('another Secret')
  return busFor(config as unknown as OpenstackConfig, resolveSettings(env, settings), given.bus, secret, {
    own: { ...own, ...given.own },
    mayVisit: host => allowed?.includes(host) ?? true,
  })
}

/** `me/my-password at my-bus:5671 tls, my-bus-2:5672 in v trusting own authority` */
function words({ hosts, vhost, user, password, ca, insecureTls }: BusAccess): string {
  const list = hosts.map(host => `${hostText(host)}${host.tls ? ' tls' : ''}`).join(', ')
  return `${user}/${password} at ${list} in ${vhost} ${insecureTls ? 'trusting anybody' : `trusting ${ca}`}`
}

const cases: Record<string, [given: Given, expected: string]> = {
  'none is known': [{}, 'none'],
  'what Contrabass tells': [{ bus: contrabass }, 'cloud/cloud-password at cloud-bus:5672 in / trusting own authority'],
  'the Secret of the object comes first': [
    { secrets: { rabbitmqSecretRef }, stored, bus: contrabass, env: ownUrls },
    'me/my-password at my-bus:5671 tls, my-bus-2:5672 in v trusting own authority',
  ],
  'with an authority of its own': [
    { secrets: { rabbitmqSecretRef }, stored: { ...stored, RABBITMQ_CA: 'my authority' } },
    'me/my-password at my-bus:5671 tls, my-bus-2:5672 in v trusting my authority',
  ],
  'the addresses may stand in the object, the account in its Secret': [
    {
      secrets: { rabbitmqSecretRef },
      stored: { ...stored, RABBITMQ_URLS: '' },
      settings: { rabbitmqUrls: ['other-bus'] },
    },
    'me/my-password at other-bus:5672 in / trusting own authority',
  ],
  'what Contrabass tells comes before the operator’s own, which is for all clouds': [
    { env: ownUrls, bus: contrabass },
    'cloud/cloud-password at cloud-bus:5672 in / trusting own authority',
  ],
  'the operator’s own': [{ env: ownUrls }, 'own/own-password at own-bus:5672 in / trusting own authority'],
  'the operator’s own with its account in the address': [
    { env: { ...endpoints, RABBITMQ_URLS: 'amqp://u:p@own-bus/' }, own: { user: undefined } },
    'u/p at own-bus:5672 in / trusting own authority',
  ],
  'the operator may trust anybody': [
    { env: { ...ownUrls, RABBITMQ_INSECURE_TLS: 'true' } },
    'own/own-password at own-bus:5672 in / trusting anybody',
  ],
  'an object cannot make the operator’s own account trust anybody': [
    { env: ownUrls, settings: { rabbitmqInsecureTLS: true } },
    'own/own-password at own-bus:5672 in / trusting own authority',
  ],
  'an address that the object names gets no account of others': [
    { env: ownUrls, bus: contrabass, settings: { rabbitmqUrls: ['amqp://attacker'] } },
    'spec.settings.rabbitmqUrls: only an account of this namespace goes there; name its Secret in spec.secrets.rabbitmqSecretRef',
  ],
  'a Secret that is missing is no reason to look elsewhere': [
    { secrets: { rabbitmqSecretRef }, bus: contrabass, env: ownUrls },
    'Secret mine: has no RABBITMQ_URLS; add it, or set spec.settings.rabbitmqUrls',
  ],
  'a Secret without a password': [
    { secrets: { rabbitmqSecretRef }, stored: { ...stored, RABBITMQ_PASSWORD: undefined as unknown as string } },
    'Secret mine: the user or the password is missing',
  ],
  'a password that does not open': [
    { bus: { ...contrabass, password: undefined } },
    'rabbitMQPw of Contrabass does not open',
  ],
  'a host that is not allowed': [
    { bus: contrabass, allowed: ['elsewhere'] },
    'rabbitMQUrls of Contrabass: cloud-bus is not in ENDPOINT_ALLOWED_HOSTS of the operator',
  ],
  'the operator’s own host needs no permission': [
    { env: ownUrls, allowed: [] },
    'own/own-password at own-bus:5672 in / trusting own authority',
  ],
  'an address that is none': [
    { bus: { ...contrabass, urls: ['http://x'] } },
    'rabbitMQUrls of Contrabass: address 1 is none; write it like amqp://host:5672/vhost, amqps://… or host:port',
  ],
}
for (const [name, [given, expected]] of Object.entries(cases))
  test(name, async () => {
    const chosen = await choice(given)
    assert.equal(!chosen ? 'none' : 'trouble' in chosen ? chosen.trouble : words(chosen.access), expected)
  })
