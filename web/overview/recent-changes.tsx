/**
 * The latest changes of all nodes, as they happen.
 */
import { useMemo } from 'preact/hooks'
import type { HistoryEntry } from '../../src/contract/inventory.ts'
import { EntryCause } from '../history/cause.tsx'
import { changesOf, headlineOf } from '../model/diff.ts'
import { totalDuration } from '../model/stages.ts'
import { linkToNode } from '../state/route.ts'
import { useUi } from '../ui/context.ts'
import { EmptyState } from '../ui/empty-state.tsx'
import { age, duration, exact } from '../ui/format.ts'
import { Glyph } from '../ui/glyph.tsx'
import { Panel } from '../ui/panel.tsx'

export function RecentChanges({ provider, since }: { provider: string; since: number }) {
  const { t, data } = useUi()
  const recent = useMemo(
    () =>
      data.recent.filter(
        ({ at, before, after = before }) => Date.parse(at) >= since && (!provider || after?.providerId === provider),
      ),
    [data.recent, provider, since],
  )
  return (
    <Panel
      title={t('overview.recent')}
      right={
        <span class={`live ${data.live}`}>
          <i />
          {t(data.live === 'on' ? 'live.on' : 'live.off')}
        </span>
      }
    >
      {recent.length === 0 && (
        <EmptyState
          kind="allClear"
          title={t(data.recent.length === 0 ? 'overview.noChanges' : 'overview.noneInRange')}
        />
      )}
      <ol class="recent-changes">
        {recent.slice(0, 6).map(entry => (
          <RecentChange key={entry.id} entry={entry} isNew={entry.id > data.newestAtStart} />
        ))}
      </ol>
    </Panel>
  )
}

function RecentChange({ entry, isNew }: { entry: HistoryEntry; isNew: boolean }) {
  const { t, now, language } = useUi()
  const record = entry.after ?? entry.before
  const changes = useMemo(() => changesOf(entry), [entry])
  if (!record) return null
  const { nics, severity } = headlineOf(entry)
  const took = changes.length === 1 && changes[0]?.severity === 'configured' ? readyAfter(entry) : undefined
  return (
    <li class={isNew ? 'new' : ''}>
      <Glyph severity={severity} />
      <div>
        <p>
          <a href={linkToNode(record)}>
            <b class="strong">
              {record.nodeName}
              {nics && ` ${nics}`}
            </b>
          </a>{' '}
          {changes.length > 0 ? summaryOf() : t(`change.${entry.what}`)}
          {took !== undefined && ` · ${duration(took, t)}`}
        </p>
        <p class="description">
          <EntryCause entry={entry} />
        </p>
      </div>
      <time datetime={entry.at} title={exact(entry.at, language)}>
        {age(entry.at, now, t)}
      </time>
    </li>
  )

  function summaryOf(): string {
    return changes.every(({ op }) => op === 'removed') ? t('change.removed') : t(`severity.${severity}`)
  }
}

/** The time to ready, if the node has exactly one NIC. */
function readyAfter({ after }: HistoryEntry): number | undefined {
  const [only, ...others] = after?.interfaces ?? []
  return only && others.length === 0
    ? totalDuration({ stages: only.stages ?? {}, clamped: only.clamped ?? [] })
    : undefined
}
