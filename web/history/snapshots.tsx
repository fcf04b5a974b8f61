/**
 * The inventory at A and at B: counts, links to the matrix at that time, and the net change between them.
 */
import { useMemo } from 'preact/hooks'
import { countsOf } from '../model/nodes.ts'
import { linkTo } from '../state/route.ts'
import { type Snapshot, useSnapshot } from '../state/snapshot.ts'
import { useUi } from '../ui/context.ts'
import { count } from '../ui/format.ts'
import { Badge } from '../ui/panel.tsx'
import { type NodeChange, netChanges } from './node-changes.ts'

export interface Snapshots {
  a: Snapshot | undefined
  b: Snapshot | undefined
  /** From A to B. Undefined until both snapshots are complete. */
  net: NodeChange[] | undefined
}

/** Loads a snapshot only when a handle rests, not for every time on its way. */
const restMs = 350

export function useSnapshots(from: number | undefined, to: number, node: string | undefined): Snapshots {
  const a = useSnapshot(from === undefined ? undefined : new Date(from).toISOString(), restMs)
  const b = useSnapshot(from === undefined ? undefined : new Date(to).toISOString(), restMs)
  const net = useMemo(
    () => (a?.complete && b?.complete ? netChanges(a.records, b.records, node) : undefined),
    [a, b, node],
  )
  return { a, b, net }
}

export function SnapshotSummaries({ snapshots, from, to }: { snapshots: Snapshots; from: number; to: number }) {
  return (
    <div class="snapshots">
      <SnapshotSummary name="a" snapshot={snapshots.a} at={from} />
      <SnapshotSummary name="b" snapshot={snapshots.b} at={to} />
    </div>
  )
}

function SnapshotSummary({ name, snapshot, at }: { name: 'a' | 'b'; snapshot: Snapshot | undefined; at: number }) {
  const { t, language } = useUi()
  const counts = useMemo(() => snapshot && countsOf(snapshot.nodes), [snapshot])
  const shown = counts && [
    t('count.nodes', { n: count(counts.nodes, language) }),
    t('count.nics', { n: count(counts.nics, language) }),
    t('count.failed', { n: count(counts.failed, language) }),
    t('count.drifted', { n: count(counts.drifted, language) }),
  ]
  return (
    <div>
      <Badge tone="accent">{t(name === 'a' ? 'history.stateA' : 'history.stateB')}</Badge>
      <span>{shown?.join(' · ') ?? '…'}</span>
      <a class="accent" href={linkTo('matrix', { asof: new Date(at).toISOString() })}>
        {t('history.openMatrix')}
      </a>
    </div>
  )
}
