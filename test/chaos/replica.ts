/**
 * A second operator and a second controller beside the sandbox's own, each with an API server that can be taken away from it
 * alone: of two replicas with a partition between them only the holder of the Lease may work.
 */
import { readFile, writeFile } from 'node:fs/promises'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { ensureBundles } from '../../sandbox/lifecycle/bundles.ts'
import { agentImage, sandboxNamespace as namespace, programCommand } from '../../sandbox/lifecycle/components.ts'
import { leases } from '../../src/kube/resources.ts'
import { startDaemon } from '../rigs/process.ts'
import { eventually } from '../support/eventually.ts'
import type { TestSandbox } from '../system/sandbox.fixture.ts'
import type { ReplicatedPart } from './history.ts'

export interface Replica {
  /** It comes to lead, and then its way to the API server ends for so long. */
  cut(forMs: number): Promise<void>
  heal(): void
  stop(): Promise<void>
}

export interface ReplicaOptions {
  /** What it is told besides what every replica is. */
  env: Record<string, string>
}

export async function startReplica(
  { sandbox }: TestSandbox,
  part: ReplicatedPart,
  { env: given }: ReplicaOptions,
): Promise<Replica> {
  const { state, urls, components: parts } = sandbox
  const cluster = part === 'operator' ? sandbox.management : sandbox.biz
  const name = `second-${part}`
  const way = await wayTo(Number(new URL(cluster.url).port))
  const kubeconfig = state.path(`${name}.kubeconfig`)
  const own = await readFile(cluster.kubeconfig, 'utf8')
  await writeFile(kubeconfig, own.replaceAll(new URL(cluster.url).host, `127.0.0.1:${way.port}`), { mode: 0o600 })
  const { program } = await ensureBundles()
  const { command, env } = programCommand(program, part)
  const [node = '', ...args] = command
  const told = {
    operator: {
      POD_NAMESPACE: namespace,
      OPERATOR_ADDR: '127.0.0.1:0',
      INVENTORY_URL: urls['inventory'] ?? '',
      CONTRABASS_ENDPOINT: urls['contrabass'] ?? '',
      VIOLA_ENDPOINT: urls['viola'] ?? '',
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
    env: { ...env, ...told[part], KUBECONFIG: kubeconfig, POD_NAME: name, ...given },
  })

  /** The other one dies, and nobody waits for its Lease to run out. */
  async function lead(): Promise<void> {
    const lease = { namespace, name: `multinic-${part}` }
    try {
      await eventually(
        async () => {
          const holder = (await cluster.kube.get(leases, lease))?.spec?.holderIdentity
          if (holder?.startsWith(name)) return
          parts.suspend(part)
          await cluster.kube.patch(leases, lease, { spec: { holderIdentity: '', leaseDurationSeconds: 1 } })
          throw new Error(`${name} does not come to lead`)
        },
        { within: 90_000, every: 500 },
      )
    } finally {
      parts.resume(part)
    }
  }

  return {
    async cut(forMs) {
      way.heal()
      await lead()
      way.cut(forMs)
    },
    heal: way.heal,
    async stop() {
      way.heal()
      await daemon.stop()
      way.close()
    },
  }
}

interface Way {
  port: number
  cut(forMs: number): void
  heal(): void
  close(): void
}

async function wayTo(target: number): Promise<Way> {
  const open = new Set<Socket>()
  let whole = true
  let timer: NodeJS.Timeout | undefined
  const server = createServer(near => {
    if (!whole) return void near.destroy()
    const far = connect(target, '127.0.0.1')
    for (const [socket, other] of [
      [near, far],
      [far, near],
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
    whole = true
  }
  return {
    port: (server.address() as AddressInfo).port,
    heal,
    cut(forMs) {
      heal()
      whole = false
      for (const socket of open) socket.destroy()
      timer = setTimeout(heal, forMs)
    },
    close: () => server.close(),
  }
}
