/**
 * Who had it then? What changed between A and B? Every change with before and after.
 */
import { useEffect, useMemo, useState } from 'preact/hooks'
import type { HistoryEntry } from '../src/contract/inventory.ts'
import { recentHistory } from './api.ts'
import { type Change, changesOf } from './diff.ts'
import { clock, count, exact } from './format.ts'
import { Ask } from './history-ask.tsx'
import { type Range, Span } from './history-span.tsx'
import { linkToNode } from './route.ts'
import { Diff } from './timeline.tsx'
import { Badge, Blank, Panel, Skeleton, useUi } from './ui.tsx'

const most = 1_000
const mostRows = 150

export interface Changed {
  entry: HistoryEntry
  at: number
  nodeName: string
  providerId: string
  changes: Change[]
}

export function History() {
  const { say, data, route } = useUi()
  const [entries, setEntries] = useState<HistoryEntry[]>()
  const [range, setRange] = useState<Range>({ a: 0, b: 1 })
  const newest = data.recent[0]?.id
  useEffect(() => {
    recentHistory(most)
      .then(setEntries)
      .catch(() => {})
  }, [newest])
  const { node } = route.query
  const all = useMemo(() => changedOf(entries ?? [], node), [entries, node])
  const first = all.at(-1)?.at ?? 0
  const length = Math.max(1, (all[0]?.at ?? 1) - first)
  const timeOf = (share: number) => first + share * length
  const inRange = all.filter(({ at }) => at >= timeOf(range.a) - 1 && at <= timeOf(range.b) + 1)
  return (
    <>
      <div class="head">
        <h1>{say('screen.history')}</h1>
        <span class="sub">{node ?? say('history.note')}</span>
        {node && (
          <div class="right">
            <a class="btn sm" href="#/history">
              {say('app.all')}
            </a>
          </div>
        )}
      </div>
      <Ask />
      {entries === undefined ? (
        <Panel>
          <Skeleton />
        </Panel>
      ) : (
        <>
          {all.length > 1 && <Span all={all} range={range} setRange={setRange} timeOf={timeOf} />}
          <Changes rows={inRange} />
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
    return [{ entry, at: Date.parse(entry.at), nodeName, providerId, changes: changesOf(entry) }]
  })
}

const ops = { add: '+', del: '−', chg: '~' } as const

function Changes({ rows }: { rows: readonly Changed[] }) {
  const { say, now, language } = useUi()
  const sums = rows.flatMap(({ changes }) => changes)
  const sum = (op: Change['op']) => sums.filter(change => change.op === op).length
  const badges = [
    { op: 'add', tone: 'ok', word: 'history.added' },
    { op: 'del', tone: 'bad', word: 'history.removed' },
    { op: 'chg', tone: 'warn', word: 'history.changed' },
  ] as const
  return (
    <Panel
      title={say('history.changes')}
      badge={badges
        .filter(({ op }) => sum(op) > 0)
        .map(({ op, tone, word }) => (
          <Badge key={op} tone={tone}>
            {say(word, { n: count(sum(op), language) })}
          </Badge>
        ))}
    >
      {rows.length === 0 ? (
        <Blank kind="search" title={say('history.none')} text={say('history.noneText')} />
      ) : (
        <div class="scrollx">
          <table class="tbl rows hist">
            <thead>
              <tr>
                <th>{say('matrix.node')}</th>
                <th>{say('history.what')}</th>
                <th>{say('history.why')}</th>
                <th class="num">{say('history.when')}</th>
              </tr>
            </thead>
            <tbody>
              {rows.slice(0, mostRows).map(({ entry, nodeName, providerId, changes }) => (
                <tr key={entry.id}>
                  <td class="nowrap">
                    <span class={`op ${changes[0]?.op ?? 'chg'}`} aria-hidden="true">
                      {ops[changes[0]?.op ?? 'chg']}
                    </span>{' '}
                    <a class="mono strong" href={linkToNode({ providerId, nodeName })}>
                      {nodeName}
                    </a>
                  </td>
                  <td class="full">{changes.length > 0 ? <Diff changes={changes} /> : say(`what.${entry.what}`)}</td>
                  <td class="mid full">{entry.why}</td>
                  <td class="num nowrap dim" title={exact(entry.at, language)}>
                    {clock(entry.at, now, language)}
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </Panel>
  )
}
