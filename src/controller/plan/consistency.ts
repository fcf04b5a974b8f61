/**
 * Whether the parts of a status fit each other and the spec. After a start the controller knows no earlier status to compare
 * with: a check of the node puts right what somebody edited. Pure.
 */
import { interfaceHash } from '../../contract/interface-hash.ts'
import type { Interface } from '../../contract/interfaces.ts'
import type { InterfaceStatus, NodeConfig, NodeConfigStatus } from '../../contract/node-config.ts'
import { isLegacyEntry } from './config-status.ts'
import type { Requested } from './requested.ts'

/** For a status of the current spec. An entry of a MultiNicBizConfig has only some parts. */
export function isConsistent(config: NodeConfig, { interfaces, specHash }: Pick<Requested, 'interfaces' | 'specHash'>) {
  if (isLegacyEntry(config)) return true
  const { state, nics, observedSpecHash, interfaceStatuses = [] } = config.status ?? {}
  const found = interfaces.flatMap(
    nic => interfaceStatuses.find(({ id, macAddress }) => id === nic.index && macAddress === nic.macAddress) ?? [],
  )
  const ready = found.filter(({ status, pending }) => status === 'Configured' && !pending).length
  return (
    haveOneMeaning(config.status ?? {}) &&
    isAbsentOr(config.spec.specHash || specHash, observedSpecHash) &&
    found.length === interfaces.length &&
    interfaceStatuses.every(one => one.status === 'Removed' || found.includes(one)) &&
    found.every((one, position) => fits(one, interfaces[position])) &&
    nics === `${ready}/${interfaces.length}` &&
    (state !== 'Configured' || ready === interfaces.length)
  )
}

function haveOneMeaning({ state, observedGeneration, conditions = [] }: NodeConfigStatus): boolean {
  const expected = new Map([
    ['Ready', state === 'Configured'],
    ['Degraded', state === 'Failed'],
    ['Progressing', state !== 'Configured' && state !== 'Failed'],
  ])
  const states = conditions.filter(({ type }) => type !== 'Warning')
  return (
    states.length === expected.size &&
    // A failure may be final, or be tried again.
    states.every(({ type, status }) => {
      const value = expected.get(type)
      return status === (value ? 'True' : 'False') || (type === 'Progressing' && state === 'Failed')
    }) &&
    states.every(({ type }) => expected.has(type)) &&
    new Set(states.map(({ type }) => type)).size === expected.size &&
    new Set(states.map(({ reason }) => reason)).size === 1 &&
    conditions.every(one => isAbsentOr(observedGeneration, one.observedGeneration))
  )
}

function fits(one: InterfaceStatus, nic: Interface | undefined): boolean {
  if (!nic) return false
  const isObserved = one.status === 'Configured' && !one.pending
  return (
    isAbsentOr(nic.name, one.name) &&
    isAbsentOr(nic.portId, one.portId) &&
    (!isObserved || (one.lastConfigured !== undefined && isAbsentOr(interfaceHash(nic), one.specHash)))
  )
}

/** The Go implementation wrote fewer fields. */
function isAbsentOr<T>(expected: T, value: T | undefined): boolean {
  return value === undefined || value === expected
}
