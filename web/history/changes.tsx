/**
 * What changed in the chosen time: every change by itself, or B against A.
 */
import { useState } from 'preact/hooks'
import type { Change } from '../model/diff.ts'
import { Diff } from '../node/timeline.tsx'
import { linkToNode } from '../state/route.ts'
import { clock, count, exact } from '../ui/format.ts'
import { Badge, Blank, Panel, Segmented, Skeleton, useUi } from '../ui/ui.tsx'
import type { Changed } from './history.tsx'

const page = 50
const ops = { add: '+', del: '−', chg: '~' } as const
const badges = [
  { op: 'add', tone: 'ok', word: 'history.added' },
  { op: 'del', tone: 'bad', word: 'history.removed' },
  { op: 'chg', tone: 'warn', word: 'history.changed' },
] as const

export function Changes({ rows: each, net }: { rows: readonly Changed[]; net: readonly Changed[] | undefined }) {
  const { say, language } = useUi()
  const [view, setView] = useState<'each' | 'net'>('each')
  const [shown, setShown] = useState(page)
  const rows = view === 'each' ? each : net
  const sums = rows?.flatMap(({ changes }) => changes) ?? []
  const sum = (op: Change['op']) => sums.filter(change => change.op === op).length
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
      right={
        <Segmented<'each' | 'net'>
          label={say('history.changes')}
          value={view}
          choices={[
            { value: 'each', label: say('history.each') },
            { value: 'net', label: say('history.net') },
          ]}
          onChoose={setView}
        />
      }
    >
      {rows === undefined ? (
        <Skeleton />
      ) : rows.length === 0 ? (
        <Blank kind="search" title={say('history.none')} text={say('history.noneText')} />
      ) : (
        <>
          <Table rows={rows.slice(0, shown)} />
          {rows.length > shown && (
            <button type="button" class="more" onClick={() => setShown(shown + page)}>
              {say('history.more', { n: count(shown, language), all: count(rows.length, language) })}
            </button>
          )}
        </>
      )}
    </Panel>
  )
}

function Table({ rows }: { rows: readonly Changed[] }) {
  const { say, now, language } = useUi()
  return (
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
          {rows.map(({ key, at, nodeName, providerId, why, what, changes }) => (
            <tr key={key}>
              <td class="nowrap">
                <span class={`op ${changes[0]?.op ?? 'chg'}`} aria-hidden="true">
                  {ops[changes[0]?.op ?? 'chg']}
                </span>{' '}
                <a class="mono strong" href={linkToNode({ providerId, nodeName })}>
                  {nodeName}
                </a>
              </td>
              <td class="full">{changes.length > 0 ? <Diff changes={changes} /> : say(`what.${what}`)}</td>
              <td class="mid full">{why}</td>
              <td class="num nowrap dim" title={at && exact(at, language)}>
                {at && clock(at, now, language)}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}
