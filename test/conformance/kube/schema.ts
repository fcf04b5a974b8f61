/** What a CRD's schema and rules refuse, prune and serve. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { nodeConfigs } from '../../../src/contract/node-config.ts'
import { openstackConfigs } from '../../../src/contract/openstack-config.ts'
import { isInvalid } from '../../../src/kube/errors.ts'
import { collectionPath } from '../../../src/kube/paths.ts'
import { aNodeConfig, nic, nodeConfigsAlpha, type Place, present, refusal } from './place.ts'

const many = Array.from({ length: 11 }, (_, at) => ({ macAddress: `fa:16:3e:00:01:${(at + 10).toString()}` }))

const refused: Record<string, [spec: object, field: RegExp, words: RegExp]> = {
  'a MAC that is none': [
    { interfaces: [{ ...nic(0), macAddress: 'fa:16' }] },
    /spec\.interfaces\[0\]\.macAddress/,
    /should match/,
  ],
  'an MTU that is too small': [
    { interfaces: [{ ...nic(0), mtu: 67 }] },
    /spec\.interfaces\[0\]\.mtu/,
    /greater than or equal to 68/,
  ],
  'an MTU that is a text': [
    { interfaces: [{ ...nic(0), mtu: '1500' }] },
    /spec\.interfaces\[0\]\.mtu/,
    /must be of type integer: "string"/,
  ],
  '11 interfaces': [{ interfaces: many }, /spec\.interfaces/, /Too many: 11: must have at most 10 items/],
  'no node name': [{ nodeName: undefined }, /spec\.nodeName/, /Required value/],
  'an empty node name': [{ nodeName: '' }, /spec\.nodeName/, /should be at least 1 chars long/],
  'a name that is too long': [{ specHash: 'x'.repeat(129) }, /spec\.specHash/, /may not be more than 128/],
  'an interface without a MAC': [{ interfaces: [{ id: 0 }] }, /spec\.interfaces\[0\]\.macAddress/, /Required value/],
  'interfaces that are no list': [{ interfaces: 'none' }, /spec\.interfaces/, /must be of type array: "string"/],
  'two interfaces with one id': [
    {
      interfaces: [
        { id: 1, macAddress: 'fa:16:3e:00:00:01' },
        { id: 1, macAddress: 'fa:16:3e:00:00:02' },
      ],
    },
    /spec\.interfaces/,
    /id must be unique among the interfaces/,
  ],
  'two interfaces with one MAC in different case': [
    { interfaces: [{ macAddress: 'fa:16:3e:00:00:0a' }, { macAddress: 'FA:16:3E:00:00:0A' }] },
    /spec\.interfaces/,
    /macAddress must be unique among the interfaces/,
  ],
  'a name that does not follow the id': [
    { interfaces: [{ ...nic(0), name: 'multinic7' }] },
    /spec\.interfaces\[0\]/,
    /name must be multinic followed by the id/,
  ],
}

export function schemaCases(place: () => Place): void {
  for (const [what, [spec, field, words]] of Object.entries(refused)) {
    test(`${what} is refused with the field named`, async () => {
      const { kube, name } = place()
      const error = await refusal(kube.create(nodeConfigs, aNodeConfig(place(), name(), { spec })))
      assert.ok(isInvalid(error), `${error.status}`)
      assert.equal(error.reason, 'Invalid')
      assert.match(error.message, /^MultiNicNodeConfig\.multinic\.io "case-\d+" is invalid: /)
      assert.match(error.message, field)
      assert.match(error.message, words)
      assert.ok(
        error.details?.causes?.some(cause => field.test(cause.field ?? '')),
        JSON.stringify(error.details),
      )
    })
  }

  test('all mistakes are told at once', async () => {
    const { kube, name } = place()
    const spec = { interfaces: [{ ...nic(0), mtu: 1, macAddress: 'x' }] }
    const error = await refusal(kube.create(nodeConfigs, aNodeConfig(place(), name(), { spec })))
    assert.match(error.message, /macAddress/)
    assert.match(error.message, /mtu/)
  })

  test('a bad change is refused by replace, patch, apply and on the status too', async () => {
    const { kube, namespace, name } = place()
    const key = { namespace, name: name() }
    const made = await kube.create(nodeConfigs, aNodeConfig(place(), key.name))
    const bad = { ...made.spec, interfaces: [{ ...nic(0), mtu: 1 }] }
    const writes = [
      () => kube.replace(nodeConfigs, { ...made, spec: bad }),
      () => kube.patch(nodeConfigs, key, { spec: bad }),
      () => kube.apply(nodeConfigs, { metadata: key, spec: bad }, { fieldManager: 'viola', force: true }),
    ]
    for (const write of writes) assert.match((await refusal(write())).message, /spec\.interfaces\[0\]\.mtu/)
    const error = await refusal(kube.patchStatus(nodeConfigs, key, { state: 'Happy' }))
    assert.ok(isInvalid(error))
    assert.match(error.message, /status\.state: Unsupported value: "Happy"/)
  })

  test('the node name cannot be changed', async () => {
    const { kube, namespace, name } = place()
    const key = { namespace, name: name() }
    await kube.create(nodeConfigs, aNodeConfig(place(), key.name))
    const error = await refusal(kube.patch(nodeConfigs, key, { spec: { nodeName: 'another' } }))
    assert.ok(isInvalid(error))
    assert.match(error.message, /spec\.nodeName: Invalid value: .*nodeName cannot be changed/)
  })

  test('a rule of another kind holds too: an OpenstackConfig needs a subnet', async () => {
    const { kube, namespace, name } = place()
    const credentials = { openstackProviderID: 'os', projectID: '0123456789abcdef0123456789abcdef' }
    const wanted = (spec: object) => ({
      apiVersion: 'multinic.example.com/v1alpha1',
      kind: 'OpenstackConfig',
      metadata: { namespace, name: name() },
      spec: { vmNames: ['11111111-2222-3333-4444-555555555555'], credentials, ...spec },
    })
    const post = (body: object) => kube.raw('POST', collectionPath(openstackConfigs, namespace), body)
    const error = await refusal(post(wanted({})))
    assert.ok(isInvalid(error))
    assert.match(error.message, /spec: Invalid value: .*subnet/)
    await post(wanted({ subnetName: 'storage', settings: { pollFastInterval: '1h30m' } }))
    const zero = await refusal(post(wanted({ subnetName: 'storage', settings: { pollFastInterval: '0s' } })))
    assert.match(zero.message, /spec\.settings\.pollFastInterval/)
  })

  test('unknown fields are dropped', async () => {
    const { kube, namespace, name } = place()
    const key = { namespace, name: name() }
    const spec = { surprise: 1, interfaces: [{ ...nic(0), deviceId: 'x' }] }
    await kube.create(nodeConfigs, aNodeConfig(place(), key.name, { spec }))
    const found = await present(kube, nodeConfigs, key)
    assert.deepEqual(found.spec, { nodeName: key.name, interfaces: [nic(0)] })
  })

  test('both served versions show the same object', async () => {
    const { kube, namespace, name } = place()
    const key = { namespace, name: name() }
    const old = { ...aNodeConfig(place(), key.name), apiVersion: 'multinic.io/v1alpha1' }
    const made = await kube.create(nodeConfigsAlpha, old)
    assert.equal(made.apiVersion, 'multinic.io/v1alpha1')
    const read = await present(kube, nodeConfigs, key)
    assert.deepEqual(read, { ...made, apiVersion: 'multinic.io/v1' })
    const patched = await kube.patch(nodeConfigsAlpha, key, { metadata: { labels: { a: 'b' } } })
    assert.equal((await present(kube, nodeConfigs, key)).metadata.resourceVersion, patched.metadata.resourceVersion)
  })

  test('a body of another version or kind than its path is refused', async () => {
    const { kube, namespace, name } = place()
    const path = collectionPath(nodeConfigs, namespace)
    const wrong = { ...aNodeConfig(place(), name()), apiVersion: 'multinic.io/v9' }
    assert.equal((await refusal(kube.raw('POST', path, wrong))).status, 400)
    const other = { ...aNodeConfig(place(), name()), kind: 'OpenstackConfig' }
    assert.match((await refusal(kube.raw('POST', path, other))).message, /kind: Invalid value: "OpenstackConfig"/)
  })
}
