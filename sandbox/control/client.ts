/**
 * How the commands speak to a running sandbox, over the socket in its directory. Loads little: commands are short.
 */
import { Agent, request } from 'undici'
import type { AttachInput, DetachInput } from '../cloud/attach.ts'
import type { ActiveFault, FaultInput } from '../faults/active-faults.ts'
import type { StateDir } from '../lifecycle/state-dir.ts'
import type { SandboxStatus } from './status.ts'

export interface PortView {
  id: string
  macAddress: string
  address: string
}

export interface NodePlace {
  namespace: string
  root: string
  /** The process whose user namespace they are in; absent where they are root's. */
  holder?: number
}

export interface Control {
  status(): Promise<SandboxStatus>
  attach(input: AttachInput): Promise<PortView[]>
  detach(input: DetachInput): Promise<PortView[]>
  reboot(node: string): Promise<void>
  /** Those that are on; after `faultOn` and `faultOff` those that are still on. */
  faults(): Promise<ActiveFault[]>
  faultOn(input: FaultInput): Promise<ActiveFault[]>
  faultOff(word?: string): Promise<ActiveFault[]>
  node(name: string): Promise<NodePlace>
  close(): Promise<void>
}

export function connectControl(state: StateDir): Control {
  const dispatcher = new Agent({ connect: { socketPath: state.socket }, headersTimeout: 120_000 })

  async function send<T>(method: 'GET' | 'POST' | 'DELETE', path: string, body?: unknown): Promise<T> {
    const answer = await request(`http://sandbox${path}`, {
      method,
      dispatcher,
      ...(body !== undefined && { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }),
    })
    const said = await answer.body.json()
    if (answer.statusCode >= 400) throw new Error((said as { detail?: string }).detail ?? `HTTP ${answer.statusCode}`)
    return said as T
  }

  return {
    status: () => send('GET', '/status'),
    attach: input => send('POST', '/attach', input),
    detach: input => send('POST', '/detach', input),
    reboot: async node => {
      await send('POST', '/reboot', { node })
    },
    faults: () => send('GET', '/faults'),
    faultOn: input => send('POST', '/faults', input),
    faultOff: word => send('DELETE', `/faults${word === undefined ? '' : `/${encodeURIComponent(word)}`}`),
    node: name => send('GET', `/nodes/${encodeURIComponent(name)}`),
    close: () => dispatcher.close(),
  }
}
