/**
 * What is shown above or instead of a screen: an earlier time, a broken stream, loading, an unreachable inventory, a missing token.
 */
import { useEffect, useState } from 'preact/hooks'
import type { MessageKey } from '../messages/messages.ts'
import { signIn } from '../state/api.ts'
import { linkTo, linkToNode } from '../state/route.ts'
import { useUi } from '../ui/context.ts'
import { CopyButton } from '../ui/controls.tsx'
import { EmptyState, Skeleton } from '../ui/empty-state.tsx'
import { clock, exact } from '../ui/format.ts'
import { Glyph } from '../ui/glyph.tsx'
import { Icon, Panel } from '../ui/panel.tsx'

export function Banner() {
  const { t, data, language, now, route, retry } = useUi()
  const [disconnected, setDisconnected] = useState(false)
  const off = data.live !== 'on' && data.phase === 'ready'
  useEffect(() => {
    if (!off) return setDisconnected(false)
    const timer = setTimeout(() => setDisconnected(true), 2_000)
    return () => clearTimeout(timer)
  }, [off])
  const { asof, screen, providerId, nodeName } = route
  if (asof)
    return (
      <div class="banner accent" role="status">
        <Icon name="clock" />
        <div>
          <b>{t('snapshot.title', { time: exact(asof, language) })}</b>
          <p>{t('snapshot.text')}</p>
        </div>
        <a
          class="btn small"
          href={
            providerId && nodeName
              ? `${linkToNode({ providerId, nodeName })}?asof=now`
              : linkTo(screen, { ...route.query, asof: 'now' })
          }
        >
          {t('snapshot.now')}
        </a>
      </div>
    )
  if (!disconnected) return null
  return (
    <div class="banner warn" role="status">
      <Glyph severity="onHold" large />
      <div>
        <b>{t('live.stopped')}</b>
        <p>{t('live.asOf', { time: clock(data.lastContact, now, language) })}</p>
      </div>
      <button type="button" class="btn small" onClick={retry}>
        {t('live.reconnect')}
      </button>
    </div>
  )
}

/** In the layout of the screen, so that nothing moves when the data arrives. */
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
      <div class="cols wide-left">
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

export function Unreachable() {
  const { t, data, retry } = useUi()
  return (
    <Panel>
      <EmptyState kind="unreachable" title={t('error.unreachable')} text={t('error.unreachableText')} code={data.error}>
        <button type="button" class="btn primary" onClick={retry}>
          {t('error.retry')}
        </button>
        {data.error && <CopyButton text={data.error} label={t('error.copyDetails')} />}
      </EmptyState>
    </Panel>
  )
}

export function TokenForm() {
  const { t, retry } = useUi()
  const [token, setToken] = useState('')
  const [text, setText] = useState<MessageKey>('error.tokenText')
  const onSubmit = async (event: Event) => {
    event.preventDefault()
    const result = await signIn(token.trim()).catch(() => 'rejected' as const)
    if (result === 'ok') retry()
    else setText(result === 'rejected' ? 'error.tokenRejected' : 'error.tokenNotKept')
  }
  return (
    <Panel>
      <EmptyState kind="token" title={t('error.token')} text={t(text)} />
      <form class="token-form" onSubmit={onSubmit}>
        <label class="field">
          <span class="visually-hidden">{t('error.tokenLabel')}</span>
          <input
            type="password"
            autocomplete="off"
            placeholder={t('error.tokenLabel')}
            value={token}
            onInput={event => setToken(event.currentTarget.value)}
          />
        </label>
        <button type="submit" class="btn primary" disabled={token.trim() === ''}>
          {t('error.tokenUse')}
        </button>
      </form>
    </Panel>
  )
}
