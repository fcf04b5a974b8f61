/**
 * Hears who answers before a change and after it: the node's gateways, the API server, and each NIC's own gateway or peer.
 * What answered before must answer after. All are asked at once.
 */
import { parseIp } from '../contract/address.ts'
import type { Settings } from './config.ts'
import type { Host } from './host.ts'
import type { Observed } from './observed.ts'
import { gatewayTargets, nicTarget, type Ours } from './probe.ts'
import type { WantedNic } from './wanted.ts'
import { type Answers, askWire, type Target, targetKey } from './wire.ts'

export interface Heard {
  answers: Answers
  apiServer: boolean
}

export const nothingHeard: Heard = { answers: new Map(), apiServer: false }

interface Question {
  host: Host
  settings: Settings
  observed: Observed
  nics: readonly { nic: WantedNic; ifindex: number }[]
  ours: Ours
}

export async function listen({ host, settings, observed, nics, ours }: Question): Promise<Heard> {
  const { probe, apiServer } = settings
  if (probe.mode === 'off' && Object.values(probe.of).every(mode => mode === 'off')) return nothingHeard
  const targets = [
    ...gatewayTargets(observed, ours),
    ...nics.flatMap(({ nic, ifindex }) => nicTarget(nic, ifindex, settings) ?? []),
  ]
  const [answers, answered] = await Promise.all([
    askWire(host, targets, observed.links, probe.timeout),
    apiServer !== undefined && parseIp(apiServer) ? host.reach(apiServer, settings.apiPort, probe.timeout) : false,
  ])
  return { answers, apiServer: answered }
}

/** In words: those of the node that answered before and do not any more. */
export function fallenSilent(observed: Observed, ours: Ours, before: Heard, after: Heard): string[] {
  const silent = ({ ifindex, address }: Target) =>
    before.answers.has(targetKey({ ifindex, address })) && !after.answers.has(targetKey({ ifindex, address }))
  return [
    ...gatewayTargets(observed, ours)
      .filter(silent)
      .map(({ address }) => `the answer of gateway ${address}`),
    ...(before.apiServer && !after.apiServer ? ['the answer of the API server'] : []),
  ]
}
