import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { parse } from 'yaml'
import * as z from 'zod'
import { contrabassAnswer } from './contrabass.ts'
import { parseDuration } from './duration.ts'
import { completeInterfaces } from './interfaces.ts'
import { bizConfigSpec, bizConfigStatus, oldBizConfigGroup } from './legacy/biz-config.ts'
import { nodeConfigSpec, nodeConfigStatus } from './node-config.ts'
import { openstackConfig } from './openstack-config.ts'
import { duration, timestamp } from './text.ts'
import { violaPost } from './viola.ts'

const directory = join(import.meta.dirname, '../../test/samples')

function sample<S extends z.ZodType>(name: string, schema: S): z.output<S> {
  // JSON is YAML.
  const parsed = schema.safeParse(parse(readFileSync(join(directory, name), 'utf8')))
  assert.ok(parsed.success, parsed.error?.message)
  return parsed.data
}

const nodeConfig = z.object({ spec: nodeConfigSpec, status: nodeConfigStatus })
const bizConfig = z.object({ apiVersion: z.string(), spec: bizConfigSpec, status: bizConfigStatus.optional() })
/** Existing monitoring relies on these names. */
const controllerHealth = z.object({
  status: z.enum(['healthy', 'degraded', 'unhealthy']),
  uptime: duration,
  processed_configs: z.int().min(0),
  active_jobs: z.int().min(0),
  crd_watcher_status: z.enum(['running', 'stopped']),
  last_crd_processed: z.union([timestamp, z.literal('')]).nullish(),
})

const checks: Record<string, () => void> = {
  'openstackconfig.yaml': () => {
    const { spec } = sample('openstackconfig.yaml', openstackConfig)
    assert.equal(spec.subnetID, 'subnet-uuid')
    assert.equal(spec.vmNames?.length, 3)
    assert.equal(spec.credentials?.k8sProviderID, 'f5861c22-b252-42b5-a0c5-cfb1d245c819')
  },
  'multinicnodeconfig.yaml': () => {
    const { spec, status } = sample('multinicnodeconfig.yaml', nodeConfig)
    const { interfaces, errors } = completeInterfaces(spec.interfaces)
    assert.deepEqual(errors, [])
    assert.deepEqual(
      interfaces.map(({ name }) => name),
      ['multinic1', 'multinic2'],
    )
    assert.equal(status?.state, 'Configured')
    assert.equal(status?.interfaceStatuses?.length, 2)
  },
  'multinicbizconfig.yaml': () => {
    const { apiVersion, spec, status } = sample('multinicbizconfig.yaml', bizConfig)
    assert.equal(apiVersion, `${oldBizConfigGroup}/v1`)
    for (const node of spec.nodeConfigs) assert.deepEqual(completeInterfaces(node.interfaces).errors, [])
    assert.equal(status?.summary?.pendingNodes, 2)
  },
  'viola-post.json': () => {
    const [node] = sample('viola-post.json', violaPost)
    const { interfaces, errors } = completeInterfaces(node?.interfaces ?? [])
    assert.deepEqual(errors, [])
    assert.equal(interfaces[0]?.name, 'multinic1')
    assert.equal(interfaces[0]?.macAddress, '00:1a:2b:3c:4d:5e')
  },
  'contrabass-provider.json': () => {
    const { data } = sample('contrabass-provider.json', contrabassAnswer)
    assert.equal(data?.url, 'http://keystone.example.com:5000/v3')
    assert.equal(data?.attributes.domain, 'default')
  },
  'healthz.json': () => {
    const { uptime } = sample('healthz.json', controllerHealth)
    assert.equal(parseDuration(uptime), 8_130_000)
  },
}

for (const [name, check] of Object.entries(checks)) test(`the sample ${name} is accepted as it stands`, check)

for (const name of ['sample-multinicclusterconfig.yaml', 'sample-multinicclusterconfig-dev.yaml'])
  test(`test/${name} is a MultiNicBizConfig that can be used`, () => {
    const { spec, apiVersion } = sample(`../${name}`, bizConfig)
    assert.equal(apiVersion, 'multinic.io/v1')
    for (const node of spec.nodeConfigs) assert.deepEqual(completeInterfaces(node.interfaces).errors, [])
  })

test('every sample is checked', () => {
  assert.deepEqual(readdirSync(directory).sort(), Object.keys(checks).sort())
})
