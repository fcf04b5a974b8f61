/**
 * Real servers for the sandbox. This process starts them on the loopback address, reports their addresses over IPC, handles
 * calls, and stops them on a signal or when the IPC channel closes.
 *
 *   serve.ts kubernetes DIR
 *   serve.ts openstack DIR
 *   serve.ts vm DIR
 *
 * The servers inherit its environment, so that the sandbox finds them after a crash.
 */

import { freeAddresses } from '../../sandbox/lifecycle/components.ts'
import { messageOf } from '../../src/runtime/errors.ts'
import { type ControlPlane, startControlPlane } from './kubernetes/control-plane.ts'
import { sandboxKubelets } from './kubernetes/sandbox-kubelets.ts'
import { startOpenStack } from './openstack/rig.ts'
import { serveMachines } from './vm/serve.ts'

/** The addresses for the parent, the callable methods, and the end. */
interface Served {
  addresses: unknown
  methods: Record<string, (...args: never[]) => Promise<unknown>>
  close(): Promise<void>
}

const [, , what = '', dir = ''] = process.argv
const kinds: Record<string, (dir: string) => Promise<Served>> = {
  kubernetes: serveKubernetes,
  openstack: serveOpenStack,
  vm: serveMachines,
}

let served: Served | undefined
let isStopping = false
async function end(): Promise<void> {
  isStopping = true
  await served?.close()
  process.exit()
}
for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => void end())
process.on('disconnect', () => void end())

try {
  const serve = kinds[what]
  if (!serve || !process.send)
    throw new Error(`usage: serve.ts ${Object.keys(kinds).join('|')} DIR, started with an IPC channel`)
  served = await serve(dir)
  if (isStopping) await end()
  process.send({ up: served.addresses })
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

/** Two clusters with one etcd. */
async function serveKubernetes(dir: string): Promise<Served> {
  const freePorts = (await freeAddresses(6)).map(address => Number(address.split(':')[1]))
  const [etcd = 0, peer = 0, ...servers] = freePorts
  const started: ControlPlane[] = []
  const close = async () => {
    for (const cluster of started.reverse()) await cluster.close()
  }
  const start = async (apiserver = 0, manager = 0, firstCluster?: ControlPlane) => {
    const loopback = { dir, ports: { etcd, peer, apiserver, manager } }
    started.push(await startControlPlane({ loopback, ...(firstCluster && { firstCluster }) }))
  }
  try {
    await start(servers[0], servers[1])
    await start(servers[2], servers[3], started[0])
  } catch (error) {
    await close()
    throw error
  }
  const [management, biz] = started
  if (!biz) throw new Error('the second cluster is missing')
  const clusters: Record<string, ControlPlane | undefined> = { management, biz }
  const addressOf = (cluster: ControlPlane | undefined) => ({ url: cluster?.server, kubeconfig: cluster?.kubeconfig })
  return {
    addresses: { management: addressOf(management), biz: addressOf(biz) },
    methods: {
      stopApiServer: async (name: string) => clusters[name]?.stopApiServer(),
      startApiServer: async (name: string) => clusters[name]?.startApiServer(),
      ...sandboxKubelets(biz, dir),
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
    addresses: {
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
      request: cloud.api.call,
      revokeToken: cloud.revokeToken,
    },
    close: cloud.close,
  }
}
