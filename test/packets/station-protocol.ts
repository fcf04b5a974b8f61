/** What the suite and its stations say to each other: one JSON object a line. */
export interface ProbeCommand {
  do: 'probe'
  udp: boolean
  to: string
  port: number
  /** The address that the socket is bound to. */
  source?: string | undefined
  localPort: number
  /** Milliseconds. */
  within: number
}

export interface OpenCommand {
  do: 'open'
  name: string
  udp: boolean
  to: string
  port: number
  source?: string | undefined
  localPort: number
  /** Milliseconds between two sent messages. */
  every: number
}

export type Command =
  | { do: 'listen'; tcp?: number[]; udp?: { port: number; address: string }[] }
  | ProbeCommand
  | OpenCommand
  /** `restart`: forget the silence so far. */
  | { do: 'flow'; name: string; restart?: boolean; close?: boolean }

export interface ProbeReply {
  /** The source address that the server saw, when it sent everything back. */
  seen?: string
  seenPort?: number
  error?: string
}

export interface FlowState {
  /** Messages that came back. */
  echoes: number
  /** The longest time without one, in milliseconds, and when it began: milliseconds since the restart. */
  silence: number
  silenceAt: number
  /** Milliseconds since the last one. */
  since: number
  closed?: string
}
