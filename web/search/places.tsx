/**
 * What the search box finds besides what is in use now: who had it before, subnets and providers, and ports that were not taken.
 */
import { useEffect, useState } from 'preact/hooks'
import { holdersOf } from '../history/owner-search.tsx'
import { subnetsOf } from '../model/subnets.ts'
import { notTakenOf } from '../model/verdicts.ts'
import type { Data } from '../state/data.ts'
import { linkTo } from '../state/route.ts'
import { clock, kindOf, shortId } from '../ui/format.ts'
import { Glyph } from '../ui/glyph.tsx'
import { Icon, useUi } from '../ui/ui.tsx'
import { type OptionProps, PaletteOption } from './option.tsx'

export interface Place {
  key: string
  group: 'before' | 'places' | 'skipped'
  title: string
  more: string
  href: string
}

const most = 4
const shortest = 2

/** Those who had exactly this and have it no more. Asked only for what is whole: an address, a MAC, an id. */
export function useEarlier(q: string): Place[] {
  const { now, language } = useUi()
  const [found, setFound] = useState<{ q: string; places: Place[] }>()
  const whole = isWhole(q)
  useEffect(() => {
    if (!whole) return
    const stop = new AbortController()
    const timer = setTimeout(() => {
      holdersOf(q, '', stop.signal)
        .then(holdings => {
          const places = holdings.flatMap(({ nodeName, nic, from, to }): Place[] =>
            to === undefined
              ? []
              : [
                  {
                    key: `${nodeName} ${nic} ${from}`,
                    group: 'before',
                    title: `${nodeName} · ${nic}`,
                    more: `${clock(from, now, language)} – ${clock(to, now, language)}`,
                    href: linkTo('history', { q }),
                  },
                ],
          )
          if (!stop.signal.aborted) setFound({ q, places: places.slice(-most) })
        })
        .catch(() => {})
    }, 250)
    return () => {
      clearTimeout(timer)
      stop.abort()
    }
  }, [q, whole])
  return found?.q === q ? found.places : []
}

function isWhole(q: string): boolean {
  const kind = kindOf(q)
  if (kind === 'ipv4') return /^(\d{1,3}\.){3}\d{1,3}$/.test(q)
  if (kind === 'mac') return q.length === 17
  return kind === 'id' && q.length === 36
}

export function placesIn({ nodes, verdicts }: Data, q: string): Place[] {
  const wanted = q.toLowerCase()
  if (wanted.length < shortest) return []
  const begins = (text: string) => text.toLowerCase().startsWith(wanted)
  const providers = [...new Set(nodes.map(({ providerId }) => providerId))].filter(begins).map(
    (providerId): Place => ({
      key: `provider ${providerId}`,
      group: 'places',
      title: shortId(providerId, 18),
      more: '',
      href: linkTo('matrix', { provider: providerId }),
    }),
  )
  const subnets = subnetsOf(nodes)
    .filter(({ network, subnetId, networkId }) => [network, subnetId, networkId].some(begins))
    .map(
      ({ key, network, subnetId, links }): Place => ({
        key: `subnet ${key}`,
        group: 'places',
        title: network || shortId(key),
        more: shortId(subnetId),
        href: linkTo('topology', { provider: links[0]?.node.providerId, subnet: key }),
      }),
    )
  const skipped = notTakenOf(verdicts, nodes)
    .filter(({ portId = '', vm }) => begins(portId) || begins(vm))
    .map(
      ({ portId = '', vm, reason, message }): Place => ({
        key: `port ${portId} ${vm} ${reason}`,
        group: 'skipped',
        title: `${portId || vm} · ${reason}`,
        more: message,
        href: linkTo('ports', { q: portId || vm }),
      }),
    )
  return [...[...providers, ...subnets].slice(0, most), ...skipped.slice(0, most)]
}

export function PlaceLine({ place: { group, title, more, href }, ...option }: OptionProps & { place: Place }) {
  const { say } = useUi()
  const screen = { before: 'history', places: 'topology', skipped: 'ports' } as const
  const sign =
    group === 'skipped' ? <Glyph look="none" /> : <Icon name={group === 'before' ? 'clock' : 'net'} size={14} />
  return (
    <PaletteOption {...option} href={href} sign={sign} kind={say(`screen.${screen[group]}`)}>
      <span class="mono">{title}</span>
      <small>{more}</small>
    </PaletteOption>
  )
}
