/**
 * What happened to one node, newest first, each change with what it was before and after.
 */
import { useEffect, useMemo, useState } from 'preact/hooks'
import type { HistoryEntry } from '../src/contract/inventory.ts'
import { nodeHistory } from './api.ts'
import { type Change, changesOf, entryLook } from './diff.ts'
import { clock, exact } from './format.ts'
import { linkTo } from './route.ts'
import { Blank, Glyph, Panel, useUi } from './ui.tsx'
import { looks } from './view.ts'

const page = 12

/** A new `mark` says that there is something newer. */
export function Timeline({ providerId, nodeName, mark }: { providerId: string; nodeName: string; mark: string }) {
  const { say } = useUi()
  const [entries, setEntries] = useState<HistoryEntry[]>([])
  const [more, setMore] = useState(false)
  useEffect(() => {
    let current = true
    nodeHistory(providerId, nodeName, page)
      .then(found => {
        if (!current) return
        setEntries(found)
        setMore(found.length === page)
      })
      .catch(() => {})
    return () => {
      current = false
    }
  }, [providerId, nodeName, mark])
  const older = async () => {
    const found = await nodeHistory(providerId, nodeName, page, entries.at(-1)?.id).catch(() => [])
    setEntries([...entries, ...found])
    setMore(found.length === page)
  }
  return (
    <Panel
      title={say('node.timeline')}
      right={<a href={linkTo('history', { node: nodeName })}>{say('screen.history')}</a>}
    >
      {entries.length === 0 && <Blank kind="calm" title={say('overview.noRecent')} />}
      <ol class="tl">
        {entries.map(entry => (
          <Entry key={entry.id} entry={entry} />
        ))}
      </ol>
      {more && (
        <button type="button" class="more" onClick={() => void older()}>
          {say('node.older')}
        </button>
      )}
    </Panel>
  )
}

function Entry({ entry }: { entry: HistoryEntry }) {
  const { say, now, language } = useUi()
  const changes = useMemo(() => changesOf(entry), [entry])
  const names = changes.map(({ nic }) => nic).join(', ')
  return (
    <li>
      <Glyph look={entryLook(entry)} />
      <div class="h">
        <b class="strong">{names || say(`what.${entry.what}`)}</b>
        <time datetime={entry.at} title={exact(entry.at, language)}>
          {clock(entry.at, now, language)}
        </time>
      </div>
      <p class="ds">{entry.why}</p>
      <Diff changes={changes} />
    </li>
  )
}

export function Diff({ changes }: { changes: readonly Change[] }) {
  if (changes.length === 0) return null
  const several = changes.length > 1
  return (
    <div class="diff">
      {changes.map(change => (
        <DiffLines key={change.nic} change={change} named={several || change.op !== 'chg'} />
      ))}
    </div>
  )
}

function DiffLines({ change: { op, nic, fields }, named }: { change: Change; named: boolean }) {
  const { say } = useUi()
  const shown = (field: string, value: string) =>
    field === 'state' ? say(`look.${looks.find(look => look === value) ?? 'pend'}`) : value
  if (op !== 'chg') {
    const of = op === 'add' ? 'after' : 'before'
    const text = fields
      .filter(({ field }) => field === 'address' || field === 'mtu' || field === 'mac')
      .map(each => (each.field === 'mtu' ? `mtu ${each[of]}` : each[of]))
    return <div class={op === 'add' ? 'p' : 'm'}>{[nic, ...text].join('  ')}</div>
  }
  return (
    <>
      {fields.map(({ field, before, after }) => (
        <>
          {before && (
            <div key={`${field} before`} class="m">
              {named && `${nic} `}
              {field}: {shown(field, before)}
            </div>
          )}
          {after && (
            <div key={`${field} after`} class="p">
              {named && `${nic} `}
              {field}: {shown(field, after)}
            </div>
          )}
        </>
      ))}
    </>
  )
}
