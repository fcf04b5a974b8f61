/**
 * One node as a row of the matrix: its name, a cell for each interface index, the number of configured NICs, the last change.
 */
import { useMemo } from 'preact/hooks'
import { maxInterfaces } from '../../src/contract/interface-fields.ts'
import { type Node, needsAttention, type Severity } from '../model/nodes.ts'
import { linkToNode } from '../state/route.ts'
import { useUi } from '../ui/context.ts'
import { Glyph } from '../ui/glyph.tsx'
import { pendingText } from '../ui/observation.tsx'
import { withoutPrefix } from './short-address.ts'

interface RowProps {
  node: Node
  row: number
  /** Offset from the first row, in pixels. */
  top: number
  /** Left out of the addresses. */
  prefix: string
  /** The index with the focus, -1 for the name. */
  focus: number | undefined
  changed: string
  /** Indexes of NICs that nobody has verified in time, separated by spaces: equal texts need no new row. */
  unverified: string
}

const cellTone: Partial<Record<Severity, string>> = {
  failed: 'cell-failed',
  drifted: 'cell-warning',
  onHold: 'cell-warning',
}

export function Row({ node, row, top, prefix, focus, changed, unverified }: RowProps) {
  const { t } = useUi()
  // Preact skips an identical element: rows that stay cost nothing while others scroll in and out.
  return useMemo(() => {
    const configured = node.nics.filter(({ severity }) => severity === 'configured').length
    const isOld = new Set(unverified.split(' '))
    const flag = node.worst === 'failed' ? 'row-failed' : needsAttention(node.worst) ? 'row-warning' : ''
    return (
      <tr class={flag} aria-rowindex={row + 2} style={{ top: `${top}px` }}>
        <td>
          <a
            class="mono"
            href={linkToNode(node)}
            data-row={row}
            data-index={-1}
            tabIndex={focus === -1 ? 0 : -1}
            title={node.nodeName}
          >
            {node.nodeName}
          </a>
        </td>
        {Array.from({ length: maxInterfaces }, (_, index) => {
          const nic = node.nics.find(each => each.index === index)
          if (!nic) return <td key={index} class="cell empty" />
          const old = isOld.has(String(index))
          const reason = nic.pending ? pendingText(nic, t) : nic.severity === 'configured' ? '' : nic.reason
          const state = [t(`severity.${nic.severity}`), reason, old && t('matrix.unverified')]
            .filter(Boolean)
            .join(', ')
          return (
            <td key={index} class={`cell ${cellTone[nic.severity] ?? ''} ${old ? 'unverified' : ''}`}>
              <a
                href={linkToNode(node, nic.name)}
                data-row={row}
                data-index={index}
                tabIndex={focus === index ? 0 : -1}
                title={nic.address}
                aria-label={`${node.nodeName} ${nic.name}: ${nic.address} ${state}`}
              >
                <Glyph severity={nic.severity} />
                {nic.lastSeverity && nic.lastSeverity !== nic.severity && <Glyph severity={nic.lastSeverity} />}
                <span class="cell-address">{withoutPrefix(nic.address, prefix)}</span>
              </a>
            </td>
          )
        })}
        <td class="number">
          <span class={configured < node.nics.length ? 'strong' : 'dim'}>
            {configured} / {node.nics.length}
          </span>
        </td>
        <td class="number dim">{changed}</td>
      </tr>
    )
  }, [node, row, top, prefix, focus, changed, unverified, t])
}
