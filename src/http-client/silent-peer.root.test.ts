/** A server that vanishes without a packet, as when its host loses power. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { run } from '../../test/rigs/process.ts'
import { eventually } from '../../test/support/eventually.ts'
import { createHttp } from './client.ts'

test('an idle connection to a vanished server is closed before a request uses it', async () => {
  const clientPorts: number[] = []
  const server = createServer(({ socket }, response) => {
    clientPorts.push(socket.remotePort ?? 0)
    response.end('{}')
  })
  // As Fastify. The client keeps an idle connection for as long as the server announces.
  server.keepAliveTimeout = 72_000
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
  const http = createHttp({ service: 'viola', timeoutMs: 2_000, attempts: 1 })
  try {
    await http.request({ method: 'GET', url })
    const [lost] = clientPorts
    const rules = `tcp sport ${lost} drop\ntcp dport ${lost} drop`
    const input = `table ip lost {\nchain input {\ntype filter hook input priority filter;\n${rules}\n}\n}\n`
    await run('nft', ['-f', '-'], { input })
    await eventually(
      async () => {
        const { stdout } = await run('ss', ['-Hnt', 'state', 'established', `sport = :${lost}`])
        assert.equal(stdout, '')
      },
      { within: 25_000, every: 500 },
    )
    await http.request({ method: 'POST', url, body: {} })
    assert.equal(clientPorts.length, 2)
  } finally {
    await http.close()
    server.closeAllConnections()
    server.close()
  }
})
