/** A delete notification is positive evidence (G2) only together with a complete port list. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Attachment, Cloud, Port } from '../cloud.ts'
import { type CloudState, checkMissingPorts } from '../observe/observe.ts'
import type { MissingPort } from '../plan/removals.ts'

const missingPort = (portId: string): MissingPort => ({ portId, macAddress: `mac of ${portId}`, vmId: 'vm' })
const port = (id: string, serverId = 'vm') => ({ id, serverId, macAddress: `mac of ${id}` }) as Port

interface Given {
  missing: string[]
  /** Ports that a notification reported as deleted. */
  deleted: string[]
  /** The port list. */
  listed: Port[]
  /** Ports that Neutron returns by id. */
  known?: Port[]
  /** Ports that Nova lists on the VM. */
  attached?: string[]
}

/** `a detached; b attached; Nova was called` */
async function check({ missing, deleted, listed, known = [], attached = [] }: Given): Promise<string> {
  let nova = 'Nova was not called'
  const cloud = {
    portsById: async (ids: readonly string[]) => known.filter(({ id }) => ids.includes(id)),
    portsByMac: async () => [],
    async attachmentsOf() {
      nova = 'Nova was called'
      return attached.map(portId => ({ portId, macAddress: '' }) as Attachment)
    },
  } as unknown as Cloud
  const vms = [{ entry: 'vm', id: 'vm', state: 'found' }]
  const state = { ports: listed, vms, subnets: [] } as unknown as CloudState
  const { portChecks, ports } = await checkMissingPorts(cloud, {
    missing: missing.map(missingPort),
    state,
    deletedPorts: new Set(deleted),
    signal: new AbortController().signal,
  })
  const checks = [...portChecks].map(([id, result]) => `${id} ${result}`)
  return [...checks, ...ports.map(({ id }) => `${id} found`), nova].join('; ')
}

const primary = port('primary')
const cases: Record<string, [given: Given, expected: string]> = {
  'reported as deleted and the rest is listed: detached': [
    { missing: ['a'], deleted: ['a'], listed: [primary] },
    'a detached; Nova was not called',
  ],
  'not reported as deleted: Nova decides': [
    { missing: ['a'], deleted: [], listed: [primary] },
    'a detached; Nova was called',
  ],
  'reported as deleted, but the list is empty, as for a token that lost its role': [
    { missing: ['a'], deleted: ['a'], listed: [], attached: ['a'] },
    'a attached; Nova was called',
  ],
  'one is reported as deleted, but another one is missing too: the list is incomplete': [
    { missing: ['a', 'b'], deleted: ['a'], listed: [primary], attached: ['a', 'b'] },
    'a attached; b attached; Nova was called',
  ],
  'reported as deleted, but Neutron still has it on the VM: the notification was wrong': [
    { missing: ['a'], deleted: ['a'], listed: [primary], known: [port('a')] },
    'a found; Nova was not called',
  ],
}
for (const [name, [given, expected]] of Object.entries(cases))
  test(name, async () => assert.equal(await check(given), expected))
