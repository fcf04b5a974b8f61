/**
 * A second operator and a second controller. The test can disconnect each of them from the API server: of two replicas, only
 * the holder of the Lease may work.
 */
import { readFile, writeFile } from 'node:fs/promises'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { ensureBundles } from '../../sandbox/lifecycle/bundles.ts'
import { agentImage, sandboxNamespace as namespace, programCommand } from '../../sandbox/lifecycle/components.ts'
import { leases } from '../../src/kube/resources.ts'
import { startDaemon } from '../rigs/process.ts'
import { eventually } from '../support/eventually.ts'
import type { TestSandbox } from '../system/sandbox.fixture.ts'
import type { ReplicatedComponent } from './history.ts'

export interface Replica {
  /** Makes the replica the leader, then disconnects it from the API server for some time. */
  partition(forMs: number): Promise<void>
  heal(): void
  stop(): Promise<void>
}

export interface ReplicaOptions {
  /** Additional environment. */
  env: Record<string, string>
}

export async function startReplica(
  { sandbox }: TestSandbox,
  component: ReplicatedComponent,
  { env: additional }: ReplicaOptions,
): Promise<Replica> {
  const { state, urls, components } = sandbox
  const cluster = component === 'operator' ? sandbox.management : sandbox.biz
  const name = `second-${component}`
  const proxy = await startTcpProxy(Number(new URL(cluster.url).port))
  const kubeconfig = state.path(`${name}.kubeconfig`)
  const original = await readFile(cluster.kubeconfig, 'utf8')
  await writeFile(kubeconfig, original.replaceAll(new URL(cluster.url).host, `127.0.0.1:${proxy.port}`), {
    mode: 0o600,
  })
  const { program } = await ensureBundles()
  const { command, env } = programCommand(program, component)
  const [node = '', ...args] = command
  const settings = {
    operator: {
      POD_NAMESPACE: namespace,
      OPERATOR_ADDR: '127.0.0.1:0',
      INVENTORY_URL: urls['inventory'] ?? '',
      CONTRABASS_ENDPOINT: urls['contrabass'] ?? '',
      VIOLA_ENDPOINT: urls['viola'] ?? '',
      VIOLA_TOKEN_FILE: state.path('operator-token'),
    },
    controller: {
      CONTROLLER_NAMESPACE: namespace,
      AGENT_IMAGE: agentImage,
      AGENT_IMAGE_PULL_POLICY: 'Never',
      HEALTH_ADDR: '127.0.0.1:0',
    },
  }
  const daemon = startDaemon(node, args, {
    log: state.path('logs', `${name}.log`),
    env: { ...env, ...settings[component], KUBECONFIG: kubeconfig, POD_NAME: name, ...additional },
  })

  /** Stops the other replica and releases its Lease. */
  async function becomeLeader(): Promise<void> {
    const lease = { namespace, name: `multinic-${component}` }
    try {
      await eventually(
        async () => {
          const holder = (await cluster.kube.get(leases, lease))?.spec?.holderIdentity
          if (holder?.startsWith(name)) return
          components.suspend(component)
          await cluster.kube.patch(leases, lease, { spec: { holderIdentity: '', leaseDurationSeconds: 1 } })
          throw new Error(`${name} did not become the leader`)
        },
        { within: 90_000, every: 500 },
      )
    } finally {
      components.resume(component)
    }
  }

  return {
    async partition(forMs) {
      proxy.heal()
      await becomeLeader()
      proxy.cut(forMs)
    },
    heal: proxy.heal,
    async stop() {
      proxy.heal()
      await daemon.stop()
      proxy.close()
    },
  }
}

interface TcpProxy {
  port: number
  cut(forMs: number): void
  heal(): void
  close(): void
}

async function startTcpProxy(target: number): Promise<TcpProxy> {
  const open = new Set<Socket>()
  let isConnected = true
  let timer: NodeJS.Timeout | undefined
  const server = createServer(client => {
    if (!isConnected) return void client.destroy()
    const upstream = connect(target, '127.0.0.1')
    for (const [socket, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      open.add(socket)
      socket.on('error', () => {})
      socket.on('close', () => {
        open.delete(socket)
        other.destroy()
      })
      socket.pipe(other)
    }
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const heal = () => {
    clearTimeout(timer)
    isConnected = true
  }
  return {
    port: (server.address() as AddressInfo).port,
    heal,
    cut(forMs) {
      heal()
      isConnected = false
      for (const socket of open) socket.destroy()
      timer = setTimeout(heal, forMs)
    },
    close: () => server.close(),
  }
}
