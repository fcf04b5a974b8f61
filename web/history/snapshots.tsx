/**
 * The whole inventory at A and at B: counted, opened as a matrix, and one held against the other.
 */
import { useMemo } from 'preact/hooks'
import type { InventoryRecord } from '../../src/contract/inventory.ts'
import { changesBetween } from '../model/diff.ts'
import { countsOf, nodeKey } from '../model/nodes.ts'
import { linkTo } from '../state/route.ts'
import { type Past, usePast } from '../state/snapshot.ts'
import { count } from '../ui/format.ts'
import { Badge, useUi } from '../ui/ui.tsx'
import type { Changed } from './history.tsx'

export interface States {
  a: Past | undefined
  b: Past | undefined
  /** What is different at B; undefined until both are known. */
  net: Changed[] | undefined
}

/** So long after a handle was moved: who moves it looks at many times on the way. */
const restMs = 350

export function useStatesAt(from: number | undefined, to: number, node: string | undefined): States {
  const a = usePast(from === undefined ? undefined : new Date(from).toISOString(), restMs)
  const b = usePast(from === undefined ? undefined : new Date(to).toISOString(), restMs)
  const net = useMemo(() => (a?.complete && b?.complete ? netOf(a.records, b.records, node) : undefined), [a, b, node])
  return { a, b, net }
}

function netOf(a: readonly InventoryRecord[], b: readonly InventoryRecord[], node: string | undefined): Changed[] {
  const keyed = (records: readonly InventoryRecord[]) =>
    new Map(
      records
        .filter(({ nodeName }) => !node || nodeName === node)
        .map(one => [nodeKey(one.providerId, one.nodeName), one]),
    )
  const [before, after] = [keyed(a), keyed(b)]
  return [...new Set([...before.keys(), ...after.keys()])].flatMap((key): Changed[] => {
    const [was, is] = [before.get(key), after.get(key)]
    const of = is ?? was
    const changes = changesBetween(was, is)
    if (!of || changes.length === 0) return []
    const { nodeName, providerId } = of
    return [
      {
        key,
        at: undefined,
        nodeName,
        providerId,
        why: '',
        what: was ? (is ? 'config' : 'removed') : 'created',
        changes,
      },
    ]
  })
}

export function StatesAt({ states, from, to }: { states: States; from: number; to: number }) {
  return (
    <div class="ab">
      <StateAt name="a" past={states.a} at={from} />
      <StateAt name="b" past={states.b} at={to} />
    </div>
  )
}

function StateAt({ name, past, at }: { name: 'a' | 'b'; past: Past | undefined; at: number }) {
  const { say, language } = useUi()
  const counts = useMemo(() => past && countsOf(past.nodes), [past])
  const shown = counts && [
    say('many.nodes', { n: count(counts.nodes, language) }),
    say('many.nics', { n: count(counts.nics, language) }),
    say('many.bad', { n: count(counts.bad, language) }),
    say('many.drift', { n: count(counts.drift, language) }),
  ]
  return (
    <div>
      <Badge tone="acc">{say(name === 'a' ? 'history.stateA' : 'history.stateB')}</Badge>
      <span>{shown?.join(' · ') ?? '…'}</span>
      <a class="acc" href={linkTo('matrix', { asof: new Date(at).toISOString() })}>
        {say('history.asMatrix')}
      </a>
    </div>
  )
}
