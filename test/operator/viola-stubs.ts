/**
 * Violas that answer at once, for tests about what the operator does around them: one that tells what it holds, and one
 * that has only the documented POST.
 */
import { providerHeader, violaPath } from '../../src/contract/viola.ts'
import { type Answered, type Answering, type Asked, answering } from '../openstack/stub-server.ts'

interface Node {
  nodeName: string
  interfaces: { portId: string }[]
}

export interface TellingViola extends Answering {
  /** `worker-1 port-1 port-2`, of all providers. */
  told(): string[]
  /** Asked first: what it answers is answered, and nothing is stored. */
  fault: (asked: Asked) => Answered | undefined
}

/** Keeps the nodes of each provider apart. */
export async function startTellingViola(): Promise<TellingViola> {
  const held = new Map<string, Map<string, Node>>()
  let version = 0
  const server = await answering(asked => {
    const { method, path, headers, body } = asked
    const broken = viola.fault(asked)
    if (broken) return broken
    const provider = String(headers[providerHeader])
    const nodes = held.get(provider) ?? new Map<string, Node>()
    held.set(provider, nodes)
    if (method === 'GET') {
      const items = [...nodes.values()].map(node => ({ ...node, specHash: 'h', generation: 1 }))
      return { status: 200, body: { items, resourceVersion: String(version) } }
    }
    version++
    if (method === 'DELETE') {
      nodes.delete(decodeURIComponent(path.slice(violaPath.length + 1)))
      return { status: 204 }
    }
    const sent = JSON.parse(body) as Node[]
    for (const node of sent) nodes.set(node.nodeName, node)
    const results = sent.map(({ nodeName }) => ({ nodeName, action: 'updated', specHash: 'h' }))
    return { status: 200, body: { applied: sent.length, output: '', results } }
  })
  const all = () => [...held.values()].flatMap(nodes => [...nodes.values()])
  const viola: TellingViola = {
    ...server,
    told: () =>
      all().map(({ nodeName, interfaces }) => [nodeName, ...interfaces.map(({ portId }) => portId)].join(' ')),
    fault: () => undefined,
  }
  return viola
}

export function startPostOnlyViola(): Promise<Answering> {
  return answering(({ method, body }) => {
    if (method !== 'POST') return { status: 405, body: 'method not allowed' }
    return { status: 200, body: { applied: (JSON.parse(body) as Node[]).length, output: '' } }
  })
}
