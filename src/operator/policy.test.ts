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

async function check(
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

const hosts: Record<string, [hosts: string[], settings: Settings, expected: string]> = {
  'without a list every host is allowed': [[], { violaEndpoint: 'https://anywhere' }, 'allowed'],
  'the operator’s own endpoints are always allowed': [['elsewhere'], {}, 'allowed'],
  'a host on the list is allowed, regardless of case': [
    ['viola.team'],
    { violaEndpoint: 'https://VIOLA.team:8443' },
    'allowed',
  ],
  'a host of a domain on the list is allowed': [['*.team'], { violaEndpoint: 'https://viola.team' }, 'allowed'],
  'a host that only ends with the same text is not allowed': [
    ['*.team'],
    { violaEndpoint: 'https://evilteam' },
    'spec.settings.violaEndpoint: evilteam is not in ENDPOINT_ALLOWED_HOSTS of the operator',
  ],
  'every endpoint that is not allowed is named': [
    ['good'],
    { contrabassEndpoint: 'https://a', openstackNeutronEndpoint: 'https://b', openstackNovaEndpoint: 'https://good' },
    'spec.settings.contrabassEndpoint: a is not in ENDPOINT_ALLOWED_HOSTS of the operator; spec.settings.openstackNeutronEndpoint: b is not in ENDPOINT_ALLOWED_HOSTS of the operator',
  ],
}
for (const [name, [list, settings, expected]] of Object.entries(hosts))
  test(name, async () => assert.equal(await check({ hosts: list, settings }), expected))

const rules = `
namespaces:
  team-a: { openstackProviders: [cloud-1], projects: [${'A'.repeat(8)}-aaaa-aaaa-aaaa-${'a'.repeat(12)}] }
  lab-*: {}
`
const namespaces: Record<string, [config: OpenstackConfig, expected: string]> = {
  'a namespace may use the providers and projects of its rule': [aConfig(), 'allowed'],
  'a namespace may use no other project': [
    aConfig('team-a', { projectID: 'b'.repeat(32) }),
    `spec.credentials.projectID: ${'b'.repeat(32)} is not allowed in namespace team-a`,
  ],
  'a namespace may use no other provider': [
    aConfig('team-a', { openstackProviderID: 'cloud-2' }),
    'spec.credentials.openstackProviderID: cloud-2 is not allowed in namespace team-a',
  ],
  'a pattern matches several namespaces': [aConfig('lab-7', { openstackProviderID: 'cloud-9' }), 'allowed'],
  'a namespace with the name of an object property is not allowed': [
    aConfig('constructor'),
    'namespace constructor: no rule in NAMESPACE_RULES_FILE of the operator allows OpenstackConfigs',
  ],
  'a namespace without a rule is not allowed': [
    aConfig('team-b'),
    'namespace team-b: no rule in NAMESPACE_RULES_FILE of the operator allows OpenstackConfigs',
  ],
}
for (const [name, [config, expected]] of Object.entries(namespaces))
  test(name, async () => assert.equal(await check({ rules }, config), expected))

test('the operator does not start with invalid rules', async () => {
  await assert.rejects(
    check({ rules: 'namespaces: { team-a: { proyects: [] } }' }),
    /^Error: .*namespaces\.team-a: .*proyects/,
  )
})
