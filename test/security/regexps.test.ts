/** No input makes a regular expression slow: checks of all patterns, and inputs that are built to be slow. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseCidr, parseIp, parseMac } from '../../src/contract/address.ts'
import { agentInput } from '../../src/contract/agent-input.ts'
import { parseDuration } from '../../src/contract/duration.ts'
import { isSameMachine } from '../../src/contract/machine.ts'
import { labelValue, objectName } from '../../src/contract/node-names.ts'
import { openstackConfig } from '../../src/contract/openstack-config.ts'
import { withoutSlash } from '../../src/contract/url.ts'
import { violaPost } from '../../src/contract/viola.ts'
import { parseBusAddresses } from '../../src/openstack/bus-address.ts'
import { decryptPassword } from '../../src/openstack/cipher.ts'
import { readNotification } from '../../src/openstack/notification.ts'
import { bearerTokenIn } from '../../src/server/credentials.ts'
import { cpuMsSince } from '../fuzz/fuzz.ts'
import { literalsIn, regexpsIn, riskOf } from './regexps.ts'

/** Patterns that look dangerous, and why they are not. */
const harmless: Record<string, string> = {
  '[-.]*\\.[-.]*': 'a name of at most 253 characters',
  '[._-]+$': 'a name that is cut to 253 characters',
  '[.;\\s]+$': 'a message of our own agent, at most 4,096 bytes',
  '[^a-z0-9]+$': 'a name that is cut to 63 characters',
  '^[^A-Za-z0-9]+|[^A-Za-z0-9]+$': 'a name that is cut to 63 characters',
  '([0-9.]+)(ns|us|µs|ms|s|m|h)': 'a text that matched the anchored pattern',
}

test('no pattern has nested quantifiers or begins with a quantifier, except harmless ones', () => {
  const found = regexpsIn(['src', 'sandbox', 'web']).flatMap(({ file, pattern }) => {
    const risk = riskOf(pattern)
    return risk && !Object.hasOwn(harmless, pattern) ? [`${file}: /${pattern}/: ${risk}`] : []
  })
  assert.deepEqual(found, [])
})

test('the check finds dangerous patterns', () => {
  assert.ok(regexpsIn(['src']).length > 100)
  assert.deepEqual(literalsIn("const a = b / c / d; x.replace(/\\/+$/, '') // /no/\nconst s = '/no/'"), ['\\/+$'])
  for (const bad of ['(a+)+$', '^(a|b*)*$', '(?:x{2,})+', '((ab)*c?)*', '\\/+$', '[-.]*x']) assert.ok(riskOf(bad), bad)
  for (const good of ['^a+$', '^(a{1,3}){5}$', 'x[^/]+$', '^(?:DNS|URI):(.+)$', '\\d+'])
    assert.equal(riskOf(good), undefined, good)
})

test('every pattern of the list of harmless ones exists', () => {
  const all = new Set(regexpsIn(['src', 'sandbox', 'web']).map(({ pattern }) => pattern))
  assert.deepEqual(
    Object.keys(harmless).filter(pattern => !all.has(pattern)),
    [],
  )
})

/** With 200,000 characters a quadratic pattern takes a minute, and an exponential one never ends. */
const size = 200_000
const pathological: Record<string, string> = Object.fromEntries(
  ['/', '-', '.', ' ', '0', 'a', ':', '1h', '0:', '<', 'a.', '=', '\n', '\\', '1.', 'fa:', ' #', 'é'].map(piece => [
    JSON.stringify(piece),
    piece.repeat(size / piece.length),
  ]),
)
const nic = (field: string, text: string) => [
  { nodeName: 'w', interfaces: [{ macAddress: 'fa:16:3e:00:00:01', [field]: text }] },
]
const fields = ['nodeName', 'name', 'macAddress', 'address', 'cidr', 'portId', 'gateway', 'source']

const parsers: Record<string, (text: string) => unknown> = {
  'IP, CIDR and MAC address': text => [parseIp(text), parseCidr(text), parseCidr(`${text}/24`), parseMac(text)],
  duration: text => [parseDuration(text), parseDuration(`${text}x`)],
  'node name': text => [objectName(text.slice(0, 3_036)), labelValue(text.slice(0, 3_036))],
  'machine ID': text => isSameMachine(text, `${text}x`),
  'service URL': text => [withoutSlash(`http://h${text}x`), withoutSlash(`http://h${text}`)],
  'bus address': text => [parseBusAddresses([text]), parseBusAddresses([`amqp://${text}@h:1/x`])],
  'encrypted password': text => expectError(() => decryptPassword(text, '0123456789abcdef')),
  'bus notification': text => [
    readNotification(text),
    readNotification({ event_type: text, payload: {} }),
    readNotification({ event_type: 'port.update.end', timestamp: text, payload: { id: 'p' } }),
  ],
  'bearer token': text => [bearerTokenIn(`bearer${text}`), bearerTokenIn(`bearer ${text}\n`)],
  'body of a POST to Viola': text => fields.map(field => violaPost.safeParse(nic(field, text)).success),
  OpenstackConfig: text =>
    openstackConfig.safeParse({
      spec: {
        vmNames: [text],
        subnetName: text,
        credentials: { openstackProviderID: text, projectID: text },
        settings: {
          contrabassEndpoint: `http://${text}`,
          pollFastInterval: text,
          openstackPortBaseline: `2026-01-01T${text}`,
          rabbitmqUrls: [text],
        },
      },
    }),
  'agent input': text => agentInput.safeParse({ nodeName: text, specHash: text, interfaces: nic('name', text) }),
}

function expectError(work: () => unknown): void {
  assert.throws(work, Error)
}

for (const [name, parse] of Object.entries(parsers))
  test(`${name}: texts that are built to be slow are parsed in linear time`, () => {
    for (const [piece, text] of Object.entries(pathological)) {
      const started = process.cpuUsage()
      parse(text)
      // Linear time is milliseconds.
      const ms = Math.round(cpuMsSince(started))
      assert.ok(ms < 10_000, `${piece} took ${ms} ms`)
    }
  })
