/**
 * Memory of components that have nothing to do, started like in their images. The reference is a Node process that only keeps
 * as many connections.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readlinkSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { type AddressInfo, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { sandboxNamespace } from '../../sandbox/lifecycle/components.ts'
import { buildProgram } from '../../scripts/build.ts'
import { startOperatorEnvironment } from '../operator/environment.ts'
import { startComponent } from './component.ts'
import { type Bench, figure, memoryOf } from './figure.ts'

/** Until the caches are synced, and the garbage of the start is collected. */
const settleMs = 15_000

export const bench: Bench = async report => {
  await using stack = new AsyncDisposableStack()
  const dir = await mkdtemp(join(tmpdir(), 'multinic-idle-'))
  stack.defer(() => rm(dir, { recursive: true, force: true }))
  const environment = await startOperatorEnvironment()
  stack.defer(() => environment.close())
  const program = join(dir, 'multinic.mjs')
  await buildProgram(program)
  const { api, caller } = environment
  const settings = {
    operator: {
      OPERATOR_ADDR: '127.0.0.1:0',
      OPERATOR_TOKENS_FILE: caller.tokensFile,
      POD_NAMESPACE: sandboxNamespace,
      INVENTORY_ENABLED: 'false',
    },
    viola: { LISTEN_ADDR: '127.0.0.1:0', VIOLA_TOKENS_FILE: caller.tokensFile },
    controller: { HEALTH_ADDR: '127.0.0.1:0', CONTROLLER_NAMESPACE: sandboxNamespace },
  }
  for (const name of ['operator', 'viola', 'controller'] as const) {
    await using component = await startComponent(name, program, { KUBECONFIG: api.kubeconfig, ...settings[name] })
    await sleep(settleMs)
    await using bare = await startBareNode(connectionsOf(component.pid))
    const against = (field: 'VmRSS' | 'RssAnon') => ({
      against: 'bare Node with as many connections',
      reference: memoryOf(bare.pid, field),
    })
    report(figure(`${name}.idle_rss_mib`, memoryOf(component.pid), 'MiB', against('VmRSS'), { atMost: 100 }))
    report(
      figure(`${name}.idle_anonymous_mib`, memoryOf(component.pid, 'RssAnon'), 'MiB', against('RssAnon'), {
        atMost: 45,
      }),
    )
  }
}

function connectionsOf(pid: number): number {
  const links = readdirSync(`/proc/${pid}/fd`).map(fd => {
    try {
      return readlinkSync(`/proc/${pid}/fd/${fd}`)
    } catch {
      return 'closed since'
    }
  })
  return links.filter(link => link.startsWith('socket:')).length
}

async function startBareNode(connections: number): Promise<AsyncDisposable & { pid: number }> {
  const server = createServer(socket => socket.on('error', () => {}))
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const connect = `for (let n = 0; n < ${connections}; n++) require('node:net').connect(${port}, '127.0.0.1')`
  const child = spawn(process.execPath, ['-e', connect], { stdio: 'ignore' })
  await sleep(2_000)
  return {
    pid: child.pid ?? 0,
    async [Symbol.asyncDispose]() {
      child.kill()
      await once(child, 'exit')
      server.close()
    },
  }
}
