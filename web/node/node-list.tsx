/**
 * All nodes, to choose one from: worst first, with what they have.
 */
import { useMemo, useState } from 'preact/hooks'
import { type Node, nodeHas, worstFirst } from '../model/nodes.ts'
import { linkToNode } from '../state/route.ts'
import { age, count, shortId } from '../ui/format.ts'
import { Glyph } from '../ui/glyph.tsx'
import { Blank, Filter, Panel, StateWord, useUi } from '../ui/ui.tsx'

const most = 100

export function NodeList() {
  const { say, data, route, language } = useUi()
  const [text, setText] = useState('')
  const { provider } = route.query
  const nodes = useMemo(
    () =>
      data.nodes
        .filter(node => (!provider || node.providerId === provider) && (text === '' || nodeHas(node, text)))
        .sort(worstFirst),
    [data.nodes, provider, text],
  )
  return (
    <>
      <div class="head">
        <h1>{say('screen.nodes')}</h1>
        <span class="sub">
          {provider && `${shortId(provider, 18)} · `}
          {say('many.nodes', { n: count(nodes.length, language) })}
        </span>
      </div>
      <div class="bar">
        <Filter label={say('matrix.filter')} value={text} onChange={setText} />
      </div>
      <Panel>
        {nodes.length === 0 && <Blank kind="search" title={say('matrix.none')} />}
        <ul class="nodelist">
          {nodes.slice(0, most).map(node => (
            <NodeLine key={node.key} node={node} />
          ))}
        </ul>
      </Panel>
    </>
  )
}

function NodeLine({ node }: { node: Node }) {
  const { say, now } = useUi()
  return (
    <li>
      <a href={linkToNode(node)}>
        <Glyph look={node.worst ?? 'none'} />
        <span class="who">
          <b class="mono">{node.nodeName}</b>
          <small>{shortId(node.providerId, 18)}</small>
        </span>
        <span class="row" aria-hidden="true">
          {node.nics.map(nic => (
            <Glyph key={nic.slot} look={nic.look} />
          ))}
        </span>
        <span class="hidem">{node.worst && <StateWord look={node.worst} />}</span>
        <span class="dim nowrap">{age(node.updatedAt, now, say)}</span>
      </a>
    </li>
  )
}
