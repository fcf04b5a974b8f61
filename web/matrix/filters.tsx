/**
 * What the matrix is narrowed to: text, provider, subnet, and chips that are legend and filter in one.
 */
import { useMemo } from 'preact/hooks'
import { type Counts, looks } from '../model/nodes.ts'
import { subnetsOf } from '../model/subnets.ts'
import { count, shortId } from '../ui/format.ts'
import { Glyph } from '../ui/glyph.tsx'
import { Filter, ProviderFilter, Select, useUi } from '../ui/ui.tsx'

/** How long ago a node may have changed last, in milliseconds. */
export const spans = { hour: 3_600_000, day: 86_400_000, week: 7 * 86_400_000 } as const

interface FiltersProps {
  counts: Counts
  ask: (change: Record<string, string | undefined>) => void
}

export function MatrixFilters({ counts, ask }: FiltersProps) {
  const { say, data, route, language } = useUi()
  const { provider = '', subnet = '', changed = '', look, q = '' } = route.query
  const providers = useMemo(() => [...new Set(data.nodes.map(({ providerId }) => providerId))].sort(), [data.nodes])
  const subnets = useMemo(
    () => subnetsOf(data.nodes.filter(node => !provider || node.providerId === provider)),
    [data.nodes, provider],
  )
  return (
    <>
      <div class="bar">
        <Filter label={say('matrix.filter')} value={q} onChange={text => ask({ q: text })} />
        <ProviderFilter
          providers={providers}
          value={provider}
          onChoose={value => ask({ provider: value, subnet: '' })}
        />
        <Select
          label={say('nic.subnet')}
          value={subnet}
          choices={[
            { value: '', label: say('matrix.anySubnet') },
            ...subnets.map(({ key, network }) => ({ value: key, label: network || shortId(key) })),
          ]}
          onChoose={value => ask({ subnet: value })}
        />
        <Select
          label={say('matrix.changed')}
          value={changed}
          choices={[
            { value: '', label: say('matrix.anyTime') },
            ...(Object.keys(spans) as (keyof typeof spans)[]).map(value => ({ value, label: say(`matrix.${value}`) })),
          ]}
          onChoose={value => ask({ changed: value })}
        />
      </div>
      <div class="bar">
        <button type="button" class="chip" aria-pressed={!look} onClick={() => ask({ look: '' })}>
          {say('app.all')} <b>{count(counts.nics, language)}</b>
        </button>
        {looks.map(each => (
          <button
            key={each}
            type="button"
            class="chip"
            aria-pressed={look === each}
            onClick={() => ask({ look: look === each ? '' : each })}
          >
            <Glyph look={each} />
            {say(`look.${each}`)} <b>{count(counts[each], language)}</b>
          </button>
        ))}
        <span class="legend">
          <span>
            <Glyph look="none" />
            {say('look.none')}
          </span>
        </span>
      </div>
    </>
  )
}
