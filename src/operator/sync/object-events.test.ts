import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { OpenstackConfig } from '../../contract/openstack-config.ts'
import type { EventRecorder } from '../../kube/events.ts'
import { createObjectMemory } from '../../runtime/object-memory.ts'
import { SyncError } from '../sync-error.ts'
import { createObjectEvents } from './object-events.ts'

const credentials = { openstackProviderID: 'cloud-1', k8sProviderID: 'biz-1', projectID: 'a'.repeat(32) }

function aConfig(spec: Partial<OpenstackConfig['spec']> = {}): OpenstackConfig {
  return {
    metadata: { name: 'main', namespace: 'team' },
    spec: { subnetIDs: ['storage'], vmNames: ['vm-1'], credentials, ...spec },
  } as OpenstackConfig
}

/** Records the Events in order. */
function recording() {
  const events: string[] = []
  const memory = createObjectMemory()
  const recorder: EventRecorder = {
    event: (_, type, reason, message) => void events.push(`${type} ${reason}: ${message}`),
    flush: async () => {},
  }
  return { objectEvents: createObjectEvents(recorder, memory), memory, events }
}

const cases: Record<string, [spec: Partial<OpenstackConfig['spec']>, expected: string[]]> = {
  'a valid object causes no Event': [{}, []],
  'subnet fields that another field overrides are named': [
    { subnetID: 'x', subnetName: 'y' },
    ['subnetID and subnetName ignored: another subnet field takes precedence'],
  ],
  'deprecated credentials are named without their values': [
    { credentials: { ...credentials, username: 'u', password: 'hush' } },
    ['credentials username, password ignored: deprecated'],
  ],
  'a missing cluster provider is reported with the value that is sent instead': [
    { credentials: { openstackProviderID: 'cloud-1', projectID: credentials.projectID } },
    ['credentials.k8sProviderID is not set: the operator sends openstackProviderID to Viola instead'],
  ],
  'an encryption key in the object is reported as deprecated': [
    { settings: { contrabassEncryptKey: 'hush' } },
    ['settings.contrabassEncryptKey is deprecated: name a Secret in spec.secrets instead'],
  ],
}
for (const [name, [spec, messages]] of Object.entries(cases))
  test(name, () => {
    const { objectEvents, events } = recording()
    objectEvents.record(aConfig(spec), undefined, undefined)
    assert.deepEqual(
      events,
      messages.map(message => `Warning FieldIgnored: ${message}`),
    )
  })

test('the same error is recorded once, and again when it returns', () => {
  const { objectEvents, events } = recording()
  const broken = new SyncError('NeutronPortError', 'neutron: HTTP 500')
  for (const failure of [broken, broken, undefined, broken]) objectEvents.record(aConfig(), undefined, failure)
  assert.deepEqual(events, Array(2).fill('Warning NeutronPortError: neutron: HTTP 500'))
})

test('Events of a recreated object are recorded again', () => {
  const { objectEvents, memory, events } = recording()
  const config = aConfig({ subnetName: 'y' })
  objectEvents.record(config, undefined, undefined)
  memory.forget('team/main')
  objectEvents.record(config, undefined, undefined)
  assert.equal(events.length, 2)
})
