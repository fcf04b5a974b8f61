/**
 * The picture of the topology: subnets, nodes, and a ribbon for each NIC between them.
 */
import { useMemo } from 'preact/hooks'
import type { Node } from '../model/nodes.ts'
import type { Subnet } from '../model/subnets.ts'
import { linkTo, linkToNode } from '../state/route.ts'
import { useUi } from '../ui/context.ts'
import { count, ellipsis, subnetTexts } from '../ui/format.ts'
import { Glyph } from '../ui/glyph.tsx'
import { layoutRibbons, type Ribbon, ribbonPicture } from './layout.ts'

interface RibbonsProps {
  subnets: readonly Subnet[]
  nodes: readonly Node[]
  subnet: string | undefined
  node: string | undefined
  setQuery: (change: Record<string, string | undefined>) => void
}

const problemClass: Partial<Record<Ribbon['severity'], string>> = {
  failed: 'failed',
  drifted: 'drifted',
  onHold: 'drifted',
}

export function Ribbons({ subnets, nodes, subnet, node, setQuery }: RibbonsProps) {
  const { t, language } = useUi()
  const layout = useMemo(() => layoutRibbons(subnets, nodes), [subnets, nodes])
  const { width, subnetWidth, left, right, nodeHeight } = ribbonPicture
  const isSelected = (ribbon: Ribbon) => ribbon.subnet === subnet || ribbon.node === node
  const rank = (ribbon: Ribbon) => (problemClass[ribbon.severity] ? 2 : isSelected(ribbon) ? 1 : 0)
  const selectedNodes = new Set(layout.ribbons.filter(isSelected).map(ribbon => ribbon.node))
  const selectedSubnets = new Set(layout.ribbons.filter(isSelected).map(ribbon => ribbon.subnet))
  return (
    // biome-ignore lint/a11y/useSemanticElements: HTML has no element for a picture with links
    <svg viewBox={`0 -26 ${width} ${layout.height + 30}`} aria-label={t('topology.description')} role="group">
      <text class="chart-heading" x="0" y="-10">
        {t('topology.subnet')}
      </text>
      <text class="chart-heading" x={right + 14} y="-10">
        {t('matrix.node')}
      </text>
      <text class="chart-heading" x={width} y="-10" text-anchor="end">
        {t('matrix.nic')}
      </text>
      <g>
        {layout.ribbons
          .toSorted((a, b) => rank(a) - rank(b))
          .map(ribbon => (
            <path
              key={ribbon.id}
              class={`ribbon ${problemClass[ribbon.severity] ?? (isSelected(ribbon) ? 'selected' : '')}`}
              d={ribbon.path}
            />
          ))}
      </g>
      {layout.subnets.map(({ subnet: { key, attachments, ...names }, y, height }) => (
        <a
          key={key}
          class="selectable"
          href={linkTo('topology')}
          aria-label={`${subnetTexts(names).join(' ')} ${t('count.nics', { n: count(attachments.length, language) })}`}
          onClick={event => choose(event, { subnet: key, node: '' })}
        >
          <rect
            class={`subnet-box ${key === subnet ? 'selected' : ''}`}
            x=".5"
            y={y}
            width={subnetWidth - 6}
            height={height}
            rx="7"
          />
          <rect
            class={`end-bar ${selectedSubnets.has(key) ? 'selected' : ''}`}
            x={left - 9}
            y={y}
            width="6"
            height={height}
            rx="2"
          />
          <text class="subnet-name" x="14" y={y + height / 2 - 3}>
            {subnetTexts({ ...names, subnetName: ellipsis(names.subnetName, 18) })[0]}
          </text>
          <text class="small-note" x="14" y={y + height / 2 + 13}>
            {subnetTexts(names)[1] ?? ''}
          </text>
          <text class="nic-count" x={subnetWidth - 18} y={y + height / 2 + 4} text-anchor="end">
            {count(attachments.length, language)}
          </text>
        </a>
      ))}
      {layout.nodes.map(({ node: each, y }) => (
        <a
          key={each.key}
          class="selectable"
          href={linkToNode(each)}
          aria-label={`${each.nodeName} ${t('count.nics', { n: each.nics.length })} ${t(`severity.${each.worst ?? 'none'}`)}`}
          onClick={event => choose(event, { node: each.key, subnet: '' })}
        >
          <rect
            class={`end-bar ${selectedNodes.has(each.key) ? 'selected' : ''}`}
            x={right + 2}
            y={y - 6}
            width="5"
            height="12"
            rx="2"
          />
          <text
            class={`node-name ${selectedNodes.has(each.key) || (!subnet && !node) ? 'selected' : ''}`}
            x={right + 14}
            y={y + 4}
          >
            {each.nodeName.length > 15 ? `${each.nodeName.slice(0, 14)}…` : each.nodeName}
          </text>
          {each.worst && each.worst !== 'configured' && <Glyph severity={each.worst} at={[width - 30, y - 6, 12]} />}
          <text class="small-note" x={width} y={y + 4} text-anchor="end">
            {each.nics.length}
          </text>
          <rect class="hit-area" x={right} y={y - nodeHeight / 2} width={width - right} height={nodeHeight} />
        </a>
      ))}
    </svg>
  )

  function choose(event: Event, change: Record<string, string>): void {
    event.preventDefault()
    setQuery(change)
  }
}
