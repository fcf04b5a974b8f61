/**
 * A host of the packet suite: listens and connects inside its network namespace, and obeys JSON lines from its standard input.
 *
 * A server says which address and port it sees, and then echoes what it receives.
 */
import { createSocket, type SocketType } from 'node:dgram'
import { connect, createServer, isIPv6 } from 'node:net'
import { createInterface } from 'node:readline'
import { flowOf, type OpenFlow, openFlow } from './station-flow.ts'
import type { Command, ProbeCommand, ProbeReply } from './station-protocol.ts'

const echoed = 3_000
const flows = new Map<string, OpenFlow>()

function listenTcp(port: number): Promise<void> {
  const server = createServer(socket => {
    const address = (socket.remoteAddress ?? '').replace('::ffff:', '')
    socket.on('error', () => {})
    socket.setNoDelay(true)
    socket.write(`${address} ${socket.remotePort}\n`)
    socket.pipe(socket)
  })
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen({ port, host: '::', backlog: 256 }, resolve)
  })
}

/** Bound to one address: a reply of an unbound UDP socket has the source that the routing table selects. */
function listenUdp(port: number, address: string): Promise<void> {
  const socket = createSocket({ type: typeOf(address), reuseAddr: true })
  socket.on('message', (message, from) => {
    const text = message.length > 2 ? message : `${from.address.replace('::ffff:', '')} ${from.port}\n`
    socket.send(text, from.port, from.address, () => {})
  })
  return new Promise((resolve, reject) => {
    socket.once('error', reject)
    socket.bind({ port, address }, resolve)
  })
}

function probeTcp({ to, port, source, localPort, within }: ProbeCommand): Promise<ProbeReply> {
  const socket = connect({ host: to, port, localPort, ...(source === undefined ? {} : { localAddress: source }) })
  let text = ''
  return new Promise(resolve => {
    const end = (reply: ProbeReply) => {
      socket.destroy()
      resolve(reply)
    }
    socket.setTimeout(within, () => end({ error: 'timeout' }))
    socket.on('error', error => end({ error: error.message }))
    socket.on('close', () => end({ error: 'closed' }))
    socket.on('connect', () => socket.write('x'.repeat(echoed)))
    socket.on('data', data => {
      text += data
      const [first = '', rest = ''] = text.split('\n')
      if (rest.length === echoed) end(seenIn(first))
    })
  })
}

function probeUdp({ to, port, source, localPort, within }: ProbeCommand): Promise<ProbeReply> {
  const socket = createSocket(typeOf(to))
  return new Promise(resolve => {
    const end = (reply: ProbeReply) => {
      clearTimeout(timer)
      socket.removeAllListeners()
      socket.on('error', () => {})
      socket.close()
      resolve(reply)
    }
    const timer = setTimeout(() => end({ error: 'timeout' }), within)
    socket.on('error', error => end({ error: error.message }))
    socket.on('message', message => end(seenIn(String(message))))
    socket.bind({ port: localPort, ...(source === undefined ? {} : { address: source }) }, () =>
      // The callback gets an error when there is no route.
      socket.connect(port, to, (error?: Error) =>
        error ? end({ error: error.message }) : socket.send('hi', () => {}),
      ),
    )
  })
}

/** From what a server says first. */
function seenIn(text: string): ProbeReply {
  const [seen = '', port = ''] = text.trim().split(' ')
  return { seen, seenPort: Number(port) }
}

const typeOf = (address: string): SocketType => (isIPv6(address) ? 'udp6' : 'udp4')

async function obey(command: Command): Promise<unknown> {
  switch (command.do) {
    case 'listen':
      await Promise.all([
        ...(command.tcp ?? []).map(listenTcp),
        ...(command.udp ?? []).map(({ port, address }) => listenUdp(port, address)),
      ])
      return {}
    case 'probe':
      return command.udp ? probeUdp(command) : probeTcp(command)
    case 'open': {
      const flow = openFlow(command)
      flows.set(command.name, flow)
      return flow.opened
    }
    case 'flow':
      return flowOf(flows.get(command.name), command)
  }
}

process.stdin.on('end', () => process.exit(0))
for await (const line of createInterface(process.stdin)) {
  const { id, command } = JSON.parse(line) as { id: number; command: Command }
  obey(command).then(
    reply => process.stdout.write(`${JSON.stringify({ id, reply })}\n`),
    error => process.stdout.write(`${JSON.stringify({ id, reply: { error: String(error) } })}\n`),
  )
}
