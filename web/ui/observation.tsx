/**
 * The age of an observation, and what a NIC waits for beside its last observed state.
 */
import type { Translate } from '../messages/messages.ts'
import type { Nic } from '../model/nodes.ts'
import { observationAt } from '../model/observations.ts'
import { type Ui, useUi } from './context.ts'
import { age, clock, exact } from './format.ts'
import { SeverityLabel } from './panel.tsx'

type Clock = Pick<Ui, 't' | 'now' | 'language'>

/** `observed 5 min ago`, or `not verified since` its time. */
export function observationText(nic: Pick<Nic, 'observation'>, { t, now, language }: Clock): string {
  const { observedAt, notVerifiedSince } = observationAt(nic, now)
  if (notVerifiedSince !== undefined)
    return t('observation.notVerified', { time: clock(notVerifiedSince, now, language) })
  return observedAt === undefined ? t('observation.never') : t('observation.age', { age: age(observedAt, now, t) })
}

/** Empty if the NIC waits for nothing. */
export function pendingText({ pending, lastSeverity }: Pick<Nic, 'pending' | 'lastSeverity'>, t: Translate): string {
  if (!pending) return ''
  const last = lastSeverity && t('pending.last', { severity: t(`severity.${lastSeverity}`) })
  return [t('pending.waits', { reason: pending.reason }), last].filter(Boolean).join(' · ')
}

export function ObservationAge({ nic }: { nic: Pick<Nic, 'observation'> }) {
  const { t, now, language } = useUi()
  const { observedAt, notVerifiedSince } = observationAt(nic, now)
  return (
    <span
      class={`observation ${notVerifiedSince === undefined ? '' : 'warn'}`}
      title={observedAt && exact(observedAt, language)}
    >
      {observationText(nic, { t, now, language })}
    </span>
  )
}

/** The state of a NIC and, while its newest request waits, what it waits for beside its last observed state. */
export function NicState({ nic }: { nic: Nic }) {
  const { t } = useUi()
  const pending = pendingText(nic, t)
  return (
    <span class="nic-state">
      <SeverityLabel severity={nic.severity} />
      {pending && <small>{pending}</small>}
    </span>
  )
}
