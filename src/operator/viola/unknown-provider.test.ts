/** What an object says whose cluster Viola does not know. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { OpenstackConfig } from '../../contract/openstack-config.ts'
import { SyncError, stage } from '../sync-error.ts'
import { ViolaError } from '../viola-error.ts'
import { withField } from './unknown-provider.ts'

function aConfig(credentials: object): OpenstackConfig {
  return { metadata: { name: 'main', namespace: 'team' }, spec: { credentials } } as unknown as OpenstackConfig
}

const named = aConfig({ openstackProviderID: 'cloud-1', k8sProviderID: 'biz-l' })

/** As a sync gets it. The namespace may use biz-1 and biz-2. */
async function errorOf(config: OpenstackConfig, options: ConstructorParameters<typeof ViolaError>[1]): Promise<string> {
  const mayUseCluster = (namespace: string, id: string) => namespace === 'team' && ['biz-1', 'biz-2'].includes(id)
  const failing = stage('ViolaError', () => Promise.reject(new ViolaError('viola: HTTP 404', options)))
  const error = withField(await failing.catch(error => error), config, { mayUseCluster })
  assert.ok(error instanceof SyncError)
  return `${error.reason}: ${error.message}`
}

const cases: Record<string, [config: OpenstackConfig, known: string[], text: string]> = {
  'the clusters that the namespace may use, and no other': [
    named,
    ['biz-1', 'biz-2', 'of-others'],
    'spec.credentials.k8sProviderID: Viola knows no cluster biz-l; known clusters: biz-1, biz-2',
  ],
  'no cluster of others': [
    named,
    ['of-others'],
    'spec.credentials.k8sProviderID: Viola knows no cluster biz-l; it names none that this namespace may use',
  ],
  'that the field is not set': [
    aConfig({ openstackProviderID: 'cloud-1' }),
    ['biz-1'],
    'spec.credentials.k8sProviderID is not set, and Viola knows no cluster cloud-1; known clusters: biz-1',
  ],
  'the default of an object without IDs': [
    aConfig({}),
    ['biz-1'],
    'spec.credentials.k8sProviderID is not set, and Viola knows no cluster default; known clusters: biz-1',
  ],
}
for (const [name, [config, knownProviders, text]] of Object.entries(cases))
  test(`it names ${name}`, async () =>
    assert.equal(await errorOf(config, { status: 404, knownProviders }), `ProviderUnknown: ${text}`))

test('a 404 of another Viola stays as it is', async () =>
  assert.equal(await errorOf(named, { status: 404 }), 'ViolaError: viola: HTTP 404'))
