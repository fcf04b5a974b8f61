/** Watches: order, completeness, selectors, and 410 for an old resourceVersion. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { nodeConfigs } from '../../../src/contract/node-config.ts'
import { connectKube } from '../../../src/kube/client.ts'
import { isGone } from '../../../src/kube/errors.ts'
import { createInformer } from '../../../src/kube/informer.ts'
import { collectionPath } from '../../../src/kube/paths.ts'
import { jobs, pods } from '../../../src/kube/resources.ts'
import { silent } from '../../../src/telemetry/log.ts'
import { eventually } from '../../support/eventually.ts'
import { aNodeConfig, type KubeContext, nodeConfigsAlpha } from './context.ts'

const within = { timeout: 120_000 }

export function watchCases(context: () => KubeContext): void {
  /** Watches until the given number of events has arrived, and returns them as `TYPE name`. */
  async function collect(
    count: number,
    options: { resourceVersion: string; labelSelector?: string },
    meanwhile: () => Promise<unknown> = async () => {},
    resource = nodeConfigs,
  ): Promise<string[]> {
    const { kube, namespace } = context()
    const over = new AbortController()
    const events: string[] = []
    const watching = (async () => {
      for await (const event of kube.watch(resource, { namespace, ...options, signal: over.signal })) {
        if (event.type === 'BOOKMARK') continue
        assert.equal(event.object.kind, resource.kind)
        assert.equal(event.object.apiVersion, `${resource.group}/${resource.version}`)
        events.push(`${event.type} ${event.object.metadata.name}`)
        if (events.length === count) over.abort()
      }
    })()
    await meanwhile()
    await watching
    return events
  }

  test('a watch returns the changes since the list, in order', within, async () => {
    const { kube, namespace, name } = context()
    const own = name()
    const suite = { labels: { suite: own } }
    const { resourceVersion } = await kube.list(nodeConfigs, { namespace })
    await kube.create(nodeConfigs, aNodeConfig(context(), own, suite))
    await kube.patch(nodeConfigs, { namespace, name: own }, { spec: { specHash: 'a' } })
    const options = { resourceVersion, labelSelector: `suite=${own}` }
    const events = await collect(5, options, async () => {
      await kube.patchStatus(nodeConfigs, { namespace, name: own }, { state: 'Pending' })
      await kube.create(nodeConfigs, aNodeConfig(context(), `${own}-b`, suite))
      await kube.delete(nodeConfigs, { namespace, name: own })
    })
    assert.deepEqual(events, [`ADDED ${own}`, `MODIFIED ${own}`, `MODIFIED ${own}`, `ADDED ${own}-b`, `DELETED ${own}`])
  })

  test(
    'with a selector, an object that stops matching is DELETED, and ADDED when it matches again',
    within,
    async () => {
      const { kube, namespace, name } = context()
      const key = { namespace, name: name() }
      const { resourceVersion } = await kube.list(nodeConfigs, { namespace })
      await kube.create(nodeConfigs, aNodeConfig(context(), key.name, { labels: { select: key.name } }))
      const events = await collect(3, { resourceVersion, labelSelector: `select=${key.name}` }, async () => {
        await kube.patch(nodeConfigs, key, { metadata: { labels: { select: null } } })
        await kube.patch(nodeConfigs, key, { spec: { specHash: 'unseen' } })
        await kube.patch(nodeConfigs, key, { metadata: { labels: { select: key.name } } })
      })
      assert.deepEqual(events, [`ADDED ${key.name}`, `DELETED ${key.name}`, `ADDED ${key.name}`])
    },
  )

  test('a watch of one version returns writes through the other', within, async () => {
    const { kube, namespace, name } = context()
    const own = name()
    const { resourceVersion } = await kube.list(nodeConfigsAlpha, { namespace })
    await kube.create(nodeConfigs, aNodeConfig(context(), own, { labels: { suite: own } }))
    const options = { resourceVersion, labelSelector: `suite=${own}` }
    assert.deepEqual(await collect(1, options, undefined, nodeConfigsAlpha), [`ADDED ${own}`])
  })

  test('lists and watches cover all namespaces', within, async () => {
    const { kube, namespace, name } = context()
    const own = name()
    const labelSelector = `suite=${own}`
    const { items, resourceVersion } = await kube.list(nodeConfigs, { labelSelector })
    assert.deepEqual(items, [])
    await kube.create(nodeConfigs, aNodeConfig(context(), own, { labels: { suite: own } }))
    assert.equal((await kube.list(nodeConfigs, { labelSelector })).items[0]?.metadata.namespace, namespace)
    for await (const event of kube.watch(nodeConfigs, { labelSelector, resourceVersion })) {
      assert.equal(event.type, 'ADDED')
      break
    }
  })

  test('Pods can be watched by node', within, async () => {
    const { kube, namespace, name } = context()
    const [mine, other] = [name(), name()]
    const fieldSelector = `spec.nodeName=${namespace}-${mine}`
    const { resourceVersion } = await kube.list(pods, { fieldSelector })
    for (const own of [other, mine]) {
      await kube.create(pods, {
        apiVersion: 'v1',
        kind: 'Pod',
        metadata: { name: own, namespace },
        spec: {
          nodeName: `${namespace}-${own}`,
          automountServiceAccountToken: false,
          containers: [{ name: 'a', image: 'b' }],
        },
      })
    }
    for await (const event of kube.watch(pods, { fieldSelector, resourceVersion })) {
      assert.ok(event.type === 'ADDED')
      assert.equal(event.object.metadata.name, mine)
      break
    }
  })

  test('the server ends a watch after timeoutSeconds', within, async () => {
    const { kube, namespace } = context()
    const brief = connectKube(kube.access, { watchTimes: { seconds: () => 1, graceMs: 10_000 } })
    try {
      const { resourceVersion } = await kube.list(jobs, { namespace })
      for await (const event of brief.watch(jobs, { namespace, resourceVersion })) {
        assert.ok(event.type !== 'BOOKMARK' || Number(event.resourceVersion) > 0)
      }
    } finally {
      await brief.close()
    }
  })

  test('a watch misses no event and keeps the order under many changes', { timeout: 120_000 }, async () => {
    const { kube, namespace, name } = context()
    const suite = name()
    const labels = { suite }
    const { resourceVersion } = await kube.list(nodeConfigs, { namespace })
    const events: string[] = []
    const versions: number[] = []
    const over = new AbortController()
    const watching = (async () => {
      let from = resourceVersion
      // A server closes the watch of a client that reads too slowly, such as one on a busy machine. It goes on from there.
      while (!over.signal.aborted) {
        const options = { namespace, resourceVersion: from, labelSelector: `suite=${suite}`, signal: over.signal }
        for await (const event of kube.watch(nodeConfigs, options)) {
          if (event.type === 'BOOKMARK') {
            from = event.resourceVersion
            continue
          }
          const { name: own, resourceVersion: version } = event.object.metadata
          from = version ?? from
          events.push(`${event.type} ${own}`)
          versions.push(Number(version))
        }
      }
    })()
    const lives = Array.from({ length: 40 }, async (_, at) => {
      const key = { namespace, name: `${suite}-${at}` }
      await kube.create(nodeConfigs, aNodeConfig(context(), key.name, { labels }))
      for (const specHash of ['a', 'b', 'c']) await kube.patch(nodeConfigs, key, { spec: { specHash } })
      await kube.delete(nodeConfigs, key)
      return key.name
    })
    const names = await Promise.all(lives)
    await eventually(() => assert.equal(events.length, 200), { within: 60_000 })
    over.abort()
    await watching
    for (const own of names) {
      const life = events.filter(line => line.endsWith(` ${own}`)).map(line => line.split(' ')[0])
      assert.deepEqual(life, ['ADDED', 'MODIFIED', 'MODIFIED', 'MODIFIED', 'DELETED'])
    }
    assert.deepEqual(
      versions,
      versions.toSorted((a, b) => a - b),
    )
  })

  test('a watch without a resourceVersion starts with the existing objects', within, async () => {
    const { kube, namespace, name } = context()
    const own = name()
    await kube.create(nodeConfigs, aNodeConfig(context(), own, { labels: { suite: own } }))
    const query = `watch=1&timeoutSeconds=1&labelSelector=suite%3D${own}`
    const { body } = await kube.raw('GET', `${collectionPath(nodeConfigs, namespace)}?${query}`)
    // The client parses a single event.
    const event = typeof body === 'string' ? JSON.parse(body.split('\n')[0] ?? '') : body
    assert.deepEqual([event.type, event.object.metadata.name], ['ADDED', own])
  })

  test('an old resourceVersion is 410', within, async () => {
    const { kube, namespace } = context()
    await assert.rejects(async () => {
      for await (const event of kube.watch(nodeConfigs, { namespace, resourceVersion: '1' })) assert.fail(event.type)
    }, isGone)
  })

  test('an informer mirrors the cluster', within, async () => {
    const { kube, namespace, name } = context()
    const suite = name()
    const over = new AbortController()
    const labelSelector = `suite=${suite}`
    const index = { hash: (object: { spec: { specHash?: string | undefined } }) => [object.spec.specHash ?? 'none'] }
    const informer = createInformer(kube, nodeConfigs, { namespace, labelSelector, log: silent, index })
    const changes: string[] = []
    informer.on(({ type, object }) => changes.push(`${type} ${object.metadata.name.slice(suite.length)}`))
    await kube.create(nodeConfigs, aNodeConfig(context(), `${suite}-a`, { labels: { suite } }))
    await informer.start(over.signal)
    assert.deepEqual(changes, ['added -a'])
    await kube.create(nodeConfigs, aNodeConfig(context(), `${suite}-b`, { labels: { suite } }))
    await kube.patch(nodeConfigs, { namespace, name: `${suite}-b` }, { spec: { specHash: 'x' } })
    await kube.delete(nodeConfigs, { namespace, name: `${suite}-a` })
    await eventually(() => {
      assert.deepEqual(changes, ['added -a', 'added -b', 'updated -b', 'deleted -a'])
      assert.deepEqual(
        informer.by('hash', 'x').map(object => object.metadata.name),
        [`${suite}-b`],
      )
      assert.equal(informer.list().length, 1)
    })
    over.abort()
  })
}
