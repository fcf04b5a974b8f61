/**
 * Every server starts on a kernel without IPv6, with its default address (all addresses of the machine).
 */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { type AddressInfo, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { canDisableIPv6, withoutIPv6 } from '../../test/rigs/without-ipv6.ts'
import { eventually } from '../../test/support/eventually.ts'
import { environment } from '../runtime/env.ts'

const main = fileURLToPath(new URL('../main.ts', import.meta.url))
const addresses = {
  controller: 'HEALTH_ADDR',
  inventory: 'INVENTORY_ADDR',
  operator: 'OPERATOR_ADDR',
  viola: 'LISTEN_ADDR',
}
let dir: string

before(async () => {
  dir = await mkdtemp(join(tmpdir(), 'multinic-without-ipv6-'))
  // Nothing listens there: a server starts before it reaches its cluster.
  const clusters = [{ name: 'c', cluster: { server: 'http://127.0.0.1:9' } }]
  const contexts = [{ name: 'here', context: { cluster: 'c', user: 'u' } }]
  const users = [{ name: 'u', user: { token: 't' } }]
  await writeFile(join(dir, 'kubeconfig'), JSON.stringify({ 'current-context': 'here', contexts, clusters, users }))
})

after(() => rm(dir, { recursive: true }))

async function freePort(): Promise<number> {
  const server = createServer().listen(0)
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  return port
}

for (const [component, variable] of Object.entries(addresses))
  test(`the ${component} starts on a kernel without IPv6`, { skip: !canDisableIPv6 && 'needs perl' }, async () => {
    const port = await freePort()
    const [program, args] = withoutIPv6([process.execPath, main, component])
    const env = {
      PATH: environment()['PATH'],
      KUBECONFIG: join(dir, 'kubeconfig'),
      INVENTORY_ADDR: '127.0.0.1:0',
      INVENTORY_DB_PATH: join(dir, `${component}.db`),
      AGENT_IMAGE: 'multinic-agent:test',
      [variable]: `:${port}`,
    }
    const server = spawn(program, args, { env, stdio: ['ignore', 'pipe', 'pipe'] })
    let log = ''
    for (const stream of [server.stdout, server.stderr]) stream.on('data', chunk => (log += chunk))
    try {
      await eventually(
        async () => {
          assert.equal(server.exitCode, null, log)
          const answer = await fetch(`http://127.0.0.1:${port}/healthz`)
          await answer.body?.cancel()
        },
        { within: 60_000 },
      )
    } finally {
      const exited = server.exitCode === null ? once(server, 'exit') : undefined
      server.kill('SIGKILL')
      await exited
    }
  })
