/** A delete notice is a positive signal (G2) only together with a complete listing. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Cloud } from '../../openstack/cloud.ts'
import type { Port } from '../../openstack/neutron.ts'
import type { Attachment } from '../../openstack/nova.ts'
import { askAbout, type CloudFacts } from '../observe.ts'
import type { Question } from '../plan.ts'

const question = (portId: string): Question => ({ portId, macAddress: `mac of ${portId}`, vmId: 'vm' }) as Question
const port = (id: string, deviceId = 'vm') => ({ id, deviceId, macAddress: `mac of ${id}` }) as Port

interface Given {
  questions: string[]
  told: string[]
  /** The listing of the VMs' ports. */
  listed: Port[]
  /** What Neutron still has, by id. */
  known?: Port[]
  /** What Nova says is on the VM. */
  attached?: string[]
}

/** `a detached, b attached; Nova was asked` */
async function answered({ questions, told, listed, known = [], attached = [] }: Given): Promise<string> {
  let asked = 'Nova was not asked'
  const cloud = {
    portsById: async (ids: readonly string[]) => known.filter(({ id }) => ids.includes(id)),
    portsByMac: async () => [],
    async interfacesOf() {
      asked = 'Nova was asked'
      return attached.map(portId => ({ portId, macAddress: '' }) as Attachment)
    },
  } as unknown as Cloud
  const facts = { ports: listed, vms: [{ entry: 'vm', id: 'vm', state: 'known' }] } as unknown as CloudFacts
  const { answers, ports } = await askAbout(cloud, {
    questions: questions.map(question),
    facts,
    deletedPorts: new Set(told),
    signal: new AbortController().signal,
  })
  const words = [...[...answers].map(([id, answer]) => `${id} ${answer}`), ...ports.map(({ id }) => `${id} found`)]
  return [...words, asked].join('; ')
}

const primary = port('primary')
const cases: Record<string, [given: Given, expected: string]> = {
  'told, and the rest is listed: it is gone': [
    { questions: ['a'], told: ['a'], listed: [primary] },
    'a detached; Nova was not asked',
  ],
  'not told: Nova has the last word': [{ questions: ['a'], told: [], listed: [primary] }, 'a detached; Nova was asked'],
  'told, but nothing at all is listed, as for a token that lost its role': [
    { questions: ['a'], told: ['a'], listed: [], attached: ['a'] },
    'a attached; Nova was asked',
  ],
  'told of one, but another one is missing too: the listing is not complete': [
    { questions: ['a', 'b'], told: ['a'], listed: [primary], attached: ['a', 'b'] },
    'a attached; b attached; Nova was asked',
  ],
  'told, but Neutron still has it on the VM: the notice was wrong': [
    { questions: ['a'], told: ['a'], listed: [primary], known: [port('a')] },
    'a found; Nova was not asked',
  ],
}
for (const [name, [given, expected]] of Object.entries(cases))
  test(name, async () => assert.equal(await answered(given), expected))
