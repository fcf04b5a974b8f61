/**
 * Search results besides values in use: previous owners, subnets and providers, ignored ports.
 */
import { ownershipsOf } from '../model/ownership.ts'
import { providerNamesOf } from '../model/providers.ts'
import { subnetsOf } from '../model/subnets.ts'
import { ignoredVerdicts } from '../model/verdicts.ts'
import type { Data } from '../state/data.ts'
import { type Outcome, useHolders } from '../state/holders.ts'
import { linkTo } from '../state/route.ts'
import { useUi } from '../ui/context.ts'
import { clock, kindOf, providerText, shortId, subnetTexts } from '../ui/format.ts'
import { Glyph } from '../ui/glyph.tsx'
import { Icon } from '../ui/panel.tsx'
import { type OptionProps, PaletteOption } from './option.tsx'

export interface Suggestion {
  key: string
  group: 'previous' | 'networks' | 'ignored'
  title: string
  more: string
  href: string
}

const maxPerGroup = 4
const minLength = 2

/** The previous owners of a complete address, MAC or ID. */
export function usePreviousOwners(q: string): Outcome<Suggestion[]> | undefined {
  const { now, language } = useUi()
  const outcome = useHolders(isComplete(q) ? q : '', 250)
  if (!outcome?.answer) return outcome
  const suggestions = ownershipsOf(outcome.answer).flatMap(({ nodeName, nic, from, to }): Suggestion[] =>
    to === undefined
      ? []
      : [
          {
            key: `${nodeName} ${nic} ${from}`,
            group: 'previous',
            title: `${nodeName} · ${nic}`,
            more: `${clock(from, now, language)} – ${clock(to, now, language)}`,
            href: linkTo('history', { q }),
          },
        ],
  )
  return { answer: suggestions.slice(-maxPerGroup) }
}

function isComplete(q: string): boolean {
  const kind = kindOf(q)
  if (kind === 'ipv4') return /^(\d{1,3}\.){3}\d{1,3}$/.test(q)
  if (kind === 'mac') return q.length === 17
  return kind === 'id' && q.length === 36
}

export function suggestionsIn({ nodes, verdicts }: Data, q: string): Suggestion[] {
  const prefix = q.toLowerCase()
  if (prefix.length < minLength) return []
  const hasPrefix = (text: string) => text.toLowerCase().startsWith(prefix)
  const providers = providerNamesOf(nodes)
    .filter(({ providerId, providerName }) => [providerId, providerName].some(hasPrefix))
    .map(
      (provider): Suggestion => ({
        key: `provider ${provider.providerId}`,
        group: 'networks',
        title: providerText(provider),
        more: provider.providerName && shortId(provider.providerId, 18),
        href: linkTo('matrix', { provider: provider.providerId }),
      }),
    )
  const subnets = subnetsOf(nodes)
    .filter(({ network, subnetId, subnetName, networkId, networkName }) =>
      [network, subnetId, subnetName, networkId, networkName].some(hasPrefix),
    )
    .map((subnet): Suggestion => {
      const [title = '', ...more] = subnetTexts(subnet)
      const { key, networkName, attachments } = subnet
      return {
        key: `subnet ${key}`,
        group: 'networks',
        title,
        more: [...more, networkName].filter(Boolean).join(' · '),
        href: linkTo('topology', { provider: attachments[0]?.node.providerId, subnet: key }),
      }
    })
  const ignored = ignoredVerdicts(verdicts, nodes)
    .filter(({ portId = '', vm, vmName = '' }) => [portId, vm, vmName].some(hasPrefix))
    .map(
      ({ portId = '', vm, vmName, reason, message }): Suggestion => ({
        key: `port ${portId} ${vm} ${reason}`,
        group: 'ignored',
        title: `${portId || (vmName ?? vm)} · ${reason}`,
        more: message,
        href: linkTo('ports', { q: portId || vm }),
      }),
    )
  return [...[...providers, ...subnets].slice(0, maxPerGroup), ...ignored.slice(0, maxPerGroup)]
}

export function SuggestionOption({
  suggestion: { group, title, more, href },
  ...option
}: OptionProps & { suggestion: Suggestion }) {
  const { t } = useUi()
  const screen = { previous: 'history', networks: 'topology', ignored: 'ports' } as const
  const icon =
    group === 'ignored' ? <Glyph severity="none" /> : <Icon name={group === 'previous' ? 'clock' : 'net'} size={14} />
  return (
    <PaletteOption {...option} href={href} icon={icon} kind={t(`screen.${screen[group]}`)}>
      <span class="mono">{title}</span>
      <small>{more}</small>
    </PaletteOption>
  )
}
