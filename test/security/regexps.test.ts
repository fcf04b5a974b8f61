/** No text makes a pattern take long: every pattern is looked at, and every door is given texts that are made for it. */
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
import { busAddresses } from '../../src/openstack/bus-address.ts'
import { decryptPassword } from '../../src/openstack/cipher.ts'
import { readNotice } from '../../src/openstack/notice.ts'
import { bearerTokenIn } from '../../src/server/tokens.ts'
import { computedMs } from '../fuzz/door.ts'
import { literalsIn, regexpsIn, troubleWith } from './regexps.ts'

/** Those that may look dangerous, and why they are not. */
const known: Record<string, string> = {
  '\\b(\\d+)(\\.\\d+)*\\b': 'each repetition begins with a dot, which no digit is',
  '^\\s*@(.*?)\\s*(?:(==|!=|<=|>=|<|>)\\s*(.+?))?\\s*$': 'a path of a CRD column, in the sandbox',
  '[-.]*\\.[-.]*': 'a name of at most 253 characters',
  '[._-]+$': 'a name that was cut to 253 characters before',
  '[.;\\s]+$': 'a message of our own agent, at most 4,096 bytes',
  '[^a-z0-9]+$': 'a name that was cut to 63 characters before',
  '^[^A-Za-z0-9]+|[^A-Za-z0-9]+$': 'a name that was cut to 63 characters before',
  '([0-9.]+)(ns|us|µs|ms|s|m|h)': 'a text that the anchored pattern has taken before',
}

test('no pattern has a quantifier within a quantifier, or begins a search with one, unless it is known to be harmless', () => {
  const found = regexpsIn(['src', 'sandbox', 'web']).flatMap(({ file, pattern }) => {
    const trouble = troubleWith(pattern)
    return trouble && !Object.hasOwn(known, pattern) ? [`${file}: /${pattern}/: ${trouble}`] : []
  })
  assert.deepEqual(found, [])
})

test('the look would find what it looks for', () => {
  assert.ok(regexpsIn(['src']).length > 100)
  assert.deepEqual(literalsIn("const a = b / c / d; x.replace(/\\/+$/, '') // /no/\nconst s = '/no/'"), ['\\/+$'])
  for (const bad of ['(a+)+$', '^(a|b*)*$', '(?:x{2,})+', '((ab)*c?)*', '\\/+$', '[-.]*x'])
    assert.ok(troubleWith(bad), bad)
  for (const good of ['^a+$', '^(a{1,3}){5}$', 'x[^/]+$', '^(?:DNS|URI):(.+)$', '\\d+'])
    assert.equal(troubleWith(good), undefined, good)
})

test('what is known to be harmless is still there', () => {
  const all = new Set(regexpsIn(['src', 'sandbox', 'web']).map(({ pattern }) => pattern))
  assert.deepEqual(
    Object.keys(known).filter(pattern => !all.has(pattern)),
    [],
  )
})

/** Of 200,000 characters: a pattern that takes the square of it takes a minute, one that is worse never ends. */
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

const doors: Record<string, (text: string) => unknown> = {
  'an address': text => [parseIp(text), parseCidr(text), parseCidr(`${text}/24`), parseMac(text)],
  'a duration': text => [parseDuration(text), parseDuration(`${text}x`)],
  'a name of a node': text => [objectName(text.slice(0, 3_036)), labelValue(text.slice(0, 3_036))],
  'a machine': text => isSameMachine(text, `${text}x`),
  'an address of a service': text => [withoutSlash(`http://h${text}x`), withoutSlash(`http://h${text}`)],
  'an address of a bus': text => [busAddresses([text]), busAddresses([`amqp://${text}@h:1/x`])],
  'an encrypted password': text => refused(() => decryptPassword(text, '0123456789abcdef')),
  'a notice': text => [
    readNotice(text),
    readNotice({ event_type: text, payload: {} }),
    readNotice({ event_type: 'port.update.end', timestamp: text, payload: { id: 'p' } }),
  ],
  'a bearer token': text => [bearerTokenIn(`bearer${text}`), bearerTokenIn(`bearer ${text}\n`)],
  'a body for Viola': text => fields.map(field => violaPost.safeParse(nic(field, text)).success),
  'an OpenstackConfig': text =>
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
  'the input of an agent': text =>
    agentInput.safeParse({ nodeName: text, specHash: text, interfaces: nic('name', text) }),
}

function refused(work: () => unknown): void {
  assert.throws(work, Error)
}

for (const [door, open] of Object.entries(doors))
  test(`${door}: texts that are made to take long take no longer than others`, () => {
    for (const [piece, text] of Object.entries(pathological)) {
      const started = process.cpuUsage()
      open(text)
      // A linear look takes milliseconds.
      const ms = Math.round(computedMs(started))
      assert.ok(ms < 10_000, `${piece} took ${ms} ms`)
    }
  })
