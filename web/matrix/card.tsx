/**
 * The details of the cell under the pointer or the focus.
 */
import { useLayoutEffect, useRef } from 'preact/hooks'
import { causeOf, type Nic, type Node } from '../model/nodes.ts'
import { useUi } from '../ui/context.ts'
import { clock } from '../ui/format.ts'
import { observationText, pendingText } from '../ui/observation.tsx'
import { FactList, SeverityLabel } from '../ui/panel.tsx'

export interface HoveredCell {
  node: Node
  nic: Nic
  box: DOMRect
}

export function MatrixCard({ cell: { node, nic, box } }: { cell: HoveredCell }) {
  const { t, explain, now, language } = useUi()
  const card = useRef<HTMLDivElement>(null)
  useLayoutEffect(() => {
    const element = card.current
    if (!element) return
    const { offsetWidth: width, offsetHeight: height } = element
    const below = box.bottom + 6
    const top = below + height < innerHeight - 8 ? below : Math.max(8, box.top - height - 6)
    // Set through the CSSOM, because the content security policy forbids style attributes.
    element.style.top = `${top}px`
    element.style.left = `${Math.max(8, Math.min(box.left + box.width / 2 - 60, innerWidth - width - 16))}px`
  }, [box])
  const observed = nic.observed?.mtu
  const mtu =
    observed !== undefined && nic.mtu !== undefined && observed !== nic.mtu
      ? t('nic.mtuDiffers', { observed, requested: nic.mtu })
      : (nic.mtu ?? observed ?? '–')
  const facts: [string, string | number][] = [
    [t('nic.address'), nic.address || '–'],
    [t('nic.mtu'), mtu],
    [t('nic.subnet'), nic.network || '–'],
    [t('nic.macAddress'), nic.macAddress],
    [t('nic.pending'), pendingText(nic, t)],
    [t('nic.observation'), observationText(nic, { t, now, language })],
    [t('nic.since'), clock(nic.stages.verified ?? node.updatedAt, now, language)],
  ]
  const cause = causeOf(nic)
  const explanation = cause.message || explain(cause).meaning
  const why = nic.severity === 'configured' ? '' : [cause.reason, explanation].filter(Boolean).join(': ')
  return (
    <div class="card float" role="tooltip" ref={card}>
      <div class="card-head">
        <span class="name mono">
          {node.nodeName} · {nic.name}
        </span>
        <SeverityLabel severity={nic.severity} />
      </div>
      <FactList facts={facts} />
      {why && <p class="why">{why}</p>}
    </div>
  )
}
