/** Services behind a proxy (HTTP_PROXY, HTTPS_PROXY, NO_PROXY of the operator), over real sockets. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { makeCertificates } from '../../sandbox/kube/access/certificates.ts'
import { startProxy } from '../../test/support/http-proxy.ts'
import { json, serve } from '../../test/support/http-stub.ts'
import { createHttp, type HttpOptions, type Proxies } from './client.ts'

const certificates = makeCertificates(['127.0.0.1'])

interface Case {
  tls: boolean
  proxies: (proxy: string) => Proxies
  through: boolean
}

const cases: Record<string, Case> = {
  'an http service is called through HTTP_PROXY': { tls: false, proxies: http => ({ http }), through: true },
  'an https service is called through HTTPS_PROXY, with its own certificate': {
    tls: true,
    proxies: https => ({ https }),
    through: true,
  },
  'an https service is called through HTTP_PROXY without HTTPS_PROXY': {
    tls: true,
    proxies: http => ({ http }),
    through: true,
  },
  'a host of NO_PROXY is called directly': {
    tls: true,
    proxies: https => ({ https, no: 'cloud.example.com,127.0.0.1' }),
    through: false,
  },
  'other hosts of NO_PROXY have no effect': {
    tls: false,
    proxies: http => ({ http, no: '.example.com' }),
    through: true,
  },
}

for (const [name, { tls, proxies, through }] of Object.entries(cases))
  test(name, async () => {
    await using proxy = await startProxy()
    const { ca, cert, key } = certificates
    const server = await serve(
      (_request, response) => json(response, 200, { ok: true }),
      tls ? { cert, key } : undefined,
    )
    const options: HttpOptions = {
      service: 'neutron',
      timeoutMs: 20_000,
      proxies: proxies(proxy.url),
      attempts: 1,
      tls: { ca },
    }
    const http = createHttp(options)
    try {
      const { body } = await http.request({ method: 'GET', url: `${server.url}/ports` })
      assert.deepEqual(body, { ok: true })
      assert.deepEqual(proxy.requests, through ? [new URL(server.url).host] : [])
    } finally {
      await http.close()
      await server.close()
    }
  })
