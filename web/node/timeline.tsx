/**
 * What happened to one node, newest first, each change with what it was before and after.
 */
import { useEffect, useMemo, useState } from 'preact/hooks'
import type { HistoryEntry } from '../../src/contract/inventory.ts'
import { type Change, changesOf, detailsOf, entryLook, nicRange, turnsOf } from '../model/diff.ts'
import { nodeHistory } from '../state/api.ts'
import { linkTo } from '../state/route.ts'
import { clock, exact } from '../ui/format.ts'
import { Glyph } from '../ui/glyph.tsx'
import { Blank, Panel, StateWord, useUi } from '../ui/ui.tsx'

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
  const names = nicRange(changes.map(({ nic }) => nic))
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
  const { say } = useUi()
  const turns = turnsOf(changes)
  const details = changes.flatMap(change => detailsOf(change).map(field => ({ nic: change.nic, ...field })))
  const whole = changes.filter(({ op }) => op !== 'chg')
  if (turns.length + details.length + whole.length === 0) return null
  return (
    <div class="diff">
      {turns.map(({ nics, before, after, reason }) => (
        <div key={`${nics} ${after}`} class="c">
          <span class="mono">{nics}</span>
          <span class="dim">{say(`look.${before}`)} →</span>
          <StateWord look={after} />
          {reason && after !== 'ok' && <span class="dim">{reason}</span>}
        </div>
      ))}
      {whole.map(change => (
        <div key={change.nic} class={change.op === 'add' ? 'p' : 'm'}>
          {wholeText(change)}
        </div>
      ))}
      {details.flatMap(({ nic, field, before, after }) => [
        before && (
          <div key={`${nic} ${field} before`} class="m">
            {nic} {field}: {before}
          </div>
        ),
        after && (
          <div key={`${nic} ${field} after`} class="p">
            {nic} {field}: {after}
          </div>
        ),
      ])}
    </div>
  )
}

function wholeText({ op, nic, fields }: Change): string {
  const of = op === 'add' ? 'after' : 'before'
  const shown = fields.filter(({ field }) => field === 'address' || field === 'mtu')
  return [nic, ...shown.map(each => (each.field === 'mtu' ? `mtu ${each[of]}` : each[of]))].filter(Boolean).join('  ')
}
