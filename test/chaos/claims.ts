/**
 * What each surface says about one NIC: whether it is as requested. Pure.
 */
import type { Deviation } from '../../src/contract/inventory.ts'
import type { Surfaces, WantedNic } from './surfaces.ts'

interface NicState {
  status?: string | undefined
  pending?: unknown
}

const isReady = (nic: NicState | undefined) => nic?.status === 'Configured' && nic.pending === undefined
const lists = (deviations: readonly Deviation[], name: string | undefined) =>
  deviations.some(({ interface: nic }) => nic === name)

const claims = {
  'the CR': ({ config }, { macAddress }) =>
    isReady(config?.status?.interfaceStatuses?.find(nic => nic.macAddress === macAddress)),
  'the inventory': ({ record }, { macAddress }) =>
    isReady(record?.interfaces?.find(nic => nic.macAddress === macAddress)),
  'the list of deviations': ({ record, deviations }, { name }) => record !== undefined && !lists(deviations, name),
  'the change feed': ({ newest }, { macAddress }) =>
    isReady(newest?.after?.interfaces?.find(nic => nic.macAddress === macAddress)),
  'multinic status': ({ status }, { name }) => isReady(status?.interfaces.find(nic => nic.name === name)),
  'the text of multinic status': ({ texts }, nic) => isTreeLineGood(texts.en.status, nic),
  'the Korean text of multinic status': ({ texts }, nic) => isTreeLineGood(texts.ko.status, nic),
  'multinic check': ({ record, check }, { name }) => record !== undefined && !lists(check, name),
  'the text of multinic check': ({ record, texts }, nic) => record !== undefined && !hasRow(texts.en.check, nic),
  'the Korean text of multinic check': ({ record, texts }, nic) => record !== undefined && !hasRow(texts.ko.check, nic),
  'multinic why': ({ why }, { name }) => isReady(why?.interfaces.find(nic => nic.name === name)),
  'multinic export': ({ exported }, { macAddress }) =>
    exported.find(row => row.macAddress === macAddress)?.status === 'Configured',
  'multinic find': ({ found }, { portId }) => isReady(found.find(({ value }) => value === portId)),
  'the dashboard': ({ dashboard }, { name }) =>
    dashboard?.nics.find(nic => nic.name === name)?.severity === 'configured',
  'the ports of the dashboard': ({ ports }, { portId }) =>
    ports.find(port => port.portId === portId)?.state === 'configured',
  'sandbox status': ({ sandbox }, { portId }) =>
    sandbox?.interfaces.find(nic => nic.portId === portId)?.status === 'Configured',
} as const satisfies Record<string, (surfaces: Surfaces, nic: WantedNic) => boolean>

export const nicSurfaces = Object.keys(claims) as (keyof typeof claims)[]

/** These do not show that a newer request of the NIC waits. */
const withoutPending: readonly string[] = ['multinic export', 'sandbox status'] satisfies (keyof typeof claims)[]

export function claimsOf(surfaces: Surfaces, nic: WantedNic): Record<string, boolean> {
  const isPending = surfaces.config?.status?.interfaceStatuses?.some(
    ({ macAddress, pending }) => macAddress === nic.macAddress && pending !== undefined,
  )
  const shown = Object.entries(claims).filter(([surface]) => !isPending || !withoutPending.includes(surface))
  return Object.fromEntries(shown.map(([surface, claim]) => [surface, claim(surfaces, nic)]))
}

/** `├─ ● multinic0  Configured  10.10.0.10/24 …`, without a line about it below. */
function isTreeLineGood(text: string, { name }: WantedNic): boolean {
  const lines = text.split('\n')
  const at = lines.findIndex(line => new RegExp(`[├└]─ \\S ${name}  `).test(line))
  const isLastLine = (lines[at + 1] ?? '').trim() === '' || /[├└]─/.test(lines[at + 1] ?? '')
  return /\S (multinic\d) {2,}Configured /.test(lines[at] ?? '') && isLastLine
}

/** `worker-1  multinic1  Failed  …` */
function hasRow(text: string, { name }: WantedNic): boolean {
  return text.split('\n').some(line => line.split(/\s+/)[1] === name)
}
