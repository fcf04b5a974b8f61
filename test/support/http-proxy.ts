/**
 * A proxy as sites have them: it makes tunnels and passes plain requests on, and remembers where people wanted to go.
 */
import { createServer, request } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'

export interface HttpProxy {
  url: string
  /** `host:port` of every request or tunnel. */
  asked: string[]
  [Symbol.asyncDispose](): Promise<void>
}

export async function startProxy(): Promise<HttpProxy> {
  const asked: string[] = []
  const sockets = new Set<Socket>()
  const server = createServer((incoming, outgoing) => {
    const target = new URL(incoming.url ?? '')
    asked.push(target.host)
    const { method, headers } = incoming
    const passed = request(target, { method: method ?? 'GET', headers }, answer => {
      outgoing.writeHead(answer.statusCode ?? 502, answer.headers)
      answer.pipe(outgoing)
    })
    passed.on('error', () => outgoing.destroy())
    incoming.pipe(passed)
  })
  server.on('connect', (incoming, client: Socket, head: Buffer) => {
    const [host = '', port] = (incoming.url ?? '').split(':')
    asked.push(incoming.url ?? '')
    const target = connect(Number(port), host, () => {
      client.write('HTTP/1.1 200 Connection established\r\n\r\n')
      target.write(head)
      target.pipe(client).pipe(target)
    })
    target.on('error', () => client.destroy())
    client.on('error', () => target.destroy())
  })
  server.on('connection', (socket: Socket) => {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    asked,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy()
      await new Promise(resolve => server.close(resolve))
    },
  }
}
