import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import type { OpenstackConfig } from '../contract/openstack-config.ts'
import type { Settings } from '../contract/settings.ts'
import { silent } from '../telemetry/log.ts'
import { resolveSettings } from './config.ts'
import { openPolicy } from './policy.ts'

const env = { CONTRABASS_ENDPOINT: 'https://contrabass.own', VIOLA_ENDPOINT: 'https://viola.own' }
const project = 'a'.repeat(32)

function aConfig(namespace = 'team-a', credentials: Partial<OpenstackConfig['spec']['credentials']> = {}) {
  const all = { openstackProviderID: 'cloud-1', k8sProviderID: 'biz-1', projectID: project, ...credentials }
  return {
    metadata: { name: 'main', namespace },
    spec: { credentials: all, vmNames: [] },
  } as unknown as OpenstackConfig
}

async function verdict(
  given: { hosts?: string[]; rules?: string; settings?: Settings },
  config = aConfig(),
): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), 'multinic-policy-'))
  try {
    const file = join(dir, 'rules.yaml')
    if (given.rules !== undefined) await writeFile(file, given.rules)
    const policy = await openPolicy(given.hosts ?? [], given.rules === undefined ? undefined : file, silent)
    try {
      policy.check(config, resolveSettings(env, given.settings))
      return 'allowed'
    } catch (error) {
      return (error as Error).message
    } finally {
      policy.close()
    }
  } finally {
    await rm(dir, { recursive: true })
  }
}

const hosts: Record<string, [hosts: string[], settings: Settings, said: string]> = {
  'without a list every host is allowed': [[], { violaEndpoint: 'https://anywhere' }, 'allowed'],
  'the operator’s own addresses need no permission': [['elsewhere'], {}, 'allowed'],
  'a host on the list is allowed, in any case': [
    ['viola.team'],
    { violaEndpoint: 'https://VIOLA.team:8443' },
    'allowed',
  ],
  'a host below a domain on the list is allowed': [['*.team'], { violaEndpoint: 'https://viola.team' }, 'allowed'],
  'a host that only ends alike is not': [
    ['*.team'],
    { violaEndpoint: 'https://evilteam' },
    'spec.settings.violaEndpoint: evilteam is not in ENDPOINT_ALLOWED_HOSTS of the operator',
  ],
  'every address that asks for too much is named': [
    ['good'],
    { contrabassEndpoint: 'https://a', openstackNeutronEndpoint: 'https://b', openstackNovaEndpoint: 'https://good' },
    'spec.settings.contrabassEndpoint: a is not in ENDPOINT_ALLOWED_HOSTS of the operator; spec.settings.openstackNeutronEndpoint: b is not in ENDPOINT_ALLOWED_HOSTS of the operator',
  ],
}
for (const [name, [list, settings, said]] of Object.entries(hosts))
  test(name, async () => assert.equal(await verdict({ hosts: list, settings }), said))

const rules = `
namespaces:
  team-a: { openstackProviders: [cloud-1], projects: [${'A'.repeat(8)}-aaaa-aaaa-aaaa-${'a'.repeat(12)}] }
  lab-*: {}
`
const namespaces: Record<string, [config: OpenstackConfig, said: string]> = {
  'a namespace gets the providers and projects of its rule': [aConfig(), 'allowed'],
  'and no other project': [
    aConfig('team-a', { projectID: 'b'.repeat(32) }),
    `spec.credentials.projectID: ${'b'.repeat(32)} is not allowed in namespace team-a`,
  ],
  'and no other provider': [
    aConfig('team-a', { openstackProviderID: 'cloud-2' }),
    'spec.credentials.openstackProviderID: cloud-2 is not allowed in namespace team-a',
  ],
  'a pattern stands for many namespaces': [aConfig('lab-7', { openstackProviderID: 'cloud-9' }), 'allowed'],
  'a namespace that is called like a part of every object gets nothing': [
    aConfig('constructor'),
    'namespace constructor: no rule of the operator allows OpenstackConfigs here',
  ],
  'a namespace without a rule gets nothing': [
    aConfig('team-b'),
    'namespace team-b: no rule of the operator allows OpenstackConfigs here',
  ],
}
for (const [name, [config, said]] of Object.entries(namespaces))
  test(name, async () => assert.equal(await verdict({ rules }, config), said))

test('rules that nobody can read keep the operator from starting', async () => {
  await assert.rejects(
    verdict({ rules: 'namespaces: { team-a: { proyects: [] } }' }),
    /^Error: .*namespaces\.team-a: .*proyects/,
  )
})
