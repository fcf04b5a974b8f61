/** A cluster behind the proxy of its kubeconfig: requests and watches use it, and the certificate is that of the cluster. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { makeCertificates } from '../../sandbox/kube/access/certificates.ts'
import { startProxy } from '../../test/support/http-proxy.ts'
import { json, serve } from '../../test/support/http-stub.ts'
import { connectKube } from './client.ts'
import { kubeconfigFrom } from './config.ts'
import { nodes } from './resources.ts'

const kubeconfig = (cluster: Record<string, string>) =>
  JSON.stringify({
    'current-context': 'c',
    contexts: [{ name: 'c', context: { cluster: 'c' } }],
    clusters: [{ name: 'c', cluster }],
  })

test('requests use the proxy of the kubeconfig and verify the certificate of the cluster', async () => {
  const { ca, cert, key } = makeCertificates(['127.0.0.1'])
  await using proxy = await startProxy()
  const server = await serve(
    (_asked, response) => json(response, 200, { metadata: { resourceVersion: '7' }, items: [] }),
    {
      cert,
      key,
    },
  )
  const cluster = {
    server: server.url,
    'certificate-authority-data': Buffer.from(ca).toString('base64'),
    'proxy-url': proxy.url,
  }
  const kube = connectKube(await kubeconfigFrom(kubeconfig(cluster)), { attempts: 1 })
  try {
    assert.equal((await kube.list(nodes)).resourceVersion, '7')
    assert.deepEqual(proxy.requests, [new URL(server.url).host])
  } finally {
    await kube.close()
    await server.close()
  }
})

test('an unreachable proxy is an error and is never bypassed', async () => {
  const server = await serve((_asked, response) => json(response, 200, { metadata: {}, items: [] }))
  const kube = connectKube(
    await kubeconfigFrom(kubeconfig({ server: server.url, 'proxy-url': 'http://127.0.0.1:9' })),
    {
      attempts: 1,
    },
  )
  try {
    await assert.rejects(kube.list(nodes))
    assert.equal(server.requests.length, 0)
  } finally {
    await kube.close()
    await server.close()
  }
})

test('an unsupported proxy is rejected by name', async () => {
  const text = kubeconfig({ server: 'https://10.0.0.1:6443', 'proxy-url': 'socks5://10.0.0.2:1080' })
  await assert.rejects(kubeconfigFrom(text), /clusters\[c\]\.cluster\.proxy-url: must be an http/)
})
