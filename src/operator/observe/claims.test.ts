import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { OpenstackConfig } from '../../contract/openstack-config.ts'
import { createClaims } from './claims.ts'

const vmId = (n: number) => `00000000-0000-4000-8000-00000000000${n}`

function aConfig(name: string, spec: Partial<OpenstackConfig['spec']>, k8sProviderID = 'biz-1'): OpenstackConfig {
  return {
    metadata: { name, namespace: 'ns' },
    spec: { subnetIDs: ['subnet'], credentials: { k8sProviderID }, ...spec },
  } as OpenstackConfig
}

const byNames = aConfig('by-names', { vmNames: [vmId(1), 'worker-1'] })
const bySelector = aConfig('by-selector', { vmNames: [vmId(2)], vmSelector: { namePattern: '*' } })
const all = [byNames, bySelector, aConfig('refused', {}), aConfig('elsewhere', {}, 'biz-2')]
const policy = { admits: ({ metadata }: OpenstackConfig) => metadata.name !== 'refused', version: () => 0 }
const claimsOf = createClaims(policy)
const claims = (source: string, selected: string[]) =>
  claimsOf(all, { providerId: 'biz-1', source, selectedVms: () => selected })

test('the claims of an object are those of the others of its cluster that the policy admits', () => {
  const vms = (source: string) => claims(source, [vmId(3)]).map(({ source, vmIds }) => [source, ...vmIds])
  assert.deepEqual(vms('ns/third'), [
    ['ns/by-names', vmId(1)],
    ['ns/by-selector', vmId(2), vmId(3)],
  ])
  assert.deepEqual(vms('ns/by-selector'), [['ns/by-names', vmId(1)]])
})

test('all objects share the claim of an unchanged object, and what a selector finds is always current', () => {
  assert.equal(claims('ns/third', [])[0], claims('ns/fourth', [])[0])
  assert.deepEqual(claims('ns/third', [])[1]?.vmIds, [vmId(2)])
  assert.deepEqual(claims('ns/third', [vmId(4)])[1]?.vmIds, [vmId(2), vmId(4)])
})
