/**
 * The filters of the matrix: text, provider, subnet, time, and chips by state that are also the legend.
 */
import { useMemo, useState } from 'preact/hooks'
import { type Counts, severities } from '../model/nodes.ts'
import { providerNamesOf } from '../model/providers.ts'
import { subnetsOf } from '../model/subnets.ts'
import { useUi } from '../ui/context.ts'
import { FilterInput, ProviderFilter, Select } from '../ui/controls.tsx'
import { count, subnetTexts } from '../ui/format.ts'
import { Glyph } from '../ui/glyph.tsx'
import { Icon } from '../ui/panel.tsx'

/** The choices of the time filter, in milliseconds. */
export const changedWithin = { hour: 3_600_000, day: 86_400_000, week: 7 * 86_400_000 } as const

interface FiltersProps {
  counts: Counts
  /** Number of NICs that nobody has verified in time. */
  unverified: number
  setQuery: (change: Record<string, string | undefined>) => void
}

export function MatrixFilters({ counts, unverified, setQuery }: FiltersProps) {
  const { t, data, route, language } = useUi()
  const { provider = '', subnet = '', changed = '', severity, q = '', unverified: onlyUnverified } = route.query
  const [open, setOpen] = useState(false)
  const chosen = [provider, subnet, changed, severity, q, onlyUnverified].filter(Boolean).length
  const providers = useMemo(() => providerNamesOf(data.nodes), [data.nodes])
  const subnets = useMemo(
    () => subnetsOf(data.nodes.filter(node => !provider || node.providerId === provider)),
    [data.nodes, provider],
  )
  return (
    <div class={`filters ${open ? 'open' : ''}`}>
      <button type="button" class="btn phone-only" aria-expanded={open} onClick={() => setOpen(!open)}>
        <Icon name="filter" size={14} />
        {t('matrix.filters')} {chosen > 0 && <b>{chosen}</b>}
      </button>
      <div class="bar">
        <FilterInput label={t('matrix.filter')} value={q} onChange={text => setQuery({ q: text })} />
        <ProviderFilter
          providers={providers}
          value={provider}
          onChoose={value => setQuery({ provider: value, subnet: '' })}
        />
        <Select
          label={t('nic.subnet')}
          value={subnet}
          choices={[
            { value: '', label: t('matrix.anySubnet') },
            ...subnets.map(one => ({ value: one.key, label: subnetTexts(one).slice(0, 2).join(' · ') })),
          ]}
          onChoose={value => setQuery({ subnet: value })}
        />
        <Select
          label={t('matrix.changed')}
          value={changed}
          choices={[
            { value: '', label: t('matrix.anyTime') },
            ...(Object.keys(changedWithin) as (keyof typeof changedWithin)[]).map(value => ({
              value,
              label: t(`matrix.${value}`),
            })),
          ]}
          onChoose={value => setQuery({ changed: value })}
        />
      </div>
      <div class="bar">
        <button type="button" class="chip" aria-pressed={!severity} onClick={() => setQuery({ severity: '' })}>
          {t('app.all')} <b>{count(counts.nics, language)}</b>
        </button>
        {severities.map(each => (
          <button
            key={each}
            type="button"
            class="chip"
            aria-pressed={severity === each}
            onClick={() => setQuery({ severity: severity === each ? '' : each })}
          >
            <Glyph severity={each} />
            {t(`severity.${each}`)} <b>{count(counts[each], language)}</b>
          </button>
        ))}
        {(unverified > 0 || onlyUnverified) && (
          <button
            type="button"
            class="chip"
            aria-pressed={Boolean(onlyUnverified)}
            onClick={() => setQuery({ unverified: onlyUnverified ? '' : '1' })}
          >
            <Icon name="clock" size={14} />
            {t('matrix.unverified')} <b>{count(unverified, language)}</b>
          </button>
        )}
        <span class="legend">
          <span>
            <Glyph severity="none" />
            {t('severity.none')}
          </span>
        </span>
      </div>
    </div>
  )
}
