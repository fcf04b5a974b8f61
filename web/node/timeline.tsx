/**
 * The changes of one node, newest first, with the values before and after.
 */
import { useEffect, useMemo, useState } from 'preact/hooks'
import type { HistoryEntry } from '../../src/contract/inventory.ts'
import { EntryCause } from '../history/cause.tsx'
import { ChangeList } from '../history/change-list.tsx'
import { changesOf, entrySeverity, nicRange } from '../model/diff.ts'
import { nodeHistory } from '../state/api.ts'
import { linkTo } from '../state/route.ts'
import { useUi } from '../ui/context.ts'
import { EmptyState } from '../ui/empty-state.tsx'
import { clock, exact } from '../ui/format.ts'
import { Glyph } from '../ui/glyph.tsx'
import { Panel } from '../ui/panel.tsx'

const pageSize = 12

/** A new `version` reloads the entries. */
export function Timeline({ providerId, nodeName, version }: { providerId: string; nodeName: string; version: string }) {
  const { t } = useUi()
  const [entries, setEntries] = useState<HistoryEntry[]>([])
  const [more, setMore] = useState(false)
  useEffect(() => {
    let current = true
    nodeHistory(providerId, nodeName, pageSize)
      .then(found => {
        if (!current) return
        setEntries(found)
        setMore(found.length === pageSize)
      })
      .catch(() => {})
    return () => {
      current = false
    }
  }, [providerId, nodeName, version])
  const older = async () => {
    const found = await nodeHistory(providerId, nodeName, pageSize, entries.at(-1)?.id).catch(() => [])
    setEntries([...entries, ...found])
    setMore(found.length === pageSize)
  }
  return (
    <Panel title={t('node.timeline')} right={<a href={linkTo('history', { node: nodeName })}>{t('screen.history')}</a>}>
      {entries.length === 0 && <EmptyState kind="allClear" title={t('overview.noChanges')} />}
      <ol class="timeline">
        {entries.map(entry => (
          <Entry key={entry.id} entry={entry} />
        ))}
      </ol>
      {more && (
        <button type="button" class="more" onClick={() => void older()}>
          {t('node.older')}
        </button>
      )}
    </Panel>
  )
}

function Entry({ entry }: { entry: HistoryEntry }) {
  const { t, now, language } = useUi()
  const changes = useMemo(() => changesOf(entry), [entry])
  const names = nicRange(changes.map(({ nic }) => nic))
  return (
    <li>
      <Glyph severity={entrySeverity(entry)} />
      <div class="entry-head">
        <b class="strong">{names || t(`change.${entry.what}`)}</b>
        <time datetime={entry.at} title={exact(entry.at, language)}>
          {clock(entry.at, now, language)}
        </time>
      </div>
      <p class="description">
        <EntryCause entry={entry} />
      </p>
      <ChangeList changes={changes} />
    </li>
  )
}
