/**
 * A Kubernetes API between a component and the real one. It passes everything on, except the requests of the case that runs:
 * they get a hostile answer.
 */
import { readFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { request } from 'node:https'
import type { AddressInfo } from 'node:net'
import { stringify } from 'yaml'
import type { KubeApi } from '../../sandbox/kube/server.ts'
import { nodeConfigs } from '../../src/contract/node-config.ts'
import { openstackConfigs } from '../../src/contract/openstack-config.ts'
import { collectionPath } from '../../src/kube/paths.ts'
import { jobs, nodes, pods } from '../../src/kube/resources.ts'
import type { Resource } from '../../src/kube/types.ts'
import { eventually } from '../support/eventually.ts'
import type { Body, Expected } from './bodies.ts'
import type { answers } from './connections.ts'

export type Verb = 'list' | 'watch' | 'event' | 'write' | 'review'

export interface KubeCase {
  verb: Verb
  /** A part of the path. */
  path: string
  expected: Expected
  answer: { body: Body } | { raw: (typeof answers)[string] }
}

export interface HostileKube extends AsyncDisposable {
  /** Path of a kubeconfig for the component. */
  kubeconfig: string
  /** Answers so until the component has read an answer, at most for a while. */
  attack(hostile: KubeCase, provoke: () => Promise<void>): Promise<void>
}

/** An answer without an end need not be waited for: the component has read most of it by then. */
const attackMs = 2_000

export async function startHostileKube(api: KubeApi, kubeconfig: string): Promise<HostileKube> {
  const ca = readFileSync(api.caFile)
  const watches = new Set<{ path: string; response: ServerResponse }>()
  let current: { hostile: KubeCase; answered: () => void } | undefined

  const server = createServer((incoming, response) => {
    const path = incoming.url ?? '/'
    response.on('error', () => {})
    const isWatch = path.includes('watch=true')
    if (isWatch) {
      const watch = { path, response }
      watches.add(watch)
      response.once('close', () => watches.delete(watch))
    }
    if (!current || !concerns(current.hostile, incoming, isWatch)) return forward(incoming, response, isWatch)
    const { hostile, answered } = current
    // The component lists only after its watch has expired.
    if (hostile.verb === 'list' && isWatch) return void response.writeHead(410).end('{}')
    incoming.resume()
    response.once('close', answered)
    const { answer } = hostile
    if ('raw' in answer) return void answer.raw(incoming.socket)
    response.writeHead(200, { 'content-type': 'application/json' })
    void answer.body(response, hostile.expected)
  })
  server.on('connection', socket => socket.on('error', () => {}))
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  await writeFile(kubeconfig, kubeconfigText(url, api.token), { mode: 0o600 })

  function forward(incoming: IncomingMessage, response: ServerResponse, isWatch: boolean): void {
    const { method, headers, url: path } = incoming
    const onward = request(`${api.url}${path}`, { ca, method, headers }, answer => {
      response.writeHead(answer.statusCode ?? 502, answer.headers)
      // A watch that works starts the backoff of the component again.
      if (isWatch && answer.statusCode === 200) response.write(bookmarkOf(path ?? ''))
      answer.pipe(response)
    })
    onward.on('error', () => response.destroy())
    response.once('close', () => onward.destroy())
    incoming.pipe(onward)
  }

  return {
    kubeconfig,
    async attack(hostile, provoke) {
      const answered = Promise.withResolvers<void>()
      const isWatched = hostile.verb !== 'write' && hostile.verb !== 'review'
      if (isWatched) await isOpen(hostile.path)
      const timer = setTimeout(() => {
        answered.resolve()
        // What is still being sent would go on during the next case.
        server.closeAllConnections()
      }, attackMs)
      current = { hostile, answered: answered.resolve }
      try {
        for (const { path, response } of watches) if (isWatched && path.includes(hostile.path)) response.destroy()
        await Promise.all([answered.promise, provoke()])
      } finally {
        clearTimeout(timer)
        current = undefined
      }
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise(resolve => server.close(resolve))
    },
  }

  /** The component has recovered from the case before. */
  async function isOpen(path: string): Promise<void> {
    await eventually(
      () => {
        if (![...watches].some(watch => watch.path.includes(path))) throw new Error(`no watch of ${path}`)
      },
      { within: 60_000, every: 20 },
    )
  }
}

function concerns({ verb, path }: KubeCase, { method, url = '' }: IncomingMessage, isWatch: boolean): boolean {
  if (!url.includes(path)) return false
  if (verb === 'write' || verb === 'review') return method !== 'GET'
  return method === 'GET' && (verb === 'list' || isWatch)
}

function bookmarkOf(path: string): string {
  const resourceVersion = new URL(path, 'http://x').searchParams.get('resourceVersion') ?? ''
  return `${JSON.stringify({ type: 'BOOKMARK', object: { metadata: { resourceVersion } } })}\n`
}

function kubeconfigText(server: string, token: string): string {
  return stringify({
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'x',
    contexts: [{ name: 'x', context: { cluster: 'x', user: 'x' } }],
    clusters: [{ name: 'x', cluster: { server } }],
    users: [{ name: 'x', user: { token } }],
  })
}

/** Valid objects, of which a hostile body makes its own. */
const objects: Record<Kind, { resource: Resource; entry: (namespace: string, n: number) => object }> = {
  nodeConfigs: {
    resource: nodeConfigs as unknown as Resource,
    entry: (namespace, n) => ({
      metadata: { namespace, ...metadata(n), generation: 1 },
      spec: {
        nodeName: `worker-${n}`,
        instanceId: `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`,
        interfaces: [{ id: 0, name: 'multinic0', macAddress: 'fa:16:3e:00:00:01', address: '10.0.0.1' }],
      },
      status: { state: 'Configured', conditions: [{ type: 'Ready', status: 'True', message: 'x' }] },
    }),
  },
  nodes: {
    resource: nodes as Resource,
    entry: (_, n) => ({
      metadata: metadata(n),
      spec: { podCIDR: '10.244.0.0/24' },
      status: {
        nodeInfo: { systemUUID: `u${n}`, bootID: 'b', osImage: 'Ubuntu 24.04' },
        conditions: [{ type: 'Ready', status: 'True' }],
        addresses: [{ type: 'InternalIP', address: '10.0.0.11' }],
      },
    }),
  },
  pods: {
    resource: pods as unknown as Resource,
    entry: (namespace, n) => ({
      metadata: { namespace, ...metadata(n), ownerReferences: [{ kind: 'Job', name: 'x', uid: 'x' }] },
      spec: { nodeName: `worker-${n}`, containers: [{ name: 'agent' }] },
      status: {
        phase: 'Failed',
        message: 'x',
        containerStatuses: [{ name: 'agent', state: { terminated: { exitCode: 0, message: '{"node":"worker-0"}' } } }],
      },
    }),
  },
  jobs: {
    resource: jobs as unknown as Resource,
    entry: (namespace, n) => ({
      metadata: { namespace, ...metadata(n), labels: { x: 'y' }, annotations: { x: 'y' } },
      spec: { template: { spec: { nodeName: `worker-${n}`, containers: [{ name: 'agent', env: [] }] } } },
      status: { conditions: [{ type: 'Complete', status: 'True', message: 'x' }] },
    }),
  },
  openstackConfigs: {
    resource: openstackConfigs as unknown as Resource,
    entry: (namespace, n) => ({
      metadata: { namespace, ...metadata(n), generation: 1 },
      spec: {
        subnetIDs: ['subnet-0'],
        vmNames: ['worker-0'],
        credentials: { openstackProviderID: 'o', k8sProviderID: 'k', projectID: 'a'.repeat(32) },
        settings: { contrabassEndpoint: 'http://127.0.0.1:1', violaEndpoint: 'http://127.0.0.1:1' },
      },
    }),
  },
}

function metadata(n: number) {
  return { name: `hostile-${n}`, uid: `uid-${n}`, resourceVersion: String(n + 1), labels: { app: 'multinic-agent' } }
}

export type Kind = 'nodeConfigs' | 'nodes' | 'pods' | 'jobs' | 'openstackConfigs'

/** Where a component reads or writes objects of a kind, and the form of the answer there. */
export function kubeTarget(kind: Kind, verb: Verb, namespace: string): Pick<KubeCase, 'verb' | 'path' | 'expected'> {
  const { resource, entry } = objects[kind]
  const path = collectionPath(resource, verb === 'write' || kind !== 'openstackConfigs' ? namespace : undefined)
  const of = (n: number) => entry(namespace, n)
  const first = JSON.stringify(of(0))
  const forms: Record<Verb, Expected> = {
    list: { head: '{"kind":"List","metadata":{"resourceVersion":"1"},"items":[', tail: ']}', entry: of },
    // The entries are a list inside of one object.
    watch: { head: `{"type":"ADDED","object":${first.slice(0, -1)},"more":[`, tail: ']}}\n', entry: of },
    event: { head: '{"type":"ADDED","object":', tail: '}\n', entry: of },
    write: { head: `${first.slice(0, -1)},"more":[`, tail: ']}', entry: of },
    review: { head: '', tail: '', entry: of },
  }
  return { verb, path, expected: forms[verb] }
}

/** Reviews of callers and of their rights. */
export const reviews: Record<string, Pick<KubeCase, 'verb' | 'path' | 'expected'>> = {
  TokenReview: {
    verb: 'review',
    path: '/tokenreviews',
    expected: {
      head: '{"status":{"authenticated":true,"audiences":["multinic"],"user":{"username":"u","groups":[',
      tail: ']}}}',
      entry: () => ({ name: 'system:masters' }),
    },
  },
  SubjectAccessReview: {
    verb: 'review',
    path: '/subjectaccessreviews',
    expected: { head: '{"status":{"reason":[', tail: '],"allowed":true}}', entry: () => ({ allowed: true }) },
  },
}
