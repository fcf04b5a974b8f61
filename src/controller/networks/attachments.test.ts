import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { NodeConfig } from '../../contract/node-config.ts'
import { aConfig } from '../controller.fixture.ts'
import {
  type Attachment,
  type AttachmentPlan,
  type AttachmentSettings,
  networksOf,
  planAttachments,
} from './attachments.ts'

const settings: AttachmentSettings = { namespaces: ['default'], plugin: 'ipvlan', ipam: {} }
const labels = { 'multinic.io/controller': 'multinic-system' }
const ipam = { type: 'whereabouts', range: '10.10.0.128/26' }

/** With the MTU of the first interface; `device` leaves it out. */
function nodeWith(name: string, aliases: string[], mtu: number | 'device' = 1450, metadata = {}): NodeConfig {
  const config = structuredClone(aConfig({ name, nics: 2, aliases, metadata }))
  const [first] = config.spec.interfaces
  if (first) first.mtu = mtu === 'device' ? undefined : mtu
  return config
}

const configOf = (more: object = {}) => ({
  cniVersion: '0.3.1',
  type: 'ipvlan',
  master: 'multinic0',
  mtu: 1450,
  ...more,
})

function definition(config: object | string, own: Record<string, string> = labels, name = 'storage'): Attachment {
  return {
    apiVersion: 'k8s.cni.cncf.io/v1',
    kind: 'NetworkAttachmentDefinition',
    metadata: { name, namespace: 'default', uid: 'u', resourceVersion: '5', labels: own },
    spec: { config: typeof config === 'string' ? config : JSON.stringify(config) },
  }
}

function plan(
  configs: NodeConfig[],
  existing: Attachment[] = [],
  more: Partial<AttachmentSettings> = {},
): AttachmentPlan {
  return planAttachments('default', existing, networksOf(configs), { ...settings, ...more }, 'multinic-system')
}

/** `create storage {…}`: the step, the name, and the configuration that it writes. */
function textOf({ steps, problems }: AttachmentPlan): string[] {
  const written = steps.map(step => {
    const config = step.do === 'create' ? step.object.spec?.config : step.do === 'update' ? step.config : undefined
    return [step.do, step.object.metadata.name, ...(config ? [JSON.stringify(JSON.parse(config))] : [])].join(' ')
  })
  return [...written, ...problems]
}

const json = (more: object = {}) => JSON.stringify(configOf(more))
const current = definition(configOf())
const one = [nodeWith('w1', ['storage'])]

const cases: [name: string, found: AttachmentPlan, expected: string[]][] = [
  ['a network with an alias gets a definition', plan(one), [`create storage ${json()}`]],
  ['a network without one gets none', plan([nodeWith('w1', [])]), []],
  [
    'the other plugin, and an ipam section of the settings',
    plan(one, [], { plugin: 'macvlan', ipam: { storage: ipam } }),
    [`create storage ${json({ type: 'macvlan', ipam })}`],
  ],
  ['one definition for a network on many nodes', plan([...one, nodeWith('w2', ['storage'])], [current]), []],
  [
    'the smallest MTU of the nodes',
    plan([...one, nodeWith('w2', ['storage'], 1400)]),
    [`create storage ${json({ mtu: 1400 })}`],
  ],
  [
    'no MTU if a node keeps that of its device',
    plan([...one, nodeWith('w2', ['storage'], 'device')], [current]),
    ['update storage {"cniVersion":"0.3.1","type":"ipvlan","master":"multinic0"}'],
  ],
  [
    'keys of the user survive an update',
    plan([nodeWith('w1', ['storage'], 1400)], [definition(configOf({ mode: 'l3', ipam }))]),
    [`update storage ${json({ mtu: 1400, mode: 'l3', ipam })}`],
  ],
  ['keys of the user alone are no reason to write', plan(one, [definition(configOf({ mode: 'l3', ipam }))]), []],
  [
    'an edit of a key of the controller is undone',
    plan(one, [definition(configOf({ master: 'eth0', ipam }))]),
    [`update storage ${json({ ipam })}`],
  ],
  [
    'an ipam section of the settings replaces another one',
    plan(one, [definition(configOf({ ipam: { type: 'dhcp' } }))], { ipam: { storage: ipam } }),
    [`update storage ${json({ ipam })}`],
  ],
  ['a definition goes with its network', plan([nodeWith('w1', [])], [current]), ['delete storage']],
  [
    'a config that is being deleted has no network',
    plan([nodeWith('w1', ['storage'], 1450, { deletionTimestamp: '2026-01-01T00:00:00Z' })], [current]),
    ['delete storage'],
  ],
  ['a renamed alias', plan([nodeWith('w1', ['disks'])], [current]), ['delete storage', `create disks ${json()}`]],
  [
    'definitions of others stay',
    plan([], [definition('{}', {}), definition('{}', { 'multinic.io/controller': 'x' })]),
    [],
  ],
  [
    'a definition of somebody else has the name',
    plan(one, [definition({ type: 'bridge' }, {})]),
    ['default/storage is not written: a definition without label multinic.io/controller=multinic-system has the name'],
  ],
  [
    'a definition that the user broke',
    plan(one, [definition('{')]),
    ['default/storage is not updated: spec.config is not the configuration of a single plugin'],
  ],
  [
    'a definition that nests too deep to be written again',
    plan([nodeWith('w1', ['storage'], 1400)], [definition(`{"ipam":${'['.repeat(50_000)}${']'.repeat(50_000)}}`)]),
    ['default/storage is not updated: spec.config is not the configuration of a single plugin'],
  ],
  [
    'a definition that the user turned into a chain of plugins',
    plan(one, [definition({ cniVersion: '0.3.1', plugins: [configOf()] })]),
    ['default/storage is not updated: spec.config is not the configuration of a single plugin'],
  ],
  [
    'one alias for two interface names',
    plan([nodeWith('w1', ['storage', 'backup']), nodeWith('w2', ['', 'storage'])], [current]),
    [
      `create backup ${json({ master: 'multinic1' })}`,
      'default/storage is not written: it is multinic0 on node w1 and multinic1 on node w2',
    ],
  ],
]

for (const [name, found, expected] of cases)
  test(`attachments: ${name}`, () => assert.deepEqual(textOf(found), expected))

test('attachments: a new definition has the label of its controller, and an update the object that it read', () => {
  const [created] = plan(one).steps
  assert.deepEqual(created?.object.metadata, { name: 'storage', namespace: 'default', labels })
  const [updated] = plan([nodeWith('w1', ['storage'], 1400)], [current]).steps
  assert.equal(updated?.object.metadata.resourceVersion, '5')
})
