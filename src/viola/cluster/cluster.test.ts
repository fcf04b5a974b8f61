import assert from 'node:assert/strict'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, before, test } from 'node:test'
import { eventually } from '../../../test/support/eventually.ts'
import { connectKube } from '../../kube/client.ts'
import { silent } from '../../telemetry/log.ts'
import { type Cluster, openCluster } from './cluster.ts'

/** An API server that refuses watches and keeps lists until they are released. */
const unanswered = new Set<ServerResponse>()
let [lists, peak, watches] = [0, 0, 0]
let isWaiting = false
const release = () => {
  isWaiting = false
  for (const response of unanswered) answer(response)
}
function answer(response: ServerResponse): void {
  unanswered.delete(response)
  response.end(JSON.stringify({ metadata: { resourceVersion: '1' }, items: [] }))
}
const server = createServer((request, response) => {
  response.setHeader('content-type', 'application/json')
  if (request.url?.includes('watch=true')) {
    watches++
    return void response.writeHead(403).end('{}')
  }
  lists++
  unanswered.add(response)
  peak = Math.max(peak, unanswered.size)
  if (!isWaiting) answer(response)
})

let cluster: Cluster
before(async () => {
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const kube = connectKube({ server: url, namespace: 'x' })
  cluster = openCluster({ kube, namespace: 'x', log: silent, parallel: 1 })
})
after(async () => {
  await cluster.close()
  server.close()
})

test('while the watch is broken, waiting requests share one list of the cluster', async () => {
  await eventually(() => assert.ok(watches > 0 && cluster.problem()))
  isWaiting = true
  ;[lists, peak] = [0, 0]
  const early = cluster.observe()
  await eventually(() => assert.ok(unanswered.size > 0))
  const waiting = Array.from({ length: 100 }, () => cluster.observe())
  release()
  await Promise.all([early, ...waiting])
  // The informer may list at the same time.
  assert.ok(peak <= 2, `${peak} lists at a time`)
  assert.ok(lists <= 5, `${lists} lists for ${waiting.length} requests`)
})
