/** Lists: selectors and pages. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { nodeConfigs } from '../../../src/contract/node-config.ts'
import { connectKube } from '../../../src/kube/client.ts'
import { collectionPath } from '../../../src/kube/paths.ts'
import { pods } from '../../../src/kube/resources.ts'
import { aNodeConfig, type Place, refusal } from './place.ts'

const chosen: Record<string, string[]> = {
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
}

export function listCases(place: () => Place): void {
  async function withLabels(suite: string) {
    const { kube } = place()
    const things: Record<string, Record<string, string>> = {
      'red-big': { color: 'red', size: 'big' },
      'red-small': { color: 'red', size: 'small' },
      'blue-big': { color: 'blue', size: 'big' },
      plain: {},
    }
    for (const [name, labels] of Object.entries(things)) {
      await kube.create(nodeConfigs, aNodeConfig(place(), `${suite}-${name}`, { labels: { ...labels, suite } }))
    }
  }

  test('labels select', async () => {
    const { kube, namespace, name } = place()
    const suite = name()
    await withLabels(suite)
    for (const [selector, names] of Object.entries(chosen)) {
      const { items } = await kube.list(nodeConfigs, { namespace, labelSelector: `suite=${suite},${selector}` })
      const found = items.map(item => item.metadata.name.slice(suite.length + 1)).sort()
      assert.deepEqual(found, names, selector)
    }
    assert.equal((await refusal(kube.list(nodeConfigs, { namespace, labelSelector: 'a in (' }))).status, 400)
  })

  test('fields select: the name of any kind, the node of Pods', async () => {
    const { kube, namespace, name } = place()
    const [one, other] = [name(), name()]
    for (const own of [one, other]) {
      await kube.create(nodeConfigs, aNodeConfig(place(), own))
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
    const byNode = await kube.list(pods, { fieldSelector: `spec.nodeName=${namespace}-${other}` })
    assert.deepEqual(
      byNode.items.map(item => [item.kind, item.apiVersion, item.metadata.name]),
      [['Pod', 'v1', other]],
    )
  })

  test('a list comes in pages that together are the whole', async () => {
    const { kube, namespace, name } = place()
    const suite = name()
    const names = Array.from({ length: 5 }, (_, at) => `${suite}-${at}`)
    for (const own of names) await kube.create(nodeConfigs, aNodeConfig(place(), own, { labels: { suite } }))

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

  test('pages are of one moment: what comes and goes meanwhile is not seen', async () => {
    const { kube, namespace, name } = place()
    const suite = name()
    const make = (end: string) =>
      kube.create(nodeConfigs, aNodeConfig(place(), `${suite}-${end}`, { labels: { suite } }))
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
    // A server that selects as it reads may say that there is more when there is not.
    for (let last = first; last.metadata.continue; pages.push(last)) {
      last = await page(`&continue=${encodeURIComponent(last.metadata.continue)}`)
      assert.equal(last.metadata.resourceVersion, first.metadata.resourceVersion)
    }
    assert.deepEqual(
      pages.flatMap(({ items }) => items.map(item => item.metadata.name.slice(suite.length + 1))),
      ['a', 'c', 'd', 'f'],
    )
    const asItWas = `&resourceVersion=${first.metadata.resourceVersion}&resourceVersionMatch=Exact`
    assert.equal((await page(asItWas)).items[1]?.metadata.name, `${suite}-c`)
  })

  test('options that contradict each other are refused, never overlooked', async () => {
    const { kube, namespace } = place()
    const ask = (method: 'GET' | 'DELETE', query: string) =>
      refusal(kube.raw(method, `${collectionPath(nodeConfigs, namespace)}?labelSelector=nobody%3Dhere&${query}`))
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
  })

  test('a collection is deleted by its labels', async () => {
    const { kube, namespace, name } = place()
    const suite = name()
    for (const end of ['a', 'b', 'c']) {
      const labels = { suite, ...(end !== 'c' && { gone: 'soon' }) }
      await kube.create(nodeConfigs, aNodeConfig(place(), `${suite}-${end}`, { labels }))
    }
    await kube.raw('DELETE', `${collectionPath(nodeConfigs, namespace)}?labelSelector=suite%3D${suite}%2Cgone`)
    const { items } = await kube.list(nodeConfigs, { namespace, labelSelector: `suite=${suite}` })
    assert.deepEqual(
      items.map(item => item.metadata.name),
      [`${suite}-c`],
    )
  })

  test('a broken continue token is refused', async () => {
    const { kube, namespace } = place()
    const error = await refusal(kube.raw('GET', `${collectionPath(nodeConfigs, namespace)}?limit=1&continue=nonsense`))
    assert.equal(error.status, 400)
  })

  test('an empty list has a resourceVersion to watch from', async () => {
    const { kube, namespace } = place()
    const list = await kube.list(nodeConfigs, { namespace, labelSelector: 'nobody=here' })
    assert.deepEqual(list.items, [])
    assert.match(list.resourceVersion, /^\d+$/)
  })
}
