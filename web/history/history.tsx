/**
 * Who had it then? What changed between A and B? Every change with before and after.
 */
import { useEffect, useMemo, useState } from 'preact/hooks'
import type { HistoryEntry } from '../../src/contract/inventory.ts'
import { type Change, changesOf, detailsOf } from '../model/diff.ts'
import { recentHistory, saveCsv } from '../state/api.ts'
import { CsvButton, Panel, Skeleton, useUi } from '../ui/ui.tsx'
import { Changes } from './changes.tsx'
import { Ask } from './owner-search.tsx'
import { StatesAt, useStatesAt } from './snapshots.tsx'
import { type Range, Span } from './time-range.tsx'

const most = 1_000

export interface Changed {
  key: string
  /** Undefined where several changes are told as one. */
  at: string | undefined
  nodeName: string
  providerId: string
  why: string
  what: HistoryEntry['what']
  changes: Change[]
}

export function History() {
  const { say, data, route } = useUi()
  const [loaded, setLoaded] = useState<{ entries: HistoryEntry[]; until: number }>()
  const [range, setRange] = useState<Range>({ a: 0, b: 1 })
  const newest = data.recent[0]?.id
  useEffect(() => {
    recentHistory(most)
      .then(entries => setLoaded({ entries, until: Date.now() }))
      .catch(() => {})
  }, [newest])
  const { node } = route.query
  const all = useMemo(() => changedOf(loaded?.entries ?? [], node), [loaded, node])
  const until = loaded?.until ?? 0
  const first = Date.parse(all.at(-1)?.at ?? '') || until
  const timeOf = (share: number) => first + share * Math.max(1, until - first)
  const [from, to] = [timeOf(range.a), timeOf(range.b)]
  const inRange = useMemo(
    () => all.filter(({ at = '' }) => Date.parse(at) >= from - 1 && Date.parse(at) <= to + 1),
    [all, from, to],
  )
  const states = useStatesAt(loaded ? from : undefined, to, node)
  const save = () =>
    saveCsv(
      [['at', 'provider', 'node', 'interface', 'change', 'before', 'after', 'why'], ...inRange.flatMap(lines)],
      'history.csv',
    )
  return (
    <>
      <div class="head">
        <h1>{say('screen.history')}</h1>
        <span class="sub">{node ?? say('history.note')}</span>
        <div class="right">
          {node && (
            <a class="btn" href="#/history">
              {say('history.allNodes')}
            </a>
          )}
          {inRange.length > 0 && <CsvButton save={save} />}
        </div>
      </div>
      <Ask />
      {loaded === undefined ? (
        <Panel>
          <Skeleton />
        </Panel>
      ) : (
        <>
          {all.length > 1 && (
            <Span all={all} range={range} setRange={setRange} timeOf={timeOf}>
              <StatesAt states={states} from={from} to={to} />
            </Span>
          )}
          <Changes rows={inRange} net={states.net} />
        </>
      )}
    </>
  )
}

function changedOf(entries: readonly HistoryEntry[], node: string | undefined): Changed[] {
  return entries.flatMap(entry => {
    const of = entry.after ?? entry.before
    if (!of || (node && of.nodeName !== node)) return []
    const { nodeName, providerId } = of
    const { id, at, why, what } = entry
    return [{ key: String(id), at, nodeName, providerId, why, what, changes: changesOf(entry) }]
  })
}

function lines({ at = '', providerId, nodeName, why, changes }: Changed): string[][] {
  return changes.flatMap(change => {
    const fields =
      change.op === 'chg'
        ? [...change.fields.filter(({ field }) => field === 'state'), ...detailsOf(change)]
        : change.fields
    return fields.map(({ field, before, after }) => [at, providerId, nodeName, change.nic, field, before, after, why])
  })
}
