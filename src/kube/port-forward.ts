/**
 * Forwards a local port to a port of a Pod through the API server, as `kubectl port-forward` does. One WebSocket for each
 * connection, with the protocol v4.channel.k8s.io: the first byte of a message is its channel.
 */
import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { WebSocket } from 'undici'
import { withoutSlash } from '../contract/url.ts'
import type { ClusterAccess } from './config.ts'
import { connectionsTo, currentCertificates } from './connections.ts'

export interface PortForward {
  /** `http://127.0.0.1:port`. */
  url: string
  /** Why the last connection failed. */
  readonly problem: string | undefined
  close(): Promise<void>
}

export interface ForwardTarget {
  namespace: string
  pod: string
  port: number
}

const [dataChannel, errorChannel] = [0, 1]
const maxBufferedBytes = 1024 * 1024

export async function forwardPort(access: ClusterAccess, target: ForwardTarget): Promise<PortForward> {
  const dispatcher = connectionsTo(access, await currentCertificates(access), { connectTimeoutMs: 10_000 })
  const pathOf = ({ namespace, pod, port }: ForwardTarget) =>
    `/api/v1/namespaces/${encodeURIComponent(namespace)}/pods/${encodeURIComponent(pod)}/portforward?ports=${port}`
  const url = `${withoutSlash(access.server).replace(/^http/, 'ws')}${pathOf(target)}`
  const sockets = new Set<Socket>()
  let problem: string | undefined

  async function connect(socket: Socket): Promise<void> {
    const token = await access.token?.()
    const headers = { 'user-agent': 'multinic', ...(token && { authorization: `Bearer ${token}` }) }
    bridge(socket, new WebSocket(url, { protocols: ['v4.channel.k8s.io'], headers, dispatcher }), found => {
      problem = found
    })
  }

  const server = createServer(socket => {
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
    connect(socket).catch(error => socket.destroy(error))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    get problem() {
      return problem
    },
    async close() {
      server.close()
      for (const socket of sockets) socket.destroy()
      await dispatcher.destroy()
    },
  }
}

/** Copies between a local connection and the channels of a WebSocket until either side ends. */
function bridge(socket: Socket, tunnel: WebSocket, onProblem: (problem: string) => void): void {
  /** The first message of each channel repeats the port. */
  const begun = new Set<number>()
  tunnel.binaryType = 'arraybuffer'
  socket.pause()
  tunnel.addEventListener('open', () => socket.resume())
  tunnel.addEventListener('message', ({ data }) => {
    const bytes = Buffer.from(data as ArrayBuffer)
    const channel = bytes[0] ?? errorChannel
    if (!begun.has(channel)) begun.add(channel)
    else if (channel === dataChannel) socket.write(bytes.subarray(1))
    else onProblem(bytes.subarray(1).toString('utf8'))
  })
  tunnel.addEventListener('error', ({ message, error }) => {
    onProblem(message || String(error ?? 'the API server refused the connection'))
    socket.destroy()
  })
  tunnel.addEventListener('close', () => socket.end())
  socket.on('data', chunk => {
    tunnel.send(Buffer.concat([Buffer.from([dataChannel]), chunk]))
    if (tunnel.bufferedAmount < maxBufferedBytes) return
    socket.pause()
    const resume = () => (tunnel.bufferedAmount < maxBufferedBytes ? socket.resume() : setTimeout(resume, 10))
    resume()
  })
  socket.on('error', () => tunnel.close())
  socket.on('close', () => tunnel.close())
}
