/**
 * Stubs of Viola: one with GET, POST and DELETE, and one that serves only the documented POST.
 */
import { providerHeader, violaPath } from '../../src/contract/viola.ts'
import { type StubRequest, type StubResponse, type StubServer, startStubServer } from '../openstack/stub-server.ts'

interface Node {
  nodeName: string
  interfaces: { portId: string }[]
}

export interface ViolaStub extends StubServer {
  /** `worker-1 port-1 port-2`, for all providers. */
  delivered(): string[]
  /** Called first. Its response replaces the normal one, and nothing is stored. */
  fault: (request: StubRequest) => StubResponse | undefined
  /** The answer to a POST is lost after its nodes are stored. */
  losesAnswers: boolean
}

/** Stores the nodes by provider. */
export async function startViolaStub(): Promise<ViolaStub> {
  const byProvider = new Map<string, Map<string, Node>>()
  let version = 0
  const server = await startStubServer(request => {
    const { method, path, headers, body } = request
    const fault = viola.fault(request)
    if (fault) return fault
    const provider = String(headers[providerHeader])
    const nodes = byProvider.get(provider) ?? new Map<string, Node>()
    byProvider.set(provider, nodes)
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
    if (viola.losesAnswers) return { status: 200, cut: true }
    const results = sent.map(({ nodeName }) => ({ nodeName, action: 'updated', specHash: 'h' }))
    return { status: 200, body: { applied: sent.length, output: '', results } }
  })
  const all = () => [...byProvider.values()].flatMap(nodes => [...nodes.values()])
  const viola: ViolaStub = {
    ...server,
    delivered: () =>
      all().map(({ nodeName, interfaces }) => [nodeName, ...interfaces.map(({ portId }) => portId)].join(' ')),
    fault: () => undefined,
    losesAnswers: false,
  }
  return viola
}

export function startPostOnlyViolaStub(): Promise<StubServer> {
  return startStubServer(({ method, body }) => {
    if (method !== 'POST') return { status: 405, body: 'method not allowed' }
    return { status: 200, body: { applied: (JSON.parse(body) as Node[]).length, output: '' } }
  })
}
