/**
 * One node as a row of the matrix: its name, ten slots, how many are done, when it changed.
 */
import { useMemo } from 'preact/hooks'
import { type Look, type Node, needsPerson, slots } from '../model/nodes.ts'
import { linkToNode } from '../state/route.ts'
import { Glyph } from '../ui/glyph.tsx'
import { useUi } from '../ui/ui.tsx'

interface RowProps {
  node: Node
  row: number
  /** From the first row, in pixels. */
  top: number
  common: string
  focus: number | undefined
  changed: string
}

const cellTone: Partial<Record<Look, string>> = { bad: 'bad-c', drift: 'warn-c', held: 'warn-c' }

export function Row({ node, row, top, common, focus, changed }: RowProps) {
  const { say } = useUi()
  // The same element again is not looked into again: a row that stays costs nothing while others come and go.
  return useMemo(() => {
    const done = node.nics.filter(({ look }) => look === 'ok').length
    const flag = node.worst === 'bad' ? 'flag' : needsPerson(node.worst) ? 'flagw' : ''
    return (
      <tr class={flag} aria-rowindex={row + 2} style={{ top: `${top}px` }}>
        <td>
          <a
            class="mono"
            href={linkToNode(node)}
            data-row={row}
            data-slot={-1}
            tabIndex={focus === -1 ? 0 : -1}
            title={node.nodeName}
          >
            {node.nodeName}
          </a>
        </td>
        {Array.from({ length: slots }, (_, slot) => {
          const nic = node.nics.find(each => each.slot === slot)
          if (!nic) return <td key={slot} class="c e" />
          return (
            <td key={slot} class={`c ${cellTone[nic.look] ?? ''}`}>
              <a
                href={linkToNode(node, nic.name)}
                data-row={row}
                data-slot={slot}
                tabIndex={focus === slot ? 0 : -1}
                aria-label={`${node.nodeName} ${nic.name}: ${say(`look.${nic.look}`)}${nic.reason && nic.look !== 'ok' ? `, ${nic.reason}` : ''}`}
              >
                <Glyph look={nic.look} />
                <span class="oc">{withoutStart(nic.address, common)}</span>
              </a>
            </td>
          )
        })}
        <td class="num">
          <span class={done < node.nics.length ? 'strong' : 'dim'}>
            {done} / {node.nics.length}
          </span>
        </td>
        <td class="num dim">{changed}</td>
      </tr>
    )
  }, [node, row, top, common, focus, changed, say])
}

/** What all addresses begin with says nothing: it is left out of the cells. */
export function commonStart(nodes: readonly Node[]): string {
  const [first = '', ...others] = nodes.flatMap(({ nics }) =>
    nics.flatMap(({ address }) => (/^\d+\./.exec(address) ?? []).slice(0, 1)),
  )
  return others.every(each => each === first) ? first : ''
}

function withoutStart(address: string, common: string): string {
  const plain = address.split('/')[0] ?? ''
  return common && plain.startsWith(common) ? plain.slice(common.length) : plain
}
