/**
 * Who had this address, MAC or port, now or at a time: one sentence, and the lane that proves it.
 */
import { useEffect, useState } from 'preact/hooks'
import { nodeHistory, recordsWith, search } from './api.ts'
import { type Holding, holdingsOf } from './diff.ts'
import { clock, localInput } from './format.ts'
import { linkTo, linkToNode } from './route.ts'
import { Icon, useUi } from './ui.tsx'

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
          <input
            type="datetime-local"
            value={time}
            max={localInput(now)}
            onInput={event => setTime(event.currentTarget.value)}
          />
        </label>
        <button type="submit" class="btn sm prim" disabled={text.trim() === ''}>
          {say('history.askButton')}
        </button>
      </form>
      {found && found.q === q && <Answer q={q} at={at} holdings={found.holdings} />}
    </section>
  )
}

/** The nodes that have it now, that had it then, and all that their histories say of it. */
async function holdersOf(q: string, at: string, signal: AbortSignal): Promise<Holding[]> {
  const [hits, then] = await Promise.all([search(q, signal), at ? recordsWith(q, new Date(at).toISOString()) : []])
  const nodes = new Map([...hits, ...then].map(each => [`${each.providerId} ${each.nodeName}`, each]))
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
            {holder
              ? `${say('history.hadFrom', { time: clock(holder.from, now, language) })}, ${until}`
              : holdings.length === 0 && say('history.neverText')}
          </span>
        </div>
        {holder && (
          <div class="right">
            <a class="btn sm" href={linkToNode(holder, holder.nic)}>
              {holder.nodeName}
            </a>
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
  const x = (time: number) => ((time - start) / length) * 1_000
  return (
    <>
      <svg
        class="lanes"
        viewBox="0 0 1000 34"
        role="img"
        aria-label={holdings.map(({ nodeName, nic }) => `${nodeName} ${nic}`).join(', ')}
      >
        <rect class="lane" width="1000" height="28" y="3" rx="4" />
        {holdings.map(({ nodeName, nic, from, to }) => {
          const width = Math.max(4, x(to ?? now) - x(from))
          return (
            <g key={`${nodeName} ${nic} ${from}`}>
              <rect class={`lane ${to === undefined ? 'a' : 'b'}`} x={x(from)} y="3" width={width} height="28" rx="4" />
              {width > (nodeName.length + nic.length) * 8 && (
                <text class={to === undefined ? 'lane-t' : 'lane-t2'} x={x(from) + 10} y="21">
                  {nodeName} · {nic}
                </text>
              )}
            </g>
          )
        })}
        {moment < now - 1_000 && moment > start && <path class="vline" d={`M${x(moment)} 0v34`} />}
      </svg>
      <div class="ends">
        <span>{clock(start, now, language)}</span>
        <span>{clock(now, now, language)}</span>
      </div>
    </>
  )
}
