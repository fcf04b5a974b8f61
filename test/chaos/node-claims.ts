/**
 * What each surface says about a node after a check, beside what its kernel and its MultiNicNodeConfig say. Pure.
 */
import { isDeepStrictEqual } from 'node:util'
import { readyOf } from '../../src/contract/object.ts'
import { eventTypeOf } from '../../src/contract/reasons/catalogue.ts'
import type { Surfaces } from './surfaces.ts'

interface Counts {
  /** NICs that are as requested in the kernel. */
  matching: number
  wanted: number
}

/** What the surface says, and what it should say. */
type Claim = [said: unknown, expected: unknown]

const claims = {
  'the columns of kubectl': ({ columns = {}, vm, config }, { matching, wanted }): Claim => {
    const isGood = matching === wanted
    const { Node, NICs, Reason, State } = columns
    return [
      [Node, NICs, Reason, State === 'Configured'],
      [vm, `${matching}/${wanted}`, config && readyOf(config)?.reason, isGood],
    ]
  },
  'the conditions': ({ config }, { matching, wanted }): Claim => {
    const of = (type: string) => config?.status?.conditions?.find(one => one.type === type)?.status
    const isGood = matching === wanted
    return [
      { Ready: of('Ready'), Degraded: of('Degraded'), Progressing: of('Progressing') },
      { Ready: isGood ? 'True' : 'False', Degraded: isGood ? 'False' : 'True', Progressing: 'False' },
    ]
  },
  'the condition of the Node': ({ config, node }): Claim => {
    const { status, reason } = (config && readyOf(config)) ?? {}
    const own = node?.status?.conditions?.find(({ type }) => type === 'MultiNicReady')
    return [
      [own?.status, own?.reason],
      [status, reason],
    ]
  },
  /** Events have a resolution of one second. */
  'the Events': ({ config, events }): Claim => {
    const { reason = '' } = (config && readyOf(config)) ?? {}
    const last = events
      .map(({ lastTimestamp = '' }) => lastTimestamp)
      .sort()
      .at(-1)
    const newest = events.filter(({ lastTimestamp }) => lastTimestamp === last)
    const types = events.map(one => `${one.reason} ${one.type}`)
    return [
      [newest.some(one => one.reason === reason), types],
      [true, events.map(one => `${one.reason} ${eventTypeOf(one.reason)}`)],
    ]
  },
  'the state in multinic status': ({ status }, { matching, wanted }): Claim => [
    status?.state === 'Configured',
    matching === wanted,
  ],
  'the state in sandbox status': ({ sandbox }, { matching, wanted }): Claim => [
    sandbox?.state === 'Configured',
    matching === wanted,
  ],
  'the reason in the change feed': ({ newest }, { matching, wanted }): Claim => {
    const { state, reason, remedy } = newest?.after ?? {}
    const explains = Boolean(reason && remedy && (newest?.what !== 'status' || newest.why.includes(reason)))
    return [
      [state === 'Configured', explains || matching === wanted],
      [matching === wanted, true],
    ]
  },
  'the stream of changes': ({ newest, streamed }): Claim => [streamed, newest],
  /** They answer who has a port. */
  'the owners of ports': ({ found, owners, config, vm }): Claim => {
    const requested = config?.spec.interfaces.map(({ portId, name }) => `${portId} ${vm} ${name}`).sort()
    return [
      [found.map(one => `${one.value} ${one.nodeName} ${one.interface}`).sort(), owners],
      [requested, requested],
    ]
  },
} as const satisfies Record<string, (surfaces: Surfaces, counts: Counts) => Claim>

export const nodeSurfaces = Object.keys(claims) as (keyof typeof claims)[]

export function nodeContradictions(surfaces: Surfaces, counts: Counts): string[] {
  if (counts.wanted === 0) return []
  return nodeSurfaces.flatMap(surface => {
    const [said, expected] = claims[surface](surfaces, counts)
    if (isDeepStrictEqual(said, expected)) return []
    return [`${surface}: ${JSON.stringify(said)}, expected ${JSON.stringify(expected)}`]
  })
}
