/**
 * A second controller beside the sandbox's own, with an API server that can be taken away from it alone: of two replicas with a
 * partition between them only the holder of the Lease may work.
 */
import { readFile, writeFile } from 'node:fs/promises'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { builtParts } from '../../src/sandbox/built.ts'
import { agentImage, sandboxNamespace as namespace, ownProgram } from '../../src/sandbox/parts.ts'
import { startDaemon } from '../rigs/process.ts'
import type { Walk } from '../walks/world.ts'

export interface Replica {
  /** Its way to the API server ends, for so long. */
  cut(forMs: number): void
  heal(): void
  stop(): Promise<void>
}

/** What both replicas are told. */
export const replicated = { LEADER_ELECT: 'true' }

export async function startReplica({ sandbox }: Walk): Promise<Replica> {
  const { state, biz } = sandbox
  const way = await wayTo(Number(new URL(biz.api.url).port))
  const kubeconfig = state.path('second-controller.kubeconfig')
  const own = await readFile(biz.api.kubeconfig, 'utf8')
  await writeFile(kubeconfig, own.replaceAll(new URL(biz.api.url).host, `127.0.0.1:${way.port}`), { mode: 0o600 })
  const { program } = await builtParts()
  const { command, env } = ownProgram(program, 'controller')
  const [node = '', ...args] = command
  const daemon = startDaemon(node, args, {
    log: state.path('logs', 'second-controller.log'),
    env: {
      ...env,
      ...replicated,
      KUBECONFIG: kubeconfig,
      CONTROLLER_NAMESPACE: namespace,
      POD_NAME: 'second-controller',
      AGENT_IMAGE: agentImage,
      AGENT_IMAGE_PULL_POLICY: 'Never',
      HEALTH_ADDR: '127.0.0.1:0',
    },
  })
  return {
    cut: way.cut,
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
