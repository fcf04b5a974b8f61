/** Lists: selectors, pages, options and deletion of collections. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { nodeConfigs } from '../../../src/contract/node-config.ts'
import { connectKube } from '../../../src/kube/client.ts'
import { collectionPath } from '../../../src/kube/paths.ts'
import { pods } from '../../../src/kube/resources.ts'
import { aNodeConfig, type KubeContext, rejection } from './context.ts'

const selectors: Record<string, string[]> = {
  'color=red': ['red-big', 'red-small'],
  'color==red': ['red-big', 'red-small'],
  'color!=red': ['blue-big', 'plain'],
  'color in (red,blue)': ['blue-big', 'red-big', 'red-small'],
  'color notin (red)': ['blue-big', 'plain'],
  'color notin (red, blue)': ['plain'],
  color: ['blue-big', 'red-big', 'red-small'],
  '!color': ['plain'],
  'color=red,size=big': ['red-big'],
  'color,size!=big': ['red-small'],
  'rank>5': ['red-big'],
  'rank<5': ['red-small'],
  'blank=': ['plain'],
}

export function listCases(context: () => KubeContext): void {
  async function withLabels(suite: string) {
    const { kube } = context()
    const things: Record<string, Record<string, string>> = {
      'red-big': { color: 'red', size: 'big', rank: '7' },
      'red-small': { color: 'red', size: 'small', rank: '3' },
      'blue-big': { color: 'blue', size: 'big' },
      plain: { blank: '' },
    }
    for (const [name, labels] of Object.entries(things)) {
      await kube.create(nodeConfigs, aNodeConfig(context(), `${suite}-${name}`, { labels: { ...labels, suite } }))
    }
  }

  test('a label selector filters the list', async () => {
    const { kube, namespace, name } = context()
    const suite = name()
    await withLabels(suite)
    for (const [selector, names] of Object.entries(selectors)) {
      const { items } = await kube.list(nodeConfigs, { namespace, labelSelector: `suite=${suite},${selector}` })
      const found = items.map(item => item.metadata.name.slice(suite.length + 1)).sort()
      assert.deepEqual(found, names, selector)
    }
    for (const labelSelector of ['a in (', 'a=1=2'])
      assert.equal((await rejection(kube.list(nodeConfigs, { namespace, labelSelector }))).status, 400, labelSelector)
  })

  test('a field selector filters by the name of any kind and by the node of Pods', async () => {
    const { kube, namespace, name } = context()
    const [one, other] = [name(), name()]
    for (const own of [one, other]) {
      await kube.create(nodeConfigs, aNodeConfig(context(), own))
      await kube.create(pods, {
        apiVersion: 'v1',
        kind: 'Pod',
        metadata: { name: own, namespace },
        spec: {
          nodeName: `${namespace}-${own}`,
          containers: [{ name: 'main', image: 'none' }],
          automountServiceAccountToken: false,
        },
      })
    }
    const byName = await kube.list(nodeConfigs, { namespace, fieldSelector: `metadata.name=${one}` })
    assert.deepEqual(
      byName.items.map(item => item.metadata.name),
      [one],
    )
    const notFinished = 'status.phase!=Failed,status.phase!=Succeeded,metadata.namespace!=default'
    const byNode = await kube.list(pods, { fieldSelector: `spec.nodeName=${namespace}-${other},${notFinished}` })
    assert.deepEqual(
      byNode.items.map(item => [item.kind, item.apiVersion, item.metadata.name]),
      [['Pod', 'v1', other]],
    )
    for (const fieldSelector of ['spec.nothing=1', 'metadata.name'])
      assert.equal((await rejection(kube.list(pods, { namespace, fieldSelector }))).status, 400, fieldSelector)
  })

  test('pages together contain the whole list', async () => {
    const { kube, namespace, name } = context()
    const suite = name()
    const names = Array.from({ length: 5 }, (_, at) => `${suite}-${at}`)
    for (const own of names) await kube.create(nodeConfigs, aNodeConfig(context(), own, { labels: { suite } }))

    const path = `${collectionPath(nodeConfigs, namespace)}?limit=2&labelSelector=suite%3D${suite}`
    const first = (await kube.raw('GET', path)).body as { items: unknown[]; metadata: { continue?: string } }
    assert.equal(first.items.length, 2)
    assert.ok(first.metadata.continue)

    const small = connectKube(kube.access, { pageSize: 2 })
    try {
      const { items, resourceVersion } = await small.list(nodeConfigs, { namespace, labelSelector: `suite=${suite}` })
      assert.deepEqual(items.map(item => item.metadata.name).sort(), names)
      assert.match(resourceVersion, /^\d+$/)
    } finally {
      await small.close()
    }
  })

  test('pages are consistent: changes between two pages are not visible', async () => {
    const { kube, namespace, name } = context()
    const suite = name()
    const make = (end: string) =>
      kube.create(nodeConfigs, aNodeConfig(context(), `${suite}-${end}`, { labels: { suite } }))
    for (const end of ['a', 'c', 'd', 'f']) await make(end)
    const page = async (more: string) => {
      const path = `${collectionPath(nodeConfigs, namespace)}?limit=2&labelSelector=suite%3D${suite}${more}`
      return (await kube.raw('GET', path)).body as {
        items: { metadata: { name: string } }[]
        metadata: { continue?: string; resourceVersion: string; remainingItemCount?: number }
      }
    }
    const first = await page('')
    await make('b')
    await make('e')
    await kube.delete(nodeConfigs, { namespace, name: `${suite}-d` })
    const pages = [first]
    // A server that filters while it reads may return a continue token for an empty page.
    for (let last = first; last.metadata.continue; pages.push(last)) {
      last = await page(`&continue=${encodeURIComponent(last.metadata.continue)}`)
      assert.equal(last.metadata.resourceVersion, first.metadata.resourceVersion)
    }
    assert.deepEqual(
      pages.flatMap(({ items }) => items.map(item => item.metadata.name.slice(suite.length + 1))),
      ['a', 'c', 'd', 'f'],
    )
    const exact = `&resourceVersion=${first.metadata.resourceVersion}&resourceVersionMatch=Exact`
    assert.equal((await page(exact)).items[1]?.metadata.name, `${suite}-c`)
  })

  test('invalid and contradicting options are rejected', async () => {
    const { kube, namespace } = context()
    const ask = (method: 'GET' | 'DELETE', query: string) =>
      rejection(kube.raw(method, `${collectionPath(nodeConfigs, namespace)}?labelSelector=matches%3Dnothing&${query}`))
    for (const query of [
      'resourceVersionMatch=Exact',
      'resourceVersion=5&resourceVersionMatch=Sometimes',
      'resourceVersion=0&resourceVersionMatch=Exact',
      'watch=1&sendInitialEvents=true',
      'watch=1&resourceVersionMatch=Exact',
    ]) {
      assert.equal((await ask('GET', query)).status, 422, query)
    }
    assert.equal((await ask('GET', 'limit=many')).status, 400)
    assert.equal((await ask('DELETE', 'dryRun=Some')).status, 422)
    assert.equal((await ask('DELETE', 'propagationPolicy=Sideways')).status, 422)
    const config = aNodeConfig(context(), 'never')
    for (const query of ['dryRun=Some', 'fieldValidation=Loose']) {
      const error = await rejection(kube.raw('POST', `${collectionPath(nodeConfigs, namespace)}?${query}`, config))
      assert.equal(error.status, 422, query)
    }
  })

  test('a collection is deleted by a label selector', async () => {
    const { kube, namespace, name } = context()
    const suite = name()
    for (const end of ['a', 'b', 'c']) {
      const labels = { suite, ...(end !== 'c' && { remove: 'yes' }) }
      await kube.create(nodeConfigs, aNodeConfig(context(), `${suite}-${end}`, { labels }))
    }
    await kube.raw('DELETE', `${collectionPath(nodeConfigs, namespace)}?labelSelector=suite%3D${suite}%2Cremove`)
    const { items } = await kube.list(nodeConfigs, { namespace, labelSelector: `suite=${suite}` })
    assert.deepEqual(
      items.map(item => item.metadata.name),
      [`${suite}-c`],
    )
  })

  test('an invalid continue token is rejected', async () => {
    const { kube, namespace } = context()
    const error = await rejection(
      kube.raw('GET', `${collectionPath(nodeConfigs, namespace)}?limit=1&continue=nonsense`),
    )
    assert.equal(error.status, 400)
  })

  test('an empty list has a resourceVersion to watch from', async () => {
    const { kube, namespace } = context()
    const list = await kube.list(nodeConfigs, { namespace, labelSelector: 'matches=nothing' })
    assert.deepEqual(list.items, [])
    assert.match(list.resourceVersion, /^\d+$/)
  })
}
