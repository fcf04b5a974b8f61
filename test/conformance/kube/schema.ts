/** Validation and pruning by the schema and the CEL rules of a CRD. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { nodeConfigs } from '../../../src/contract/node-config.ts'
import { openstackConfigs } from '../../../src/contract/openstack-config.ts'
import { isInvalid } from '../../../src/kube/errors.ts'
import { collectionPath } from '../../../src/kube/paths.ts'
import { crds } from '../../../src/kube/resources.ts'
import { aNodeConfig, type KubeContext, nic, nodeConfigsAlpha, present, rejection } from './context.ts'

const many = Array.from({ length: 11 }, (_, at) => ({ macAddress: `fa:16:3e:00:01:${(at + 10).toString()}` }))

const invalid: Record<string, [spec: object, field: RegExp, message: RegExp]> = {
  'an invalid MAC address': [
    { interfaces: [{ ...nic(0), macAddress: 'fa:16' }] },
    /spec\.interfaces\[0\]\.macAddress/,
    /should match/,
  ],
  'an MTU that is too small': [
    { interfaces: [{ ...nic(0), mtu: 67 }] },
    /spec\.interfaces\[0\]\.mtu/,
    /greater than or equal to 68/,
  ],
  'an MTU that is a string': [
    { interfaces: [{ ...nic(0), mtu: '1500' }] },
    /spec\.interfaces\[0\]\.mtu/,
    /must be of type integer: "string"/,
  ],
  '11 interfaces': [{ interfaces: many }, /spec\.interfaces/, /Too many: 11: must have at most 10 items/],
  'no node name': [{ nodeName: undefined }, /spec\.nodeName/, /Required value/],
  'an empty node name': [{ nodeName: '' }, /spec\.nodeName/, /should be at least 1 chars long/],
  'a name that is too long': [{ specHash: 'x'.repeat(129) }, /spec\.specHash/, /may not be (more|longer) than 128/],
  'an interface without a MAC address': [
    { interfaces: [{ id: 0 }] },
    /spec\.interfaces\[0\]\.macAddress/,
    /Required value/,
  ],
  'interfaces that are not a list': [{ interfaces: 'none' }, /spec\.interfaces/, /must be of type array: "string"/],
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
  'two interfaces with one MAC address in different case': [
    { interfaces: [{ macAddress: 'fa:16:3e:00:00:0a' }, { macAddress: 'FA:16:3E:00:00:0A' }] },
    /spec\.interfaces/,
    /macAddress must be unique among the interfaces/,
  ],
  'a name that does not match the id': [
    { interfaces: [{ ...nic(0), name: 'multinic7' }] },
    /spec\.interfaces\[0\]/,
    /name must be multinic followed by the id/,
  ],
}

export function schemaCases(context: () => KubeContext): void {
  for (const [what, [spec, field, message]] of Object.entries(invalid)) {
    test(`${what} is rejected with the field name`, async () => {
      const { kube, name } = context()
      const error = await rejection(kube.create(nodeConfigs, aNodeConfig(context(), name(), { spec })))
      assert.ok(isInvalid(error), `${error.status}`)
      assert.equal(error.reason, 'Invalid')
      assert.match(error.message, /^MultiNicNodeConfig\.multinic\.io "case-\d+" is invalid: /)
      assert.match(error.message, field)
      assert.match(error.message, message)
      assert.ok(
        error.details?.causes?.some(cause => field.test(cause.field ?? '')),
        JSON.stringify(error.details),
      )
    })
  }

  test('all errors are reported at once, each with field and reason', async () => {
    const { kube, name } = context()
    const spec = { interfaces: [{ ...nic(0), mtu: 1 }], specHash: 'x'.repeat(129) }
    const error = await rejection(kube.create(nodeConfigs, aNodeConfig(context(), name(), { spec })))
    assert.deepEqual(error.details?.causes?.map(({ field, reason }) => `${field} ${reason}`).sort(), [
      '<nil> FieldValueInvalid',
      'spec.interfaces[0].mtu FieldValueInvalid',
      'spec.specHash FieldValueTooLong',
    ])
  })

  test('a CRD without structural schema or with an invalid CEL rule is rejected', async () => {
    const definition = (schema: object) => ({
      apiVersion: 'apiextensions.k8s.io/v1',
      kind: 'CustomResourceDefinition',
      metadata: { name: 'widgets.test.example.com' },
      spec: {
        group: 'test.example.com',
        scope: 'Namespaced',
        names: { plural: 'widgets', kind: 'Widget' },
        versions: [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: schema } }],
      },
    })
    const post = (schema: object) =>
      context().kube.raw('POST', `${collectionPath(crds, undefined)}?dryRun=All`, definition(schema))
    await post({ type: 'object' })
    const untyped = await rejection(post({ type: 'object', properties: { spec: { properties: {} } } }))
    assert.match(untyped.message, /properties\[spec\]\.type: Required value: must not be empty/)
    const rule = await rejection(post({ type: 'object', 'x-kubernetes-validations': [{ rule: 'self ==' }] }))
    assert.match(rule.message, /x-kubernetes-validations/)
  })

  test('replace, patch, apply and status updates reject invalid values', async () => {
    const { kube, namespace, name } = context()
    const key = { namespace, name: name() }
    const created = await kube.create(nodeConfigs, aNodeConfig(context(), key.name))
    const bad = { ...created.spec, interfaces: [{ ...nic(0), mtu: 1 }] }
    const writes = [
      () => kube.replace(nodeConfigs, { ...created, spec: bad }),
      () => kube.patch(nodeConfigs, key, { spec: bad }),
      () => kube.apply(nodeConfigs, { metadata: key, spec: bad }, { fieldManager: 'viola', force: true }),
    ]
    for (const write of writes) assert.match((await rejection(write())).message, /spec\.interfaces\[0\]\.mtu/)
    const error = await rejection(kube.patchStatus(nodeConfigs, key, { state: 'Happy' }))
    assert.ok(isInvalid(error))
    assert.match(error.message, /(status\.)?state: Unsupported value: "Happy"/)
  })

  test('the node name cannot be changed', async () => {
    const { kube, namespace, name } = context()
    const key = { namespace, name: name() }
    await kube.create(nodeConfigs, aNodeConfig(context(), key.name))
    const error = await rejection(kube.patch(nodeConfigs, key, { spec: { nodeName: 'another' } }))
    assert.ok(isInvalid(error))
    assert.match(error.message, /spec\.nodeName: Invalid value: .*nodeName cannot be changed/)
  })

  test('CEL rules of OpenstackConfig are checked: it needs a subnet', async () => {
    const { kube, namespace, name } = context()
    const credentials = { openstackProviderID: 'os', projectID: '0123456789abcdef0123456789abcdef' }
    const config = (spec: object) => ({
      apiVersion: 'multinic.example.com/v1alpha1',
      kind: 'OpenstackConfig',
      metadata: { namespace, name: name() },
      spec: { vmNames: ['11111111-2222-3333-4444-555555555555'], credentials, ...spec },
    })
    const post = (body: object) => kube.raw('POST', collectionPath(openstackConfigs, namespace), body)
    const error = await rejection(post(config({})))
    assert.ok(isInvalid(error))
    assert.match(error.message, /spec: Invalid value: .*subnet/)
    await post(config({ subnetName: 'storage', settings: { pollFastInterval: '1h30m' } }))
    const zero = await rejection(post(config({ subnetName: 'storage', settings: { pollFastInterval: '0s' } })))
    assert.match(zero.message, /spec\.settings\.pollFastInterval/)
  })

  test('unknown fields are dropped', async () => {
    const { kube, namespace, name } = context()
    const key = { namespace, name: name() }
    const spec = { surprise: 1, interfaces: [{ ...nic(0), deviceId: 'x' }] }
    await kube.create(nodeConfigs, aNodeConfig(context(), key.name, { spec }))
    const found = await present(kube, nodeConfigs, key)
    assert.deepEqual(found.spec, { nodeName: key.name, interfaces: [nic(0)] })
  })

  test('both served versions return the same object', async () => {
    const { kube, namespace, name } = context()
    const key = { namespace, name: name() }
    const old = { ...aNodeConfig(context(), key.name), apiVersion: 'multinic.io/v1alpha1' }
    const created = await kube.create(nodeConfigsAlpha, old)
    assert.equal(created.apiVersion, 'multinic.io/v1alpha1')
    const read = await present(kube, nodeConfigs, key)
    assert.deepEqual(read, { ...created, apiVersion: 'multinic.io/v1' })
    const patched = await kube.patch(nodeConfigsAlpha, key, { metadata: { labels: { a: 'b' } } })
    assert.equal((await present(kube, nodeConfigs, key)).metadata.resourceVersion, patched.metadata.resourceVersion)
  })

  test('a body whose version or kind differs from the path is rejected', async () => {
    const { kube, namespace, name } = context()
    const path = collectionPath(nodeConfigs, namespace)
    const wrong = { ...aNodeConfig(context(), name()), apiVersion: 'multinic.io/v9' }
    assert.equal((await rejection(kube.raw('POST', path, wrong))).status, 400)
    const other = { ...aNodeConfig(context(), name()), kind: 'OpenstackConfig' }
    assert.match((await rejection(kube.raw('POST', path, other))).message, /kind: Invalid value: "OpenstackConfig"/)
  })
}
