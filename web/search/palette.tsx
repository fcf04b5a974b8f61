/**
 * Search over everything, from any screen: addresses, MACs, ports, VMs, nodes by their beginning.
 */
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks'
import type { SearchHit } from '../../src/contract/inventory.ts'
import { nodeKey } from '../model/nodes.ts'
import { search } from '../state/api.ts'
import { commandKey } from '../state/preferences.ts'
import { linkTo, linkToNode } from '../state/route.ts'
import { kindOf, shortId } from '../ui/format.ts'
import { Glyph } from '../ui/glyph.tsx'
import { Blank, Icon, useUi } from '../ui/ui.tsx'
import { type OptionProps, PaletteOption } from './option.tsx'
import { type Place, PlaceLine, placesIn, useEarlier } from './places.tsx'

export function Palette({ close }: { close: () => void }) {
  const { say, data } = useUi()
  const [text, setText] = useState('')
  const [hits, setHits] = useState<SearchHit[]>()
  const [at, setAt] = useState(0)
  const input = useRef<HTMLInputElement>(null)
  const list = useRef<HTMLDivElement>(null)
  const q = text.trim()

  // Before anything is painted: who types on after the shortcut must not lose a letter.
  useLayoutEffect(() => {
    const before = document.activeElement
    input.current?.focus()
    return () => {
      if (before instanceof HTMLElement) before.focus()
    }
  }, [])
  useEffect(() => {
    setAt(0)
    if (q === '') return setHits(undefined)
    const stop = new AbortController()
    const timer = setTimeout(() => {
      search(q, stop.signal)
        .then(setHits)
        .catch(() => {})
    }, 60)
    return () => {
      clearTimeout(timer)
      stop.abort()
    }
  }, [q])

  const earlier = useEarlier(q)
  const places = useMemo(() => placesIn(data, q), [data, q])
  const items = useMemo((): Item[] => {
    const [exact, ...rest] = grouped(hits ?? [], q)
    return [...exact, ...earlier.map(placeItem), ...rest.flat(), ...places.map(placeItem)]
  }, [hits, q, earlier, places])
  const links = [...items.map(({ href }) => href), ...(q ? [linkTo('history', { q })] : [])]
  const open = (href: string) => {
    close()
    location.hash = href
  }
  const pressed = (event: KeyboardEvent) => {
    const move = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    if (event.key === 'Escape') close()
    else if (move) setAt((at + move + links.length) % Math.max(1, links.length))
    else if (event.key === 'Enter')
      open((event.metaKey || event.ctrlKey ? links.at(-1) : links[at]) ?? linkTo('overview'))
    // Nothing else here takes the focus: the list is walked with the arrow keys.
    else if (event.key !== 'Tab') return
    event.preventDefault()
  }
  useEffect(() => {
    list.current?.querySelector(`#hit-${at}`)?.scrollIntoView({ block: 'nearest' })
  }, [at])

  return (
    <div class="pal is-open" role="dialog" aria-modal="true" aria-label={say('app.search')}>
      <button type="button" class="bg" aria-label={say('app.close')} tabIndex={-1} onClick={close} />
      <div class="box">
        <div class="in">
          <Icon name="search" />
          <input
            ref={input}
            class="mono"
            value={text}
            role="combobox"
            aria-expanded={links.length > 0}
            aria-controls="hits"
            aria-activedescendant={links.length > 0 ? `hit-${at}` : undefined}
            aria-label={say('search.hint')}
            placeholder={say('search.hint')}
            spellcheck={false}
            autocomplete="off"
            onInput={event => setText(event.currentTarget.value)}
            onKeyDown={pressed}
          />
          {q && <span class="badge acc">{say(`search.${kindOf(q)}`)}</span>}
        </div>
        <div class="hits" id="hits" role="listbox" aria-label={say('app.search')} ref={list}>
          {q === '' && <p class="hint">{say('search.start')}</p>}
          {items.map((item, index) => (
            <div key={item.key} role="presentation">
              {item.group !== items[index - 1]?.group && (
                <div class="sec" role="presentation">
                  {say(`search.${item.group}`)}
                </div>
              )}
              {item.hit && <Hit hit={item.hit} q={q} index={index} at={at} open={open} />}
              {item.place && <PlaceLine place={item.place} index={index} at={at} open={open} />}
            </div>
          ))}
          {hits && links.length === 1 && (
            <Blank kind="search" title={say('search.none', { value: q })} text={say('search.noneText')} />
          )}
          {q && (
            <button
              type="button"
              role="option"
              class="hit"
              tabIndex={-1}
              id={`hit-${links.length - 1}`}
              aria-selected={at === links.length - 1}
              onClick={() => open(linkTo('history', { q }))}
            >
              <Icon name="clock" size={14} />
              <span>{say('search.history')}</span>
              <span class="dim nowrap">{at === links.length - 1 ? <kbd>↵</kbd> : say('screen.history')}</span>
            </button>
          )}
        </div>
        <div class="ft">
          <span>
            <kbd>↑</kbd>
            <kbd>↓</kbd>
            {say('search.move')}
          </span>
          <span>
            <kbd>↵</kbd>
            {say('search.open')}
          </span>
          <span class="hidem">
            <kbd>{commandKey}</kbd>
            <kbd>↵</kbd>
            {say('search.historyKey')}
          </span>
          <span class="r">
            <kbd>esc</kbd>
            {say('search.close')}
          </span>
        </div>
        <div class="sr" role="status">
          {hits && say('search.results', { n: items.length })}
          {data.live === 'off' && say('live.off')}
        </div>
      </div>
    </div>
  )
}

const linkOf = (hit: SearchHit) => linkToNode(hit, hit.interface)

interface Item {
  key: string
  group: Place['group'] | 'exact' | 'nodes' | 'also'
  href: string
  hit?: SearchHit
  place?: Place
}

const placeItem = (place: Place): Item => ({ key: place.key, group: place.group, href: place.href, place })

/** What was typed in full first; then nodes, and what begins with it. */
function grouped(hits: readonly SearchHit[], q: string): [exact: Item[], ...Item[][]] {
  const full = q.toLowerCase()
  const exact = hits.filter(hit => hit.value.split('/')[0]?.toLowerCase() === full)
  const nodes = hits.filter(hit => hit.kind === 'node' && !exact.includes(hit))
  const also = hits.filter(hit => !exact.includes(hit) && !nodes.includes(hit))
  const items = (group: Item['group'], of: readonly SearchHit[]) =>
    of.map(hit => ({ key: `${hit.kind} ${hit.value} ${hit.nodeName}`, group, href: linkOf(hit), hit }))
  return [items('exact', exact), items('nodes', nodes.slice(0, 6)), items('also', also.slice(0, 8))]
}

function Hit({ hit, q, ...option }: OptionProps & { hit: SearchHit; q: string }) {
  const { say, data } = useUi()
  const node = data.nodes.find(({ key }) => key === nodeKey(hit.providerId, hit.nodeName))
  const nic = node?.nics.find(({ name }) => name === hit.interface)
  const marked = hit.value.toLowerCase().startsWith(q.toLowerCase()) ? q.length : 0
  const more = [nic?.network, hit.kind === 'address' ? '' : nic?.address, shortId(hit.providerId, 12)].filter(Boolean)
  const sign = <Glyph look={nic?.look ?? node?.worst ?? 'none'} />
  return (
    <PaletteOption {...option} href={linkOf(hit)} sign={sign} kind={say(`kind.${hit.kind}`)}>
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
