/** Port-forwards to a Pod: they use the proxy and the certificates of the kubeconfig, as they are now. */
import assert from 'node:assert/strict'
import { copyFile, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { makeCertificates } from '../../sandbox/kube/access/certificates.ts'
import { eventually } from '../../test/support/eventually.ts'
import { startProxy } from '../../test/support/http-proxy.ts'
import { type HttpStub, json, serve } from '../../test/support/http-stub.ts'
import { startTargetCluster, type TargetCluster } from '../../test/support/target-cluster.ts'
import { loadKubeconfig } from './config.ts'
import { forwardPort } from './port-forward.ts'
import { pods } from './resources.ts'

let cluster: TargetCluster
let server: HttpStub
const [namespace, pod] = ['multinic-system', 'served']

before(async () => {
  cluster = await startTargetCluster()
  server = await serve((_request, response) => json(response, 200, { served: true }))
  await cluster.kube.create(pods, {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: pod, namespace },
    spec: { containers: [{ name: 'x', image: 'x' }], nodeName: 'here' } as never,
  })
  await cluster.kube.patchStatus(pods, { namespace, name: pod }, { phase: 'Running', podIP: '127.0.0.1' })
})
after(async () => {
  await server.close()
  await cluster.close()
})

/** A kubeconfig with a CA file next to it, and other fields of the cluster. */
async function kubeconfig(fields: Record<string, string>): Promise<string> {
  const one = {
    name: 'here',
    cluster: { server: cluster.api.url, 'certificate-authority': 'own-ca.crt', ...fields },
    user: { token: cluster.api.token },
    context: { cluster: 'here', user: 'here' },
  }
  const path = join(cluster.dir, 'own-kubeconfig')
  await copyFile(cluster.api.caFile, join(cluster.dir, 'own-ca.crt'))
  await writeFile(path, JSON.stringify({ 'current-context': 'here', clusters: [one], users: [one], contexts: [one] }))
  return path
}

async function forwarded(access: Awaited<ReturnType<typeof loadKubeconfig>>): Promise<unknown> {
  const forward = await forwardPort(access, { namespace, pod, port: Number(new URL(server.url).port) })
  try {
    return await (await fetch(forward.url)).json()
  } finally {
    await forward.close()
  }
}

test('a port-forward uses the proxy of the kubeconfig', async () => {
  await using proxy = await startProxy({ 'api.cluster.test': '127.0.0.1' })
  const { port } = new URL(cluster.api.url)
  // Only the proxy knows this name.
  const path = await kubeconfig({
    server: `https://api.cluster.test:${port}`,
    'tls-server-name': 'localhost',
    'proxy-url': proxy.url,
  })
  assert.deepEqual(await forwarded(await loadKubeconfig(path)), { served: true })
  assert.deepEqual(proxy.requests, [`api.cluster.test:${port}`])
})

test('a port-forward uses a CA file as it is now', async () => {
  const path = await kubeconfig({})
  const file = join(cluster.dir, 'own-ca.crt')
  await writeFile(file, makeCertificates(['localhost']).ca)
  const access = await loadKubeconfig(path)
  await assert.rejects(forwarded(access))
  await writeFile(file, await readFile(cluster.api.caFile))
  await eventually(async () => assert.deepEqual(await forwarded(access), { served: true }))
})
