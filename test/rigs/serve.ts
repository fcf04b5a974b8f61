/**
 * Real parts for somebody who is no test: a process that starts them on the loopback address, says over its channel where they
 * are, does what it is asked, and ends with all of them when it is told to or when that channel closes.
 *
 *   serve.ts kubernetes DIR
 *   serve.ts openstack DIR
 *
 * What it starts inherits its environment, by which the one who started it finds what a crash leaves behind.
 */

import { freeAddresses } from '../../sandbox/lifecycle/components.ts'
import { messageOf } from '../../src/runtime/errors.ts'
import { type ControlPlane, startControlPlane } from './kubernetes/control-plane.ts'
import { startOpenStack } from './openstack/rig.ts'

/** What is told once all is up, what may be asked for after that, and how it ends. */
interface Served {
  told: unknown
  methods: Record<string, (...args: never[]) => Promise<unknown>>
  close(): Promise<void>
}

const [, , what = '', dir = ''] = process.argv
const kinds: Record<string, (dir: string) => Promise<Served>> = {
  kubernetes: serveKubernetes,
  openstack: serveOpenStack,
}

let served: Served | undefined
let over = false
async function end(): Promise<void> {
  over = true
  await served?.close()
  process.exit()
}
for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => void end())
process.on('disconnect', () => void end())

try {
  const serve = kinds[what]
  if (!serve || !process.send)
    throw new Error(`serve.ts ${Object.keys(kinds).join('|')} DIR, with a channel to its parent`)
  served = await serve(dir)
  if (over) await end()
  process.send({ up: served.told })
} catch (error) {
  process.send?.({ failed: messageOf(error) })
  process.exitCode = 1
  process.disconnect?.()
}

process.on('message', async ({ id, method, args }: { id: number; method: string; args: never[] }) => {
  try {
    process.send?.({ id, result: (await served?.methods[method]?.(...args)) ?? null })
  } catch (error) {
    process.send?.({ id, error: messageOf(error) })
  }
})

/** Two clusters over one etcd. */
async function serveKubernetes(dir: string): Promise<Served> {
  const numbers = (await freeAddresses(6)).map(address => Number(address.split(':')[1]))
  const [etcd = 0, peer = 0, ...servers] = numbers
  const started: ControlPlane[] = []
  const close = async () => {
    for (const cluster of started.reverse()) await cluster.close()
  }
  const start = async (apiserver = 0, manager = 0, beside?: ControlPlane) => {
    const loopback = { dir, ports: { etcd, peer, apiserver, manager } }
    started.push(await startControlPlane({ loopback, ...(beside && { beside }) }))
  }
  try {
    await start(servers[0], servers[1])
    await start(servers[2], servers[3], started[0])
  } catch (error) {
    await close()
    throw error
  }
  const [management, biz] = started
  const clusters: Record<string, ControlPlane | undefined> = { management, biz }
  const place = (cluster: ControlPlane | undefined) => ({ url: cluster?.server, kubeconfig: cluster?.kubeconfig })
  return {
    told: { management: place(management), biz: place(biz) },
    methods: {
      away: async (name: string) => clusters[name]?.away(),
      back: async (name: string) => clusters[name]?.back(),
    },
    close,
  }
}

async function serveOpenStack(dir: string): Promise<Served> {
  const cloud = await startOpenStack({ dir })
  const { user, password } = await cloud.createUser('multinic-sandbox', ['admin']).catch(async error => {
    await cloud.close()
    throw error
  })
  const { keystoneUrl, neutronUrl, novaUrl, region, projectId, rabbit } = cloud
  return {
    told: {
      urls: { keystone: keystoneUrl, neutron: neutronUrl, nova: novaUrl },
      region,
      projectId,
      user: { name: user, password, domain: 'Default' },
      bus: { urls: [`amqp://${rabbit.host}:${rabbit.port}/`], user: rabbit.user, password: rabbit.password },
    },
    methods: {
      createNetwork: cloud.createNetwork,
      createSubnet: cloud.createSubnet,
      bootServer: cloud.bootServer,
      attach: cloud.attach,
      detach: cloud.detach,
      neutron: (path: string) => cloud.api.call('neutron', 'GET', path),
    },
    close: cloud.close,
  }
}
