/**
 * The history: who had an address at a time, what changed in a period, and every change with before and after.
 */
import { useEffect, useMemo, useState } from 'preact/hooks'
import type { HistoryEntry } from '../../src/contract/inventory.ts'
import { fieldChangesOf } from '../model/diff.ts'
import { historyOfNodes, recentHistory, saveCsv } from '../state/api.ts'
import { useHolders } from '../state/holders.ts'
import { useUi } from '../ui/context.ts'
import { CsvButton } from '../ui/controls.tsx'
import { Skeleton } from '../ui/empty-state.tsx'
import { Panel } from '../ui/panel.tsx'
import { Changes } from './changes.tsx'
import { changesOfHolders, type NodeChange, nodeChangesOf } from './node-changes.ts'
import { OwnerSearch } from './owner-search.tsx'
import { SnapshotSummaries, useSnapshots } from './snapshots.tsx'
import { type Range, TimeRange } from './time-range.tsx'

const maxEntries = 1_000

export function History() {
  const { t, data, route } = useUi()
  const [loaded, setLoaded] = useState<{ entries: HistoryEntry[]; until: number }>()
  const [range, setRange] = useState<Range>({ a: 0, b: 1 })
  const newest = data.recent[0]?.id
  const { node, q = '' } = route.query
  const outcome = useHolders(q)
  const holders = outcome?.answer?.holders
  useEffect(() => {
    let current = true
    // The newest entries of a large fleet are those of a day: an earlier owner is found only in the history of its node.
    const load = holders ? historyOfNodes(holders, maxEntries) : recentHistory(maxEntries)
    load.then(entries => current && setLoaded({ entries, until: Date.now() })).catch(() => {})
    return () => {
      current = false
    }
  }, [newest, holders])
  const all = useMemo(() => {
    const rows = nodeChangesOf(loaded?.entries ?? [], node)
    return holders ? changesOfHolders(rows, holders) : rows
  }, [loaded, node, holders])
  const until = loaded?.until ?? 0
  const first = Date.parse(all.at(-1)?.at ?? '') || until
  const timeOf = (fraction: number) => first + fraction * Math.max(1, until - first)
  const [from, to] = [timeOf(range.a), timeOf(range.b)]
  const inRange = useMemo(
    () => all.filter(({ at = '' }) => Date.parse(at) >= from - 1 && Date.parse(at) <= to + 1),
    [all, from, to],
  )
  const snapshots = useSnapshots(loaded ? from : undefined, to, node)
  const net = snapshots.net && holders ? changesOfHolders(snapshots.net, holders) : snapshots.net
  const save = () =>
    saveCsv(
      [['at', 'provider', 'node', 'interface', 'change', 'before', 'after', 'why'], ...inRange.flatMap(csvRows)],
      'history.csv',
    )
  return (
    <>
      <div class="head">
        <h1>{t('screen.history')}</h1>
        <span class="sub">{node ?? t('history.note')}</span>
        <div class="right">
          {node && (
            <a class="btn" href="#/history">
              {t('history.allNodes')}
            </a>
          )}
          {inRange.length > 0 && <CsvButton save={save} />}
        </div>
      </div>
      <OwnerSearch outcome={outcome} />
      {loaded === undefined ? (
        <Panel>
          <Skeleton />
        </Panel>
      ) : (
        <>
          {all.length > 1 && (
            <TimeRange all={all} range={range} setRange={setRange} timeOf={timeOf}>
              <SnapshotSummaries snapshots={snapshots} from={from} to={to} />
            </TimeRange>
          )}
          <Changes each={inRange} net={net} />
        </>
      )}
    </>
  )
}

function csvRows({ at = '', providerId, nodeName, why, changes }: NodeChange): string[][] {
  return changes.flatMap(change => {
    const fields =
      change.op === 'changed'
        ? [...change.fields.filter(({ field }) => field === 'state'), ...fieldChangesOf(change)]
        : change.fields
    return fields.map(({ field, before, after }) => [at, providerId, nodeName, change.nic, field, before, after, why])
  })
}
