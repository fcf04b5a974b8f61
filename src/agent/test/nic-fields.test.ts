/**
 * What a NIC is to have shows on the node, or is listed here as something that does not: the last check of a run finds every
 * other value in the kernel, and every backend writes it to its files. A new field needs a row.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { backendNames } from '../../contract/backend.ts'
import { filesFor } from '../backends/files.ts'
import { hostPaths } from '../paths.ts'
import type { DesiredNic } from '../state/desired-nic.ts'
import { differences, fileDifferences } from '../verify/verify.ts'
import { afterPlan, aNode, anInterface, planOf } from './agent.fixture.ts'

/** Where the check finds that the node has another value: in the kernel, in the files of every backend. */
type Shows = 'both' | 'kernel' | 'file' | 'none'

const start = aNode(1, { directories: Object.values(hostPaths) })
const requested = [anInterface(0, { addresses: ['fd00::10/64'] })]
const [accepted] = planOf(start, requested, { MULTINIC_BACKEND: 'netplan' }).accepted
const nic = accepted?.nic ?? assert.fail('refused')
const [address, route, rule] = [nic.addresses[0], nic.routes[0], nic.rules[0]]
assert.ok(address && route && rule)
const question = { to: '10.100.0.9', from: '10.100.0.10' }

const fields = {
  index: ['file', 5],
  name: ['both', 'multinic5'],
  macAddress: ['both', 'fa:16:3e:77:77:77'],
  // In the record. The altname comes from it.
  portId: ['none', 'port-7'],
  mtu: ['both', 1400],
  // Each route and rule has it.
  table: ['none', 107],
  addresses: ['both', [...nic.addresses, { ...address, cidr: '10.100.0.77/24' }]],
  // A daemon that does not know `noprefixroute` has the metric instead.
  prefixMetric: ['none', 7],
  routes: ['both', [...nic.routes, { ...route, destination: '10.77.0.0/16', gateway: '10.100.0.7' }]],
  rules: ['both', [...nic.rules, { ...rule, from: '10.77.0.0/16', priority: 7 }]],
  sysctls: ['both', { ...nic.sysctls, 'ipv4.rp_filter': '0' }],
  // In the kernel it is a sysctl.
  acceptRa: ['file', true],
  // For the report.
  onlyBound: ['none', [{ network: '10.77.0.0/16', because: 'a test' }]],
  // In the tables that all NICs share, which have a check of their own.
  marked: ['none', { ...nic.marked, slot: 7 }],
  lookups: ['kernel', [{ ...question, by: 'nic' }]],
  // A kernel may refuse it.
  altname: ['file', 'port-7'],
  macAltname: ['file', true],
} satisfies { [field in keyof DesiredNic]-?: [Shows, NonNullable<DesiredNic[field]>] }

const onHost = { ...start, lookups: { 'route get 10.100.0.9 from 10.100.0.10': null } }

for (const [field, [shows, value]] of Object.entries(fields))
  test(`another value of ${field} is found: ${shows}`, () => {
    const other = { ...nic, [field]: value }
    for (const backend of backendNames)
      for (const managers of [{}, { 3: 'none' as const }]) {
        const env = { MULTINIC_BACKEND: backend }
        const after = afterPlan({ ...onHost, managers }, requested, env)
        const up = { ...after, links: after.links.map(link => ({ ...link, carrier: true })) }
        const found = (wanted: DesiredNic) => ({
          kernel: differences(wanted, 3, up).length > 0,
          file: fileDifferences(filesFor(backend, wanted, hostPaths, up), up).length > 0,
        })
        assert.deepEqual(found(nic), { kernel: false, file: false })
        const as = (...places: Shows[]) => places.includes(shows)
        const expected = { kernel: as('both', 'kernel'), file: as('both', 'file') }
        const inFiles = shows === 'none' ? { file: found(other).file } : {}
        assert.deepEqual(found(other), { ...expected, ...inFiles }, backend)
      }
  })
