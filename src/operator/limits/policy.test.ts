import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import type { OpenstackConfig } from '../../contract/openstack-config.ts'
import type { Settings } from '../../contract/settings.ts'
import { hostNotAllowed } from '../../contract/url.ts'
import { silent } from '../../telemetry/log.ts'
import { rulesFrom } from './namespace-rules.ts'
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

interface Given {
  hosts?: string[]
  rules?: string
  settings?: Settings
}

async function check({ hosts = [], rules, settings }: Given, config = aConfig()): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), 'multinic-policy-'))
  try {
    const rulesFile = rules === undefined ? undefined : join(dir, 'rules.yaml')
    if (rulesFile !== undefined) await writeFile(rulesFile, rules ?? '')
    const policy = await openPolicy({ env, hosts, rulesFile, ownNamespaces: ['own'], log: silent })
    const object = { ...config, spec: { ...config.spec, ...(settings && { settings }) } }
    try {
      policy.admit(object)
      assert.ok(policy.admits(object))
      return 'allowed'
    } catch (error) {
      assert.ok(!policy.admits(object))
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
    `spec.settings.violaEndpoint: evilteam ${hostNotAllowed}`,
  ],
  'every endpoint that is not allowed is named': [
    ['good'],
    { contrabassEndpoint: 'https://a', openstackNeutronEndpoint: 'https://b', openstackNovaEndpoint: 'https://good' },
    `spec.settings.contrabassEndpoint: a ${hostNotAllowed}; spec.settings.openstackNeutronEndpoint: b ${hostNotAllowed}`,
  ],
}
for (const [name, [list, settings, expected]] of Object.entries(hosts))
  test(name, async () => assert.equal(await check({ hosts: list, settings }, aConfig('own')), expected))

const all = "openstackProviders: ['*'], k8sProviders: ['*'], projects: ['*']"
const rules = `
namespaces:
  '*': { openstackProviders: [], k8sProviders: [], projects: [] }
  team-a:
    hosts: ['*.team']
    openstackProviders: [cloud-1]
    k8sProviders: [biz-1]
    projects: [${'A'.repeat(8)}-aaaa-aaaa-aaaa-${'a'.repeat(12)}]
  lab-*: { hosts: ['*'], ${all} }
`
const namespaces: Record<string, [config: OpenstackConfig, settings: Settings, expected: string]> = {
  'a namespace may use the providers and projects of its rule, and the endpoints of the operator': [
    aConfig(),
    {},
    'allowed',
  ],
  'a namespace may name the hosts of its rule': [aConfig(), { violaEndpoint: 'https://viola.team' }, 'allowed'],
  'a namespace may name no other host': [
    aConfig(),
    { violaEndpoint: 'https://viola.elsewhere' },
    `spec.settings.violaEndpoint: viola.elsewhere ${hostNotAllowed}`,
  ],
  'a namespace may use no other project': [
    aConfig('team-a', { projectID: 'b'.repeat(32) }),
    {},
    `spec.credentials.projectID: ${'b'.repeat(32)} is not allowed in namespace team-a`,
  ],
  'a namespace may use no other provider': [
    aConfig('team-a', { openstackProviderID: 'cloud-2', k8sProviderID: 'biz-2' }),
    {},
    'spec.credentials.openstackProviderID: cloud-2 is not allowed in namespace team-a; spec.credentials.k8sProviderID: biz-2 is not allowed in namespace team-a',
  ],
  'the longest pattern that matches applies': [
    aConfig('lab-7', { openstackProviderID: 'cloud-9' }),
    { violaEndpoint: 'https://anywhere' },
    'allowed',
  ],
  'an own namespace needs no rule, and no pattern restricts it': [
    aConfig('own'),
    { violaEndpoint: 'https://anywhere' },
    'allowed',
  ],
}
for (const [name, [config, settings, expected]] of Object.entries(namespaces))
  test(name, async () => assert.equal(await check({ rules, settings }, config), expected))

for (const [name, given] of Object.entries({
  'operator 11: without rules a namespace other than the operator’s own is not allowed': {},
  'a namespace without a rule is not allowed': { rules: `namespaces: { team-z: { ${all} } }` },
}))
  test(`${name}, and the error prints the rule to add`, async () => {
    const text = await check({ ...given, settings: { violaEndpoint: 'https://viola.team' } })
    const [why, line = ''] = text.split('; add to NAMESPACE_RULES_FILE: ')
    assert.equal(why, 'namespace team-a: no rule of the operator allows its OpenstackConfigs')
    const added = `namespaces:\n  ${line}`
    assert.deepEqual(rulesFrom(added), {
      'team-a': {
        hosts: ['viola.team'],
        openstackProviders: ['cloud-1'],
        k8sProviders: ['biz-1'],
        projects: [project],
      },
    })
    assert.equal(await check({ rules: added, settings: { violaEndpoint: 'https://viola.team' } }), 'allowed')
  })

test('a namespace with the name of an object property is not allowed', async () => {
  assert.match(
    await check({ rules: `namespaces: { a: { ${all} } }` }, aConfig('constructor')),
    /^namespace constructor: no rule/,
  )
})

test('one line opens everything', async () => {
  const open = `namespaces: { '*': { hosts: ['*'], ${all} } }`
  assert.equal(await check({ rules: open, settings: { violaEndpoint: 'https://anywhere' } }), 'allowed')
})

for (const [name, [text, expected]] of Object.entries<[string, RegExp]>({
  'an unknown key': [`namespaces: { team-a: { ${all}, proyects: [] } }`, /^Error: .*namespaces\.team-a: .*proyects/],
  'a list that is missing': [
    "namespaces: { team-a: { openstackProviders: ['*'], k8sProviders: ['*'] } }",
    /namespaces\.team-a\.projects: list the allowed values, or "\*" for all/,
  ],
}))
  test(`the operator does not start with invalid rules: ${name}`, () =>
    assert.rejects(check({ rules: text }), expected))
