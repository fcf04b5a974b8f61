/**
 * One NIC at a time: what it was asked for beside what was read back from the kernel.
 */
import { useEffect, useState } from 'preact/hooks'
import type { Word } from '../messages/messages.ts'
import type { Nic, Node } from '../model/nodes.ts'
import { age } from '../ui/format.ts'
import { Glyph } from '../ui/glyph.tsx'
import { Badge, Panel, useUi } from '../ui/ui.tsx'

interface Line {
  field: Word
  wanted: string
  observed: string | undefined
}

export function Compare({ node, chosen }: { node: Node; chosen: string | undefined }) {
  const { say, now } = useUi()
  const [name, setName] = useState(chosen)
  useEffect(() => setName(chosen), [chosen])
  const worst = node.nics.find(nic => nic.look === node.worst)
  const nic = node.nics.find(each => each.name === name) ?? worst ?? node.nics[0]
  if (!nic) return null
  const differing = (line: Line) => nic.differences.some(({ field }) => `nic.${field}` === line.field)
  const lines = linesOf(nic)
  const moved = (event: KeyboardEvent) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key]
    const next = step && node.nics[node.nics.indexOf(nic) + step]
    if (!next || !(event.currentTarget instanceof Element)) return
    setName(next.name)
    event.currentTarget.querySelector<HTMLElement>(`[data-nic="${next.name}"]`)?.focus()
  }
  return (
    <Panel
      title={say('node.compare')}
      badge={
        nic.differences.length > 0 && (
          <Badge tone="warn">{say('node.differences', { n: nic.differences.length })}</Badge>
        )
      }
      right={nic.checked && say('node.readBack', { age: age(nic.checked, now, say) })}
    >
      <div class="tabs" role="tablist" aria-label={say('node.compare')} onKeyDown={moved}>
        {node.nics.map(each => (
          <button
            key={each.name}
            type="button"
            role="tab"
            data-nic={each.name}
            aria-selected={each === nic}
            tabIndex={each === nic ? 0 : -1}
            onClick={() => setName(each.name)}
          >
            <Glyph look={each.look} />
            {each.name}
          </button>
        ))}
      </div>
      <div class="scrollx">
        <table class="tbl cmp">
          <thead>
            <tr>
              <th>{say('node.field')}</th>
              <th>{say('node.wanted')}</th>
              <th>{say('node.observed')}</th>
              <th class="r" />
            </tr>
          </thead>
          <tbody>
            {lines.map(line => (
              <tr key={line.field} class={differing(line) ? 'd' : ''}>
                <td>{say(line.field)}</td>
                <td>{line.wanted || '–'}</td>
                <td class={differing(line) ? 'x' : ''}>{line.observed ?? <span class="dim">–</span>}</td>
                <td class="r">{verdict(line)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </Panel>
  )

  function verdict(line: Line): string {
    if (differing(line)) return say('node.differs')
    return line.observed === undefined ? '' : say('node.equal')
  }
}

function linesOf(nic: Nic): Line[] {
  const { observed } = nic
  const lines: Line[] = [
    { field: 'nic.name', wanted: nic.name, observed: observed?.name },
    { field: 'nic.mac', wanted: nic.mac, observed: undefined },
    { field: 'nic.address', wanted: nic.addresses.join(' '), observed: observed?.addresses?.join(' ') },
    { field: 'nic.mtu', wanted: nic.mtu?.toString() ?? '', observed: observed?.mtu?.toString() },
    { field: 'nic.link', wanted: 'up', observed: observed?.link },
    { field: 'nic.gateway', wanted: nic.gateway, observed: undefined },
    {
      field: 'nic.routes',
      wanted: nic.routes.map(each => `${each.destination} via ${each.nexthop}`).join(', '),
      observed: undefined,
    },
    { field: 'nic.network', wanted: [nic.network, nic.networkId].filter(Boolean).join(' '), observed: undefined },
    { field: 'nic.port', wanted: nic.portId, observed: undefined },
    { field: 'nic.source', wanted: nic.source, observed: undefined },
  ]
  return lines.filter(({ wanted, observed: is }) => wanted !== '' || is !== undefined)
}
