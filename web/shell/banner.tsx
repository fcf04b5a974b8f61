/**
 * What stands above or instead of a screen: that it is another time than now, that the stream has stopped, that there is no data
 * yet, or none to be had.
 */
import { useEffect, useState } from 'preact/hooks'
import { hasToken, keepToken } from '../state/api.ts'
import { linkTo, linkToNode } from '../state/route.ts'
import { clock, exact } from '../ui/format.ts'
import { Glyph } from '../ui/glyph.tsx'
import { Blank, CopyButton, Icon, Panel, Skeleton, useUi } from '../ui/ui.tsx'

export function Notices() {
  const { say, data, language, now, route, retry } = useUi()
  const [gone, setGone] = useState(false)
  const off = data.live !== 'on' && data.phase === 'ready'
  useEffect(() => {
    if (!off) return setGone(false)
    const timer = setTimeout(() => setGone(true), 2_000)
    return () => clearTimeout(timer)
  }, [off])
  const { asof, screen, providerId, nodeName } = route
  if (asof)
    return (
      <div class="notice acc" role="status">
        <Icon name="clock" />
        <div>
          <b>{say('past.title', { time: exact(asof, language) })}</b>
          <p>{say('past.text')}</p>
        </div>
        <a
          class="btn sm"
          href={
            providerId && nodeName
              ? `${linkToNode({ providerId, nodeName })}?asof=now`
              : linkTo(screen, { ...route.query, asof: 'now' })
          }
        >
          {say('past.now')}
        </a>
      </div>
    )
  if (!gone) return null
  return (
    <div class="notice warn" role="status">
      <Glyph look="held" large />
      <div>
        <b>{say('live.stopped')}</b>
        <p>{say('live.since', { time: clock(data.heard, now, language) })}</p>
      </div>
      <button type="button" class="btn sm" onClick={retry}>
        {say('live.retry')}
      </button>
    </div>
  )
}

/** In the shape of what comes, so that nothing jumps. */
export function Loading() {
  const { route } = useUi()
  if (route.screen !== 'overview')
    return (
      <Panel>
        <Skeleton rows={12} />
      </Panel>
    )
  return (
    <>
      <Panel>
        <Skeleton rows={2} />
      </Panel>
      <div class="cols a">
        <Panel>
          <Skeleton rows={6} />
        </Panel>
        <Panel>
          <Skeleton kind="chart" />
        </Panel>
      </div>
    </>
  )
}

export function Away() {
  const { say, data, retry } = useUi()
  return (
    <Panel>
      <Blank kind="away" title={say('error.away')} text={say('error.awayText')} code={data.problem}>
        <button type="button" class="btn prim" onClick={retry}>
          {say('error.retry')}
        </button>
        {data.problem && <CopyButton text={data.problem} label={say('error.copy')} />}
      </Blank>
    </Panel>
  )
}

export function TokenForm() {
  const { say, retry } = useUi()
  const [token, setToken] = useState('')
  const [refused] = useState(hasToken)
  const use = (event: Event) => {
    event.preventDefault()
    keepToken(token.trim())
    retry()
  }
  return (
    <Panel>
      <Blank
        kind="token"
        title={say('error.token')}
        text={refused ? say('error.tokenWrong') : say('error.tokenText')}
      />
      <form class="tokenform" onSubmit={use}>
        <label class="field">
          <span class="sr">{say('error.tokenLabel')}</span>
          <input
            type="password"
            autocomplete="off"
            placeholder={say('error.tokenLabel')}
            value={token}
            onInput={event => setToken(event.currentTarget.value)}
          />
        </label>
        <button type="submit" class="btn prim" disabled={token.trim() === ''}>
          {say('error.tokenUse')}
        </button>
      </form>
    </Panel>
  )
}
