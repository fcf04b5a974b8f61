/**
 * The overview: counts by state, NICs that need attention, time to ready, providers, recent changes.
 */
import { useMemo } from 'preact/hooks'
import { type Counts, countsOf, type Severity, severities } from '../model/nodes.ts'
import { providerNamesOf, providersOf } from '../model/providers.ts'
import { downloadCsv } from '../state/api.ts'
import { linkTo } from '../state/route.ts'
import { useUi } from '../ui/context.ts'
import { CsvButton, ProviderFilter, Select } from '../ui/controls.tsx'
import { count } from '../ui/format.ts'
import { Glyph } from '../ui/glyph.tsx'
import { AttentionList } from './attention-list.tsx'
import { LatencyPanel } from './latency.tsx'
import { ProviderTable } from './provider-table.tsx'
import { RecentChanges } from './recent-changes.tsx'

/** The choices of the time range, in milliseconds. */
const ranges = { hour: 3_600_000, day: 86_400_000, week: 7 * 86_400_000 } as const
const rangeNames = Object.keys(ranges) as (keyof typeof ranges)[]

export function Overview() {
  const { t, data, route, language, now } = useUi()
  const { provider = '', range = '' } = route.query
  const choices = useMemo(() => providerNamesOf(data.nodes), [data.nodes])
  const nodes = useMemo(
    () => data.nodes.filter(node => !provider || node.providerId === provider),
    [data.nodes, provider],
  )
  const counts = useMemo(() => countsOf(nodes), [nodes])
  const providers = useMemo(() => providersOf(nodes), [nodes])
  const chosen = rangeNames.find(name => name === range)
  const since = chosen ? now - ranges[chosen] : 0
  const setQuery = (change: Record<string, string>) =>
    location.replace(linkTo('overview', { ...route.query, ...change }))
  return (
    <>
      <div class="head">
        <h1>{t('screen.overview')}</h1>
        <span class="sub">
          {t('count.providers', { n: count(providers.length, language) })} ·{' '}
          {t('count.nics', { n: count(counts.nics, language) })}
        </span>
        <div class="right">
          <Select
            label={t('overview.range')}
            value={chosen ?? ''}
            choices={[
              { value: '', label: t('overview.anyTime') },
              ...rangeNames.map(value => ({ value, label: t(`overview.${value}`) })),
            ]}
            onChoose={value => setQuery({ range: value })}
          />
          <ProviderFilter providers={choices} value={provider} onChoose={value => setQuery({ provider: value })} />
          <CsvButton save={() => void downloadCsv({ providerId: provider, at: route.asof })} />
        </div>
      </div>
      <Summary counts={counts} provider={provider} />
      <div class="cols wide-left">
        <AttentionList nodes={nodes} nics={counts.nics} />
        <LatencyPanel nodes={nodes} since={since} />
      </div>
      <div class="cols wide-left">
        <ProviderTable providers={providers} />
        <RecentChanges provider={provider} since={since} />
      </div>
    </>
  )
}

function Summary({ counts, provider }: { counts: Counts; provider: string }) {
  const { t, language } = useUi()
  const cells: readonly Severity[] = ['inProgress', 'pending', 'failed', 'drifted', 'onHold']
  return (
    <section class="panel summary">
      <a href={linkTo('nodes', { provider })}>
        <span class="label">{t('overview.nodes')}</span>
        <span class="value">{count(counts.nodes, language)}</span>
        <span class="note">
          {t('overview.inProgress', { n: counts.inProgress })}
          {counts.removing > 0 && ` · ${t('count.removing', { n: counts.removing })}`}
        </span>
      </a>
      <a href={linkTo('matrix', { provider, severity: 'configured' })}>
        <span class="label">
          <Glyph severity="configured" />
          {t('overview.configured')}
        </span>
        <span class="value">
          {count(counts.configured, language)} <small>/ {count(counts.nics, language)}</small>
        </span>
        <StateBar counts={counts} />
      </a>
      {cells.map(severity => (
        <a key={severity} href={linkTo('matrix', { provider, severity })}>
          <span class="label">
            <Glyph severity={severity} />
            {t(`severity.${severity}`)}
          </span>
          <span class={`value ${counts[severity] === 0 ? 'none' : ''}`}>{count(counts[severity], language)}</span>
        </a>
      ))}
    </section>
  )
}

const fills: Record<Severity, string> = {
  configured: 'bar-ok',
  inProgress: 'bar-accent',
  pending: 'bar-idle',
  removing: 'bar-idle',
  drifted: 'bar-warn',
  onHold: 'bar-warn',
  failed: 'bar-bad',
}

/** Each part has a minimum width, so that one failure among thousands is visible. */
function StateBar({ counts }: { counts: Counts }) {
  const parts = severities.toReversed().filter(severity => counts[severity] > 0)
  const raw = parts.map(severity => Math.max(2.4, (100 * counts[severity]) / Math.max(1, counts.nics)))
  const scale = (100 - (parts.length - 1) * 0.6) / raw.reduce((sum, width) => sum + width, 0)
  let x = 0
  return (
    <svg class="segment-bar" viewBox="0 0 100 6" preserveAspectRatio="none" aria-hidden="true">
      {parts.length === 0 && <rect class="bar-background" width="100" height="6" />}
      {parts.map((severity, index) => {
        const width = (raw[index] ?? 0) * scale
        const at = x
        x += width + 0.6
        return <rect key={severity} class={fills[severity]} x={at} width={width} height="6" />
      })}
    </svg>
  )
}
