/**
 * Who had this address, MAC or port, now or at a time: one sentence, and the lane that proves it.
 */
import { useEffect, useState } from 'preact/hooks'
import { type Holding, holdingsOf, holdsAny } from '../model/diff.ts'
import { nodeHistory, recentHistory, recordsWith, search } from '../state/api.ts'
import { linkTo, linkToNode } from '../state/route.ts'
import { clock, localInput, ticksOf, tickText } from '../ui/format.ts'
import { CopyButton, Icon, useUi } from '../ui/ui.tsx'
import { Axis } from './time-range.tsx'

export function Ask() {
  const { say, route, now } = useUi()
  const { q = '', at = '' } = route.query
  const [text, setText] = useState(q)
  const [time, setTime] = useState(at)
  const [found, setFound] = useState<{ q: string; holdings: Holding[] }>()
  useEffect(() => setText(q), [q])
  useEffect(() => setTime(at), [at])
  useEffect(() => {
    if (q === '') return setFound(undefined)
    const stop = new AbortController()
    holdersOf(q, at, stop.signal)
      .then(holdings => setFound({ q, holdings }))
      .catch(() => {})
    return () => stop.abort()
  }, [q, at])
  const ask = (event: Event) => {
    event.preventDefault()
    location.hash = linkTo('history', { ...route.query, q: text.trim(), at: time })
  }
  return (
    <section class="panel ask">
      <form class="q" onSubmit={ask}>
        <Icon name="search" />
        <input
          class="mono"
          value={text}
          aria-label={say('history.ask')}
          placeholder={say('history.ask')}
          spellcheck={false}
          onInput={event => setText(event.currentTarget.value)}
        />
        <label class="when">
          <span class="dim">{say('history.at')}</span>
          <span class="time">
            <input
              type="datetime-local"
              class={time === '' ? 'unset' : ''}
              value={time}
              max={localInput(now)}
              onInput={event => setTime(event.currentTarget.value)}
            />
            {time === '' && (
              <span class="any" aria-hidden="true">
                {say('history.anyTime')}
              </span>
            )}
          </span>
        </label>
        <button type="submit" class="btn sm prim" disabled={text.trim() === ''}>
          {say('history.askButton')}
        </button>
      </form>
      {found && found.q === q && <Answer q={q} at={at} holdings={found.holdings} />}
    </section>
  )
}

/** The nodes that have it now, had it then or had it lately, and all that their histories say of it. */
export async function holdersOf(q: string, at: string, signal: AbortSignal): Promise<Holding[]> {
  const [hits, then, recent] = await Promise.all([
    search(q, signal),
    at ? recordsWith(q, new Date(at).toISOString()) : [],
    recentHistory(1_000),
  ])
  const had = recent.flatMap(({ before }) => (before && holdsAny(before, q) ? [before] : []))
  const has = hits.filter(({ value }) => value.split('/')[0]?.toLowerCase() === q.toLowerCase())
  const nodes = new Map([...has, ...then, ...had].map(each => [`${each.providerId} ${each.nodeName}`, each]))
  const histories = [...nodes.values()].slice(0, 12).map(each => nodeHistory(each.providerId, each.nodeName, 1_000))
  return holdingsOf(q, (await Promise.all(histories)).flat())
}

function Answer({ q, at, holdings }: { q: string; at: string; holdings: readonly Holding[] }) {
  const { say, now, language } = useUi()
  const moment = at ? Date.parse(at) : now
  const holder = holdings.find(({ from, to }) => from <= moment + 59_999 && (to ?? Number.POSITIVE_INFINITY) > moment)
  const until =
    holder &&
    (holder.to === undefined
      ? say('history.hadNow')
      : say('history.hadUntil', { time: clock(holder.to, now, language) }))
  const told = holder && `${say('history.hadFrom', { time: clock(holder.from, now, language) })}, ${until}`
  const others = [...new Set(holdings.filter(each => each !== holder).map(({ nodeName, nic }) => `${nodeName} ${nic}`))]
  const title = holder
    ? say(holder.to === undefined && !at ? 'history.has' : 'history.had', { node: holder.nodeName, nic: holder.nic })
    : holdings.length > 0
      ? say('history.nobody', { value: q })
      : say('history.never', { value: q })
  return (
    <>
      <div class="ans" role="status">
        <div class="bx">
          <b class="big">{title}</b>
          <span class="mid">
            {holder ? told : holdings.length === 0 && say('history.neverText')}
            {holder && others.length > 0 && ` · ${say('history.before', { nodes: others.join(', ') })}`}
          </span>
        </div>
        {holder && (
          <div class="right">
            <a class="btn sm" href={linkToNode(holder, holder.nic)}>
              {holder.nodeName}
            </a>
            <CopyButton text={`${q}: ${title}, ${told}`} label={say('history.copy')} />
          </div>
        )}
      </div>
      {holdings.length > 0 && <Lane holdings={holdings} moment={moment} />}
    </>
  )
}

function Lane({ holdings, moment }: { holdings: readonly Holding[]; moment: number }) {
  const { now, language } = useUi()
  const start = Math.min(...holdings.map(({ from }) => from))
  const length = Math.max(60_000, now - start)
  const x = (time: number) => ((time - start) / length) * 100
  return (
    <>
      <div class="lanes" role="img" aria-label={holdings.map(({ nodeName, nic }) => `${nodeName} ${nic}`).join(', ')}>
        {holdings.map(({ nodeName, nic, from, to }) => (
          <span
            key={`${nodeName} ${nic} ${from}`}
            class={`lane ${to === undefined ? 'a' : 'b'}`}
            title={`${nodeName} · ${nic}`}
            style={{ left: `${x(from)}%`, width: `${Math.max(0.4, x(to ?? now) - x(from) - 0.3)}%` }}
          >
            {nodeName} · {nic}
          </span>
        ))}
        {moment < now - 1_000 && moment > start && <i class="vline" style={{ left: `${x(moment)}%` }} />}
      </div>
      <Axis
        ticks={ticksOf(start, start + length).map(time => ({
          share: (time - start) / length,
          text: tickText(time, length, language),
        }))}
      />
    </>
  )
}
