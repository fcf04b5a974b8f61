import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readdir } from 'node:fs/promises'
import { connect } from 'node:net'
import { after, before, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { type ControlPlane, type RigNode, startControlPlane, startNode } from './rig.ts'

const uuid = '6f1c2a10-0001-4aaa-8bbb-000000000001'
const macs = ['fa:16:3e:00:00:11', 'fa:16:3e:00:00:12']

let cp: ControlPlane
let node: RigNode
before(async () => {
  cp = await startControlPlane()
  node = await startNode(cp, { name: 'w1', uuid, macs })
})
after(async () => {
  await node?.close()
  await cp?.close()
})

interface Link {
  ifname: string
  address: string
}

async function links(): Promise<string[]> {
  const { stdout } = await node.exec('ip', ['-j', 'link'])
  return (JSON.parse(stdout) as Link[]).map(({ ifname, address }) => `${ifname} ${address}`)
}

async function nodeInfo(): Promise<{ systemUUID: string; bootID: string; osImage: string }> {
  return JSON.parse((await cp.exec('kubectl', ['get', 'node', 'w1', '-o', 'jsonpath={.status.nodeInfo}'])).stdout)
}

test('a node has the requested name, system UUID, boot ID, OS and NICs', async () => {
  const { systemUUID, bootID, osImage } = await nodeInfo()
  assert.deepEqual(
    { systemUUID, bootID, osImage },
    { systemUUID: uuid, bootID: node.bootID(), osImage: 'Ubuntu 24.04 LTS' },
  )
  assert.equal((await node.exec('hostname', [])).stdout, 'w1\n')
  assert.deepEqual((await links()).slice(2), [`eth1 ${macs[0]}`, `eth2 ${macs[1]}`])
})

test('changes of a node in /etc do not affect the machine', async () => {
  await node.exec('sh', ['-c', 'echo mine > /etc/netplan/99-mine.yaml'])
  assert.deepEqual(
    (await readdir('/etc/netplan').catch(() => [])).filter(name => name === '99-mine.yaml'),
    [],
  )
})

test('after a power cycle the disk is unchanged, the boot ID is new and the NICs have their original names', async () => {
  const boot = node.bootID()
  await node.exec('ip', ['link', 'set', 'eth1', 'name', 'renamed'])
  await node.powerCycle()
  assert.notEqual(node.bootID(), boot)
  assert.equal((await nodeInfo()).bootID, node.bootID())
  assert.deepEqual((await links()).slice(2), [`eth1 ${macs[0]}`, `eth2 ${macs[1]}`])
  assert.equal((await node.exec('cat', ['/etc/netplan/99-mine.yaml'])).stdout, 'mine\n')
})

test('a node that loses power closes no connection, and refuses none', async () => {
  const seen: string[] = []
  const open = () => {
    const socket = connect(10_250, node.address)
    for (const event of ['connect', 'end', 'close', 'error']) socket.on(event, () => seen.push(event))
    return socket
  }
  const established = open()
  await once(established, 'connect')
  await node.powerOff()
  const attempted = open()
  established.write('a request')
  // Longer than the neighbour discovery of the kernel, which would fail after 3 s.
  await sleep(5_000)
  assert.deepEqual(seen, ['connect'])
  established.destroy()
  attempted.destroy()
})
