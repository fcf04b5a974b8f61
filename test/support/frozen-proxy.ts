/**
 * A TCP proxy that can drop all data while it keeps the connections, like a network whose packets vanish.
 */
import { connect, createServer, type Socket } from 'node:net'

export interface FrozenProxy {
  url: string
  freeze(): void
  thaw(): void
  /** Drops the data of all open connections for good. Later connections work, as those to another server after a failover. */
  lose(): void
  close(): Promise<void>
}

export async function startFrozenProxy(target: string): Promise<FrozenProxy> {
  const { hostname, port } = new URL(target)
  const sockets = new Set<Socket>()
  const lost = new WeakSet<Socket>()
  let frozen = false
  const server = createServer(client => {
    const upstream = connect(Number(port), hostname)
    for (const [from, to] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(from)
      from.on('data', data => {
        if (!frozen && !lost.has(from)) to.write(data)
      })
      from.on('error', () => {})
      from.on('close', () => {
        sockets.delete(from)
        to.destroy()
      })
    }
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  return {
    url: `http://127.0.0.1:${typeof address === 'object' ? address?.port : 0}`,
    freeze() {
      frozen = true
    },
    thaw() {
      frozen = false
    },
    lose() {
      for (const socket of sockets) lost.add(socket)
    },
    async close() {
      for (const socket of sockets) socket.destroy()
      await new Promise(resolve => server.close(resolve))
    },
  }
}
