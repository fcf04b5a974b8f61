/**
 * Policy routing with real traffic: each NIC replies for itself, also within one subnet, and the node selects the right one.
 */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { test } from 'node:test'
import { createNode, type RigNode, requestedInterface } from '../../test/rigs/host/node.ts'
import { eventually } from '../../test/support/eventually.ts'
import { canonical } from '../contract/address.ts'

/** Prints its port, then one line per connection. */
const server = `
const server = require('node:net').createServer(socket => {
  console.log(socket.localAddress + ' ' + socket.remoteAddress)
  socket.end('hello')
})
server.listen(0, '::', () => console.log(server.address().port))
`
const client = `
const [host, port, local] = process.argv.slice(1)
const socket = require('node:net').connect({ host, port, ...(local ? { localAddress: local } : {}) })
socket.setTimeout(30_000, () => process.exit(3))
socket.on('data', data => process.stdout.write(data))
socket.on('error', error => { console.error(error.message); process.exit(2) })
`

async function listening(namespace: string): Promise<{ port: string; stop(): void }> {
  const child = spawn('nsenter', [`--net=/run/netns/${namespace}`, process.execPath, '-e', server], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const [chunk] = (await once(child.stdout, 'data')) as [Buffer]
  return { port: chunk.toString().trim(), stop: () => void child.kill() }
}

const neighbours = (node: RigNode) =>
  Object.fromEntries(
    (JSON.parse(node.fabricIp('-j', 'neigh', 'show')) as { dst: string; lladdr?: string }[]).map(({ dst, lladdr }) => [
      dst,
      lladdr,
    ]),
  )

test('several NICs in one subnet each reply with their own MAC address, in both address families and directions', async () => {
  const node = await createNode({ nics: 3, oneSubnet: true })
  const inFabric = (...args: string[]) => node.execute('nsenter', `--net=/run/netns/${node.fabric}`, ...args)
  try {
    const ran = await node.agent({
      interfaces: node.nics.map((nic, id) => requestedInterface(nic, id, { addresses: [nic.address6] })),
    })
    assert.equal(ran.report?.verdict, 'Configured', ran.log)
    await eventually(() => assert.doesNotMatch(node.ip('-6', 'address'), /tentative/))
    const [onNode, onFabric] = [await listening(node.namespace), await listening(node.fabric)]
    try {
      for (const nic of node.nics) {
        const hosts = [nic.address, nic.address6.replace(/\/.*/, '')]
        for (const host of hosts) {
          assert.equal(await inFabric(process.execPath, '-e', client, host, onNode.port), 'hello', `towards ${host}`)
          const gateway = host.includes(':') ? nic.gateway6 : nic.gateway
          assert.equal(
            await node.execute(process.execPath, '-e', client, gateway, onFabric.port, host),
            'hello',
            `from ${host}`,
          )
          await inFabric('ping', '-c1', '-W30', host)
          await node.execute('ping', '-c1', '-W30', '-I', host, gateway)
          assert.equal(
            neighbours(node)[canonical(host) ?? ''],
            nic.macAddress,
            `${host} replies with its own MAC address`,
          )
        }
      }
    } finally {
      onNode.stop()
      onFabric.stop()
    }
    // Without a source address the NIC with the lowest index is used, not the default route.
    const [first] = node.nics
    assert.match(node.ip('route', 'get', first?.gateway ?? ''), /dev multinic0 .*src 10\.100\.0\.10/)
  } finally {
    node.remove()
  }
})
