/**
 * An HTTP proxy: opens tunnels, forwards plain requests, and records the targets.
 */
import { createServer, request } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'

export interface HttpProxy {
  url: string
  /** `host:port` of every request or tunnel. */
  requests: string[]
  [Symbol.asyncDispose](): Promise<void>
}

/** `hosts` are names that only the proxy knows. */
export async function startProxy(hosts: Record<string, string> = {}): Promise<HttpProxy> {
  const requests: string[] = []
  const sockets = new Set<Socket>()
  const server = createServer((incoming, outgoing) => {
    const target = new URL(incoming.url ?? '')
    requests.push(target.host)
    const { method, headers } = incoming
    const forwarded = request(target, { method: method ?? 'GET', headers }, response => {
      outgoing.writeHead(response.statusCode ?? 502, response.headers)
      response.pipe(outgoing)
    })
    forwarded.on('error', () => outgoing.destroy())
    incoming.pipe(forwarded)
  })
  server.on('connect', (incoming, client: Socket, head: Buffer) => {
    const [host = '', port] = (incoming.url ?? '').split(':')
    requests.push(incoming.url ?? '')
    const target = connect(Number(port), hosts[host] ?? host, () => {
      client.write('HTTP/1.1 200 Connection established\r\n\r\n')
      target.write(head)
      target.pipe(client).pipe(target)
    })
    target.on('error', () => client.destroy())
    client.on('error', () => target.destroy()).on('close', () => target.destroy())
  })
  server.on('connection', (socket: Socket) => {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy()
      await new Promise(resolve => server.close(resolve))
    },
  }
}
