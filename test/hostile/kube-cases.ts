/**
 * Hostile answers of the Kubernetes API to each component: lists, watches, events, writes, and reviews of callers.
 */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { openstackConfigFor } from '../../sandbox/lifecycle/install.ts'
import { recordsPath } from '../../src/contract/inventory.ts'
import { planPath } from '../../src/contract/operator-api.ts'
import { providerHeader, violaPath } from '../../src/contract/viola.ts'
import { clusterId, type OperatorEnvironment } from '../operator/environment.ts'
import { eventually } from '../support/eventually.ts'
import { bodies, type Expected } from './bodies.ts'
import { answers } from './connections.ts'
import { type HostileKube, type Kind, type KubeCase, kubeTarget, reviews, type Verb } from './kube.ts'

export interface KubeCases {
  name: string
  run(url: string): Promise<void>
}

export interface KubeCasesOptions {
  kube: HostileKube
  environment: OperatorEnvironment
  /** Of the objects that the component reads. */
  namespace: string
}

/** What each component reads, writes and asks for. */
const uses = {
  operator: { kinds: ['openstackConfigs'], verbs: ['list', 'watch', 'event', 'write'], asked: Object.keys(reviews) },
  viola: { kinds: ['nodeConfigs'], verbs: ['list', 'watch', 'event', 'write'], asked: Object.keys(reviews) },
  controller: { kinds: ['nodeConfigs', 'nodes', 'pods', 'jobs'], verbs: ['list', 'watch', 'event'], asked: [] },
  inventory: { kinds: [], verbs: [], asked: Object.keys(reviews) },
} satisfies Record<string, { kinds: Kind[]; verbs: Verb[]; asked: string[] }>

export type KubeUser = keyof typeof uses

export function kubeCases(component: KubeUser, { kube, environment, namespace }: KubeCasesOptions): KubeCases[] {
  const { kinds, verbs, asked } = uses[component]
  const hostile: [string, KubeCase['answer']][] = [
    ...Object.entries(bodies).map(([name, body]): [string, KubeCase['answer']] => [name, { body }]),
    ...Object.entries(answers).map(([name, raw]): [string, KubeCase['answer']] => [name, { raw }]),
  ]
  const provoke = provocations(environment)[component]
  const manyRequests = component === 'viola' ? requestsDuringList(kube, environment, namespace) : []
  const cases = hostile.flatMap(([what, answer], index) => {
    // They take turns with every answer: all of them use the same client.
    const kind = kinds[index % kinds.length]
    const taken = verbs.filter((_, at) => (index + at) % 2 === 0)
    const review = asked[index % asked.length]
    const target = review && reviews[review]
    return [
      ...taken.flatMap((verb): KubeCases[] =>
        kind
          ? [
              {
                name: `${component}: ${verb} of ${kind} answers ${what}`,
                run: url =>
                  kube.attack({ ...kubeTarget(kind, verb, namespace), answer }, async () => {
                    if (verb === 'write') await provoke?.(url)
                  }),
              },
            ]
          : [],
      ),
      ...(target
        ? [
            {
              name: `${component}: ${review} answers ${what}`,
              run: (url: string) => kube.attack({ ...target, answer }, async () => provoke?.(url, review)),
            },
          ]
        : []),
    ]
  })
  return [...cases, ...kinds.map(kind => endlessPages(component, kind, kube, namespace)), ...manyRequests]
}

/** Each page is just below the limits, and names a next one. */
function endlessPages(component: KubeUser, kind: Kind, kube: HostileKube, namespace: string): KubeCases {
  const target = kubeTarget(kind, 'list', namespace)
  return {
    name: `${component}: list of ${kind} answers pages without an end`,
    run() {
      const page = pageOf(target.expected)
      return kube.attack({ ...target, answer: { body: to => void to.end(page) } }, () => sleep(4_000))
    },
  }
}

/** Elements are commas and brackets. */
const listOf = ({ head, tail, entry }: Expected, unit: string, count: number) =>
  `${head}${JSON.stringify(entry(0)).slice(0, -1)},"more":[${`${unit},`.repeat(count)}0]}${tail}`
const emptiesOf = (expected: Expected) => listOf(expected, '{}', 290_000)
const pageOf = (expected: Expected) => emptiesOf(expected).replace('"metadata":{', '"metadata":{"continue":"next",')

/** While its watch is broken, Viola lists the cluster for requests. The lists are just below the limits. */
function requestsDuringList(kube: HostileKube, { caller }: OperatorEnvironment, namespace: string): KubeCases[] {
  const target = kubeTarget('nodeConfigs', 'list', namespace)
  const lists: Record<string, () => string> = {
    'empty objects': () => emptiesOf(target.expected),
    texts: () => listOf(target.expected, `"${'x'.repeat(99)}"`, 160_000),
    'pages without an end': () => pageOf(target.expected),
  }
  return Object.entries(lists).map(([what, list]) => ({
    name: `viola: a hundred requests during a list of ${what}`,
    run: url => {
      const headers = { authorization: `Bearer ${caller.token}`, [providerHeader]: 'p' }
      const request = () =>
        fetch(`${url}${violaPath}`, { headers, signal: AbortSignal.timeout(10_000) }).then(
          answer => answer.arrayBuffer(),
          () => {},
        )
      const text = list()
      return kube.attack({ ...target, answer: { body: to => void to.end(text) } }, async () => {
        // Until then it answers from its cache.
        await eventually(async () => assert.match(await (await fetch(`${url}/readyz`)).text(), /"up":false/))
        await Promise.all(Array.from({ length: 100 }, request))
      })
    },
  }))
}

type Provocation = (url: string, review?: string) => Promise<void>

/** Requests that make a component ask for a review or write. Ids are new, because results of reviews are cached. */
function provocations(environment: OperatorEnvironment): Partial<Record<KubeUser, Provocation>> {
  const { token } = environment.caller
  const send = async (url: string, method: string, body: unknown, review?: string, headers = {}) => {
    const authorization = `Bearer ${review === 'TokenReview' ? randomUUID() : token}`
    const type = { 'content-type': 'application/json' }
    await fetch(url, {
      method,
      headers: { ...headers, ...type, authorization },
      body: JSON.stringify(body),
      signal: AbortSignal.timeout(10_000),
    }).then(
      answer => answer.arrayBuffer(),
      () => {},
    )
  }
  const nodeName = 'worker-0'
  const objects = { vmNames: [nodeName], subnetIDs: ['subnet-0'] }
  return {
    async operator(url, review) {
      const name = `hostile-${randomUUID()}`
      const never = { pollFastInterval: '1h', pollSlowInterval: '1h', pollErrorInterval: '1h' }
      const settings = { contrabassEndpoint: 'http://127.0.0.1:1', violaEndpoint: 'http://127.0.0.1:1' }
      if (review) {
        const metadata = { name, namespace: name }
        const { apiVersion, kind, spec } = openstackConfigFor(environment.cloudState, { ...objects, clusterId, name })
        return send(`${url}${planPath}`, 'POST', { apiVersion, kind, metadata, spec }, review)
      }
      await environment.create({ name, ...objects, settings: { ...settings, ...never } })
    },
    viola: (url, review) =>
      send(
        `${url}${violaPath}`,
        'POST',
        [{ nodeName, interfaces: [{ id: 0, macAddress: 'fa:16:3e:00:00:01' }], instanceId: randomUUID() }],
        review,
        { [providerHeader]: randomUUID() },
      ),
    inventory: (url, review) => {
      const record = { providerId: randomUUID(), nodeName, instanceId: '', lastConfigHash: '', why: 'test' }
      return send(
        `${url}${recordsPath}`,
        'PUT',
        { records: [{ ...record, config: { nodeName, interfaces: [] } }] },
        review,
      )
    },
  }
}
