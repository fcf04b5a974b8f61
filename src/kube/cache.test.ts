import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createCache } from './cache.ts'
import type { KubeObject } from './types.ts'

const object = (name: string, resourceVersion: number): KubeObject => ({
  apiVersion: 'v1',
  kind: 'Node',
  metadata: { name, resourceVersion: String(resourceVersion), annotations: { text: 'x'.repeat(1024 * 1024) } },
})

test('a cache is bounded by what it holds, not by what passed through it', () => {
  const cache = createCache<KubeObject>({})
  for (let version = 0; version < 200; version++) cache.put(object('same', version))
  for (let n = 0; n < 200; n++) cache.remove(cache.put(object(`gone-${n}`, 1))[0]?.object ?? assert.fail())
  for (let n = 0; n < 94; n++) cache.put(object(`node-${n}`, 1))
  assert.throws(() => Array.from({ length: 10 }, (_, n) => cache.put(object(`more-${n}`, 1))), /more than \d+ bytes/)
})
