import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type OpenstackConfigSpec, providerIdOf } from './openstack-config.ts'

const clusters: Record<string, [credentials: OpenstackConfigSpec['credentials'], providerId: string]> = {
  'the ID of the Biz cluster': [{ k8sProviderID: 'biz', openstackProviderID: 'cloud' }, 'biz'],
  'without spaces around it': [{ k8sProviderID: ' biz\n' }, 'biz'],
  'the ID of the cloud if it is absent': [{ openstackProviderID: 'cloud' }, 'cloud'],
  'the ID of the cloud if it is blank': [{ k8sProviderID: '  ', openstackProviderID: 'cloud' }, 'cloud'],
  'default if there is neither': [{}, 'default'],
  'default without credentials': [undefined, 'default'],
}

for (const [name, [credentials, expected]] of Object.entries(clusters))
  test(`Viola knows the cluster of an object by ${name}`, () => {
    const metadata = { name: 'main', namespace: 'multinic-system' }
    const config = { apiVersion: 'multinic.example.com/v1alpha1', kind: 'OpenstackConfig', metadata }
    assert.equal(providerIdOf({ ...config, spec: credentials ? { credentials } : {} }), expected)
  })
