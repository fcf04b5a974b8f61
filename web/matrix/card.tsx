/**
 * What a cell of the matrix stands for, beside the cell under the pointer or the focus.
 */
import { useLayoutEffect, useRef } from 'preact/hooks'
import type { Nic, Node } from '../model/nodes.ts'
import { clock } from '../ui/format.ts'
import { Facts, StateWord, useUi } from '../ui/ui.tsx'

export interface Picked {
  node: Node
  nic: Nic
  box: DOMRect
}

export function MatrixCard({ picked: { node, nic, box } }: { picked: Picked }) {
  const { say, now, language } = useUi()
  const card = useRef<HTMLDivElement>(null)
  useLayoutEffect(() => {
    const element = card.current
    if (!element) return
    const { offsetWidth: width, offsetHeight: height } = element
    const below = box.bottom + 6
    const top = below + height < innerHeight - 8 ? below : Math.max(8, box.top - height - 6)
    // By CSSOM: the policy of the page allows no style attributes.
    element.style.top = `${top}px`
    element.style.left = `${Math.max(8, Math.min(box.left + box.width / 2 - 60, innerWidth - width - 16))}px`
  }, [box])
  const observed = nic.observed?.mtu
  const mtu =
    observed !== undefined && nic.mtu !== undefined && observed !== nic.mtu
      ? say('nic.mtuWanted', { observed, wanted: nic.mtu })
      : (nic.mtu ?? observed ?? '–')
  const facts: [string, string | number][] = [
    [say('nic.address'), nic.address || '–'],
    [say('nic.mtu'), mtu],
    [say('nic.subnet'), nic.network || '–'],
    [say('nic.mac'), nic.mac],
    [say('nic.since'), clock(nic.stages.verified ?? node.updatedAt, now, language)],
  ]
  const why = nic.look === 'ok' ? '' : [nic.reason, nic.message].filter(Boolean).join(': ')
  return (
    <div class="card float" role="tooltip" ref={card}>
      <div class="hd">
        <span class="nm mono">
          {node.nodeName} · {nic.name}
        </span>
        <StateWord look={nic.look} />
      </div>
      <Facts facts={facts} />
      {why && <p class="why">{why}</p>}
    </div>
  )
}
