import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { OpenstackConfig } from '../contract/openstack-config.ts'
import { createNotices } from './object-events.ts'
import { SyncError } from './sync-error.ts'

const credentials = { openstackProviderID: 'cloud-1', k8sProviderID: 'biz-1', projectID: 'a'.repeat(32) }

function aConfig(spec: Partial<OpenstackConfig['spec']> = {}): OpenstackConfig {
  return {
    metadata: { name: 'main', namespace: 'team' },
    spec: { subnetIDs: ['storage'], vmNames: ['vm-1'], credentials, ...spec },
  } as OpenstackConfig
}

/** What people hear, in order. */
function listening() {
  const said: string[] = []
  const notices = createNotices({
    event: (_, type, reason, message) => void said.push(`${type} ${reason}: ${message}`),
    flush: async () => {},
  })
  return { notices, said }
}

const cases: Record<string, [spec: Partial<OpenstackConfig['spec']>, said: string[]]> = {
  'an object as it should be is not talked about': [{}, []],
  'subnet fields that another one wins over are named': [
    { subnetID: 'x', subnetName: 'y' },
    ['subnetID and subnetName ignored: another subnet field wins'],
  ],
  'deprecated credentials are named, and never shown': [
    { credentials: { ...credentials, username: 'u', password: 'hush' } },
    ['credentials username, password ignored: deprecated'],
  ],
  'an absent cluster provider is told with what is sent instead': [
    { credentials: { openstackProviderID: 'cloud-1', projectID: credentials.projectID } },
    ['credentials.k8sProviderID is absent: openstackProviderID is sent to Viola instead'],
  ],
  'a key in the object is told to be deprecated': [
    { settings: { contrabassEncryptKey: 'hush' } },
    ['settings.contrabassEncryptKey is deprecated: name a Secret in spec.secrets instead'],
  ],
}
for (const [name, [spec, messages]] of Object.entries(cases))
  test(name, () => {
    const { notices, said } = listening()
    notices.tell(aConfig(spec), undefined, undefined)
    assert.deepEqual(
      said,
      messages.map(message => `Warning FieldIgnored: ${message}`),
    )
  })

test('the same is said once, and again when it comes back', () => {
  const { notices, said } = listening()
  const broken = new SyncError('NeutronPortError', 'neutron: HTTP 500')
  for (const failure of [broken, broken, undefined, broken]) notices.tell(aConfig(), undefined, failure)
  assert.deepEqual(said, Array(2).fill('Warning NeutronPortError: neutron: HTTP 500'))
})

test('an object that is gone and comes back is told anew', () => {
  const { notices, said } = listening()
  const config = aConfig({ subnetName: 'y' })
  notices.tell(config, undefined, undefined)
  notices.forget('team/main')
  notices.tell(config, undefined, undefined)
  assert.equal(said.length, 2)
})
