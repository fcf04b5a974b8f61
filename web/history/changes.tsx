/**
 * The changes in the selected period: each change, or the net change from A to B.
 */
import { useState } from 'preact/hooks'
import type { Change } from '../model/diff.ts'
import { linkToNode } from '../state/route.ts'
import { useUi } from '../ui/context.ts'
import { Segmented } from '../ui/controls.tsx'
import { EmptyState, Skeleton } from '../ui/empty-state.tsx'
import { clock, count, exact } from '../ui/format.ts'
import { Badge, Panel } from '../ui/panel.tsx'
import { CauseText } from './cause.tsx'
import { ChangeList } from './change-list.tsx'
import type { NodeChange } from './node-changes.ts'

const pageSize = 50
const signs = { added: '+', removed: '−', changed: '~' } as const
const badges = [
  { op: 'added', tone: 'ok', text: 'history.added' },
  { op: 'removed', tone: 'bad', text: 'history.removed' },
  { op: 'changed', tone: 'warn', text: 'history.changed' },
] as const

export function Changes({ each, net }: { each: readonly NodeChange[]; net: readonly NodeChange[] | undefined }) {
  const { t, language } = useUi()
  const [view, setView] = useState<'each' | 'net'>('each')
  const [shown, setShown] = useState(pageSize)
  const rows = view === 'each' ? each : net
  const all = rows?.flatMap(({ changes }) => changes) ?? []
  const countOf = (op: Change['op']) => all.filter(change => change.op === op).length
  return (
    <Panel
      title={t('history.changes')}
      badge={badges
        .filter(({ op }) => countOf(op) > 0)
        .map(({ op, tone, text }) => (
          <Badge key={op} tone={tone}>
            {t(text, { n: count(countOf(op), language) })}
          </Badge>
        ))}
      right={
        <Segmented<'each' | 'net'>
          label={t('history.changes')}
          value={view}
          choices={[
            { value: 'each', label: t('history.each') },
            { value: 'net', label: t('history.net') },
          ]}
          onChoose={setView}
        />
      }
    >
      {rows === undefined ? (
        <Skeleton />
      ) : rows.length === 0 ? (
        <EmptyState kind="noMatch" title={t('history.none')} text={t('history.noneText')} />
      ) : (
        <>
          <Table rows={rows.slice(0, shown)} />
          {rows.length > shown && (
            <button type="button" class="more" onClick={() => setShown(shown + pageSize)}>
              {t('history.more', { n: count(shown, language), all: count(rows.length, language) })}
            </button>
          )}
        </>
      )}
    </Panel>
  )
}

function Table({ rows }: { rows: readonly NodeChange[] }) {
  const { t, now, language } = useUi()
  return (
    <div class="scroll-x">
      <table class="table rows history-table">
        <thead>
          <tr>
            <th>{t('matrix.node')}</th>
            <th>{t('history.change')}</th>
            <th>{t('history.cause')}</th>
            <th class="number">{t('history.time')}</th>
          </tr>
        </thead>
        <tbody>
          {rows.map(({ key, at, nodeName, providerId, why, what, cause, changes }) => (
            <tr key={key}>
              <td class="nowrap">
                <span class={`op ${changes[0]?.op ?? 'changed'}`} aria-hidden="true">
                  {signs[changes[0]?.op ?? 'changed']}
                </span>{' '}
                <a class="mono strong" href={linkToNode({ providerId, nodeName })}>
                  {nodeName}
                </a>
              </td>
              <td class="full">{changes.length > 0 ? <ChangeList changes={changes} /> : t(`change.${what}`)}</td>
              <td class="mid full">
                <CauseText what={what} why={why} cause={cause} />
              </td>
              <td class="number nowrap dim" title={at && exact(at, language)}>
                {at && clock(at, now, language)}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}
