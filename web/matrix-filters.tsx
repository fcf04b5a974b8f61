/**
 * What the matrix is narrowed to: text, provider, subnet, and chips that are legend and filter in one.
 */
import { useEffect, useMemo, useState } from 'preact/hooks'
import { count, shortId } from './format.ts'
import { subnetsOf } from './subnet.ts'
import { Glyph, Icon, Select, useUi } from './ui.tsx'
import { type Counts, looks } from './view.ts'

interface FiltersProps {
  counts: Counts
  ask: (change: Record<string, string | undefined>) => void
}

export function MatrixFilters({ counts, ask }: FiltersProps) {
  const { say, data, route, language } = useUi()
  const { provider = '', subnet = '', look, q = '' } = route.query
  const [text, setText] = useState(q)
  useEffect(() => setText(q), [q])
  useEffect(() => {
    if (text === q) return
    const timer = setTimeout(() => ask({ q: text }), 120)
    return () => clearTimeout(timer)
  })
  const providers = useMemo(() => [...new Set(data.nodes.map(({ providerId }) => providerId))].sort(), [data.nodes])
  const subnets = useMemo(
    () => subnetsOf(data.nodes.filter(node => !provider || node.providerId === provider)),
    [data.nodes, provider],
  )
  return (
    <>
      <div class="bar">
        <label class="field wide">
          <Icon name="search" size={14} />
          <input
            value={text}
            aria-label={say('matrix.filter')}
            placeholder={say('matrix.filter')}
            spellcheck={false}
            onInput={event => setText(event.currentTarget.value)}
          />
        </label>
        <Select
          label={say('overview.provider')}
          value={provider}
          choices={[
            { value: '', label: say('matrix.anyProvider') },
            ...providers.map(value => ({ value, label: shortId(value, 18) })),
          ]}
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
