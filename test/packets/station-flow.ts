/** A flow that sends a message every few milliseconds and measures how long none comes back. */
import { createSocket } from 'node:dgram'
import { connect, isIPv6 } from 'node:net'
import type { FlowState, OpenCommand } from './station-protocol.ts'

export interface OpenFlow {
  opened: Promise<object>
  state(restart: boolean): FlowState
  close(): void
}

const message = 'message.'

export function openFlow(command: OpenCommand): OpenFlow {
  const { every } = command
  let [echoes, silence, silenceAt, started, last] = [0, 0, 0, performance.now(), performance.now()]
  let closed: string | undefined
  const measure = (now: number) => {
    if (now - last > silence) [silence, silenceAt] = [now - last, last - started]
  }
  const { promise: opened, resolve } = Promise.withResolvers<object>()
  const received = () => {
    const now = performance.now()
    measure(now)
    last = now
    echoes++
    resolve({})
  }
  const failed = (reason: string) => {
    closed ??= reason
    clearInterval(timer)
    resolve({ error: reason })
  }
  const channel = command.udp ? udpChannel(command, received) : tcpChannel(command, received, failed)
  const timer = setInterval(channel.send, every)
  setTimeout(() => resolve({ error: 'no echo' }), 3_000).unref()
  return {
    opened,
    state(restart) {
      const now = performance.now()
      if (closed === undefined) measure(now)
      const state = { echoes, silence, silenceAt, since: now - last, ...(closed === undefined ? {} : { closed }) }
      // A flow that is silent now stays silent: only the count begins again.
      if (restart) [echoes, silence, silenceAt, started] = [0, 0, 0, now]
      if (restart) last = now
      return state
    },
    close() {
      clearInterval(timer)
      channel.close()
    },
  }
}

interface Channel {
  send(): void
  close(): void
}

function tcpChannel(command: OpenCommand, received: () => void, failed: (reason: string) => void): Channel {
  const { to, port, localPort, source } = command
  const socket = connect({ host: to, port, localPort, ...(source === undefined ? {} : { localAddress: source }) })
  socket.setNoDelay(true)
  socket.on('data', received)
  socket.on('error', error => failed(error.message))
  socket.on('close', () => failed('closed'))
  let connected = false
  socket.on('connect', () => {
    connected = true
  })
  return { send: () => void (connected && socket.write(message)), close: () => void socket.destroy() }
}

/** An error of a connected UDP socket, such as an unreachable network, ends nothing: the next message is tried. */
function udpChannel({ to, port, localPort, source }: OpenCommand, received: () => void): Channel {
  const socket = createSocket(isIPv6(to) ? 'udp6' : 'udp4')
  socket.on('message', received)
  socket.on('error', () => {})
  let ready = false
  socket.bind({ port: localPort, ...(source === undefined ? {} : { address: source }) }, () =>
    socket.connect(port, to, (error?: Error) => {
      ready = error === undefined
    }),
  )
  return {
    send: () => void (ready && socket.send(message, () => {})),
    close: () => void socket.close(),
  }
}

export function flowOf(
  flow: OpenFlow | undefined,
  { restart = false, close = false }: { restart?: boolean; close?: boolean },
): FlowState | { error: string } {
  if (!flow) return { error: 'no such flow' }
  const state = flow.state(restart)
  if (close) flow.close()
  return state
}
