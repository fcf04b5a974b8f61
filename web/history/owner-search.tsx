/**
 * Which NIC has or had an IP, a MAC or a port: the answer in one sentence, and the owners over time.
 */
import { useEffect, useState } from 'preact/hooks'
import type { HoldersAnswer } from '../../src/contract/inventory.ts'
import { type Ownership, ownerAt, ownershipsOf } from '../model/ownership.ts'
import type { Outcome } from '../state/holders.ts'
import { linkTo, linkToNode } from '../state/route.ts'
import { useUi } from '../ui/context.ts'
import { CopyButton } from '../ui/controls.tsx'
import { EmptyState } from '../ui/empty-state.tsx'
import { clock, localInput, ticksOf, tickText } from '../ui/format.ts'
import { Icon } from '../ui/panel.tsx'
import { Axis } from './time-range.tsx'

export function OwnerSearch({ outcome }: { outcome: Outcome<HoldersAnswer> | undefined }) {
  const { t, route, now } = useUi()
  const { q = '', at = '' } = route.query
  const [text, setText] = useState(q)
  const [time, setTime] = useState(at)
  useEffect(() => setText(q), [q])
  useEffect(() => setTime(at), [at])
  const onSubmit = (event: Event) => {
    event.preventDefault()
    location.hash = linkTo('history', { ...route.query, q: text.trim(), at: time })
  }
  return (
    <section class="panel owner-search">
      <form class="query" onSubmit={onSubmit}>
        <Icon name="search" />
        <input
          class="mono"
          value={text}
          aria-label={t('history.owner')}
          placeholder={t('history.owner')}
          spellcheck={false}
          onInput={event => setText(event.currentTarget.value)}
        />
        <label class="when">
          <span class="dim">{t('history.at')}</span>
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
                {t('history.anyTime')}
              </span>
            )}
          </span>
        </label>
        <button type="submit" class="btn small primary" disabled={text.trim() === ''}>
          {t('history.search')}
        </button>
      </form>
      {outcome?.error !== undefined && (
        <EmptyState kind="unreachable" title={t('history.noAnswer', { value: q })} code={outcome.error} />
      )}
      {outcome?.answer && <Answer q={q} at={at} answer={outcome.answer} />}
    </section>
  )
}

function Answer({ q, at, answer }: { q: string; at: string; answer: HoldersAnswer }) {
  const { t, now, language } = useUi()
  const { verdict, owner, since } = ownerAt(answer, at, now)
  const ownerships = ownershipsOf(answer)
  const period = owner && periodOf(owner)
  const others = new Set(
    ownerships.filter(({ from }) => from !== owner?.from).map(({ nodeName, nic }) => `${nodeName} ${nic}`),
  )
  const title = t(`history.${verdict}`, {
    value: q,
    since: since === undefined ? '' : clock(since, now, language),
    node: owner?.nodeName ?? '',
    nic: owner?.nic ?? '',
  })
  const notes = [
    period,
    verdict === 'never' && t('history.neverText'),
    answer.keptSince !== undefined &&
      t('history.deletedBefore', { since: clock(Date.parse(answer.keptSince), now, language) }),
    answer.more && t('history.moreOwners', { n: answer.holders.length }),
    others.size > 0 && t('history.previously', { nics: [...others].join(', ') }),
  ]
  return (
    <>
      <div class="answer" role="status">
        <div class="answer-text">
          <b class="big">{title}</b>
          <span class="mid">{notes.filter(Boolean).join(' · ')}</span>
        </div>
        {owner && (
          <div class="right">
            <a class="btn small" href={linkToNode(owner, owner.nic)}>
              {owner.nodeName}
            </a>
            <CopyButton text={`${q}: ${title}, ${period}`} label={t('history.copyAnswer')} />
          </div>
        )}
      </div>
      {ownerships.length > 0 && <OwnershipLane ownerships={ownerships} moment={at ? Date.parse(at) : now} />}
    </>
  )

  function periodOf({ from, to }: Ownership): string {
    const start = clock(from, now, language)
    return to === undefined
      ? t('history.since', { from: start })
      : t('history.period', { from: start, to: clock(to, now, language) })
  }
}

function OwnershipLane({ ownerships, moment }: { ownerships: readonly Ownership[]; moment: number }) {
  const { now, language } = useUi()
  const start = Math.min(...ownerships.map(({ from }) => from))
  const length = Math.max(60_000, now - start)
  const x = (time: number) => ((time - start) / length) * 100
  return (
    <>
      <div class="lanes" role="img" aria-label={ownerships.map(({ nodeName, nic }) => `${nodeName} ${nic}`).join(', ')}>
        {ownerships.map(({ nodeName, nic, from, to }) => (
          <span
            key={`${nodeName} ${nic} ${from}`}
            class={`lane ${to === undefined ? 'current' : 'previous'}`}
            title={`${nodeName} · ${nic}`}
            style={{ left: `${x(from)}%`, width: `${Math.max(0.4, x(to ?? now) - x(from) - 0.3)}%` }}
          >
            {nodeName} · {nic}
          </span>
        ))}
        {moment < now - 1_000 && moment > start && <i class="time-marker" style={{ left: `${x(moment)}%` }} />}
      </div>
      <Axis
        ticks={ticksOf(start, start + length).map(time => ({
          fraction: (time - start) / length,
          text: tickText(time, length, language),
        }))}
      />
    </>
  )
}
