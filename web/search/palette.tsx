/**
 * The search on top of any screen: addresses, MACs, ports, VMs and nodes by prefix.
 */
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks'
import type { SearchHit } from '../../src/contract/inventory.ts'
import { nodeKey } from '../model/nodes.ts'
import { search } from '../state/api.ts'
import { useOutcome } from '../state/holders.ts'
import { commandKey } from '../state/preferences.ts'
import { linkTo, linkToNode } from '../state/route.ts'
import { useUi } from '../ui/context.ts'
import { EmptyState } from '../ui/empty-state.tsx'
import { kindOf, providerText } from '../ui/format.ts'
import { Glyph } from '../ui/glyph.tsx'
import { Icon } from '../ui/panel.tsx'
import { type OptionProps, PaletteOption } from './option.tsx'
import { type Suggestion, SuggestionOption, suggestionsIn, usePreviousOwners } from './suggestions.tsx'

export function Palette({ close }: { close: () => void }) {
  const { t, data } = useUi()
  const [text, setText] = useState('')
  const [active, setActive] = useState(0)
  const input = useRef<HTMLInputElement>(null)
  const list = useRef<HTMLDivElement>(null)
  const q = text.trim()

  // Before the first paint, so that no key typed right after the shortcut is lost.
  useLayoutEffect(() => {
    const before = document.activeElement
    input.current?.focus()
    return () => {
      if (before instanceof HTMLElement) before.focus()
    }
  }, [])
  useEffect(() => setActive(0), [q])
  const found = useOutcome(q, search, 60)
  const hits = found?.answer
  const previous = usePreviousOwners(q)
  const previousOwners = previous?.answer ?? noOwners
  const error = found?.error ?? previous?.error
  const suggestions = useMemo(() => suggestionsIn(data, q), [data, q])
  const items = useMemo((): Item[] => {
    const [exact, ...rest] = grouped(hits ?? [], q)
    return [...exact, ...previousOwners.map(suggestionItem), ...rest.flat(), ...suggestions.map(suggestionItem)]
  }, [hits, q, previousOwners, suggestions])
  const links = [...items.map(({ href }) => href), ...(q ? [linkTo('history', { q })] : [])]
  const open = (href: string) => {
    close()
    location.hash = href
  }
  const onKeyDown = (event: KeyboardEvent) => {
    const move = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    if (event.key === 'Escape') close()
    else if (move) setActive((active + move + links.length) % Math.max(1, links.length))
    else if (event.key === 'Enter')
      open((event.metaKey || event.ctrlKey ? links.at(-1) : links[active]) ?? linkTo('overview'))
    // Tab is swallowed, because nothing else here can have the focus.
    else if (event.key !== 'Tab') return
    event.preventDefault()
  }
  useEffect(() => {
    list.current?.querySelector(`#hit-${active}`)?.scrollIntoView({ block: 'nearest' })
  }, [active])

  return (
    <div class="palette" role="dialog" aria-modal="true" aria-label={t('app.search')}>
      <button type="button" class="backdrop" aria-label={t('app.close')} tabIndex={-1} onClick={close} />
      <div class="box">
        <div class="palette-input">
          <Icon name="search" />
          <input
            ref={input}
            class="mono"
            value={text}
            role="combobox"
            aria-expanded={links.length > 0}
            aria-controls="hits"
            aria-activedescendant={links.length > 0 ? `hit-${active}` : undefined}
            aria-label={t('search.hint')}
            placeholder={t('search.hint')}
            spellcheck={false}
            autocomplete="off"
            onInput={event => setText(event.currentTarget.value)}
            onKeyDown={onKeyDown}
          />
          {q && <span class="badge accent">{t(`search.${kindOf(q)}`)}</span>}
        </div>
        <div class="options" id="hits" role="listbox" aria-label={t('app.search')} ref={list}>
          {q === '' && <p class="hint">{t('search.start')}</p>}
          {items.map((item, index) => (
            <div key={item.key} role="presentation">
              {item.group !== items[index - 1]?.group && (
                <div class="group-title" role="presentation">
                  {t(`search.${item.group}`)}
                </div>
              )}
              {item.hit && <Hit hit={item.hit} q={q} index={index} active={active} open={open} />}
              {item.suggestion && (
                <SuggestionOption suggestion={item.suggestion} index={index} active={active} open={open} />
              )}
            </div>
          ))}
          {error !== undefined && (
            <EmptyState kind="unreachable" title={t('search.failed')} text={t('search.failedText')} code={error} />
          )}
          {hits && error === undefined && links.length === 1 && (
            <EmptyState kind="noMatch" title={t('search.none', { value: q })} text={t('search.noneText')} />
          )}
          {q && (
            <button
              type="button"
              role="option"
              class="option"
              tabIndex={-1}
              id={`hit-${links.length - 1}`}
              aria-selected={active === links.length - 1}
              onClick={() => open(linkTo('history', { q }))}
            >
              <Icon name="clock" size={14} />
              <span>{t('search.history')}</span>
              <span class="dim nowrap">{active === links.length - 1 ? <kbd>↵</kbd> : t('screen.history')}</span>
            </button>
          )}
        </div>
        <div class="palette-foot">
          <span>
            <kbd>↑</kbd>
            <kbd>↓</kbd>
            {t('search.move')}
          </span>
          <span>
            <kbd>↵</kbd>
            {t('search.open')}
          </span>
          <span class="desktop-only">
            <kbd>{commandKey}</kbd>
            <kbd>↵</kbd>
            {t('search.openHistory')}
          </span>
          <span class="at-end">
            <kbd>esc</kbd>
            {t('search.close')}
          </span>
        </div>
        <div class="visually-hidden" role="status">
          {error === undefined ? hits && t('search.results', { n: items.length }) : t('search.failed')}
          {data.live === 'off' && t('live.off')}
        </div>
      </div>
    </div>
  )
}

const noOwners: readonly Suggestion[] = []

const linkOf = (hit: SearchHit) => linkToNode(hit, hit.interface)

interface Item {
  key: string
  group: Suggestion['group'] | 'exact' | 'nodes' | 'prefix'
  href: string
  hit?: SearchHit
  suggestion?: Suggestion
}

const suggestionItem = (suggestion: Suggestion): Item => ({
  key: suggestion.key,
  group: suggestion.group,
  href: suggestion.href,
  suggestion,
})

/** Exact matches, then nodes, then other values with the prefix. */
function grouped(all: readonly SearchHit[], q: string): [exact: Item[], ...Item[][]] {
  const full = q.toLowerCase()
  // Each NIC of a subnet and each node of a provider would be a match: the suggestions list these once.
  const hits = all.filter(({ kind }) => kind !== 'subnet' && kind !== 'network' && kind !== 'provider')
  const exact = hits.filter(hit => hit.value.split('/')[0]?.toLowerCase() === full)
  const nodes = hits.filter(hit => hit.kind === 'node' && !exact.includes(hit))
  const prefix = hits.filter(hit => !exact.includes(hit) && !nodes.includes(hit))
  const items = (group: Item['group'], of: readonly SearchHit[]) =>
    of.map(hit => ({ key: `${hit.kind} ${hit.value} ${hit.nodeName}`, group, href: linkOf(hit), hit }))
  return [items('exact', exact), items('nodes', nodes.slice(0, 6)), items('prefix', prefix.slice(0, 8))]
}

function Hit({ hit, q, ...option }: OptionProps & { hit: SearchHit; q: string }) {
  const { t, data } = useUi()
  const node = data.nodes.find(({ key }) => key === nodeKey(hit.providerId, hit.nodeName))
  const nic = node?.nics.find(({ name }) => name === hit.interface)
  const marked = hit.value.toLowerCase().startsWith(q.toLowerCase()) ? q.length : 0
  const more = [
    nic?.subnetName || nic?.network,
    hit.kind === 'address' ? '' : nic?.address,
    providerText({ providerName: '', ...node, providerId: hit.providerId }, 12),
  ].filter(Boolean)
  const icon = <Glyph severity={nic?.severity ?? node?.worst ?? 'none'} />
  return (
    <PaletteOption {...option} href={linkOf(hit)} icon={icon} kind={t(`kind.${hit.kind}`)}>
      <span class="mono">
        <mark>{hit.value.slice(0, marked)}</mark>
        {hit.value.slice(marked)}
      </span>
      {hit.kind !== 'node' && ` · ${hit.nodeName}`}
      {hit.interface && ` · ${hit.interface}`}
      <small>{more.join(' · ')}</small>
    </PaletteOption>
  )
}
