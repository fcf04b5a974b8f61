/** The examples that are not Helm values: our programs can read them, and the others are well formed. */
import assert from 'node:assert/strict'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { parseAllDocuments, stringify } from 'yaml'
import { openstackConfigSpec } from '../../src/contract/openstack-config.ts'
import { loadKubeconfig } from '../../src/kube/config.ts'
import { parseCloudsYaml } from '../../src/openstack/clouds-yaml.ts'
import { root } from './blocks.ts'

async function documentsOf(name: string): Promise<Record<string, unknown>[]> {
  const all = parseAllDocuments(await readFile(join(root, 'docs/examples', name), 'utf8'))
  return all.map(document => {
    assert.deepEqual(document.errors, [], name)
    return document.toJS() as Record<string, unknown>
  })
}

test('the routing example contains a valid kubeconfig with a proxy', async t => {
  const dir = await mkdtemp(join(tmpdir(), 'multinic-examples-'))
  t.after(() => rm(dir, { recursive: true }))
  const [routing, kubeconfig] = await documentsOf('routing-proxy.yaml')
  assert.deepEqual((routing?.['targets'] as object[])[0], { providerId: 'cluster-a', kubeconfig: 'a.kubeconfig' })
  const files = { 'a.kubeconfig': stringify(kubeconfig), 'a.crt': 'a certificate', 'a.token': 'a token' }
  for (const [name, text] of Object.entries(files)) await writeFile(join(dir, name), text)
  const { server, proxy } = await loadKubeconfig(join(dir, 'a.kubeconfig'))
  assert.deepEqual(
    { server, proxy },
    { server: 'https://cluster-a.example.com:6443', proxy: 'http://proxy.example.com:3128' },
  )
})

test('the example without Contrabass has a valid clouds.yaml and a valid object that names it', async () => {
  const [secret, config] = await documentsOf('plain-openstack.yaml')
  const { cloudSecretRef, credentials } = openstackConfigSpec.parse(config?.['spec'])
  assert.equal(cloudSecretRef?.name, (secret?.['metadata'] as { name: string }).name)
  assert.deepEqual(Object.keys(credentials ?? {}), ['k8sProviderID'])
  const parsed = parseCloudsYaml((secret?.['stringData'] as Record<string, string>)['clouds.yaml'] ?? '')
  assert.ok('cloud' in parsed, JSON.stringify(parsed))
})

for (const [file, type] of [
  ['pods-ipvlan.yaml', 'ipvlan'],
  ['pods-macvlan.yaml', 'macvlan'],
] as const)
  test(`${file} attaches a Pod to multinic0 with ${type}`, async () => {
    const [network, pod] = await documentsOf(file)
    const { config } = network?.['spec'] as { config: string }
    const plugin = JSON.parse(config) as { type: string; master: string }
    assert.deepEqual([plugin.type, plugin.master], [type, 'multinic0'])
    const { name } = network?.['metadata'] as { name: string }
    const { annotations } = pod?.['metadata'] as { annotations: Record<string, string> }
    assert.equal(annotations['k8s.v1.cni.cncf.io/networks'], name)
  })
