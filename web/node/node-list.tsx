/**
 * The list of nodes, worst first, with the states of their NICs.
 */
import { useMemo, useState } from 'preact/hooks'
import { type Node, nodeMatches } from '../model/nodes.ts'
import { worstFirst } from '../model/order.ts'
import { providerOf } from '../model/providers.ts'
import { linkToNode } from '../state/route.ts'
import { useUi } from '../ui/context.ts'
import { FilterInput } from '../ui/controls.tsx'
import { EmptyState } from '../ui/empty-state.tsx'
import { age, count, providerText, providerTitle } from '../ui/format.ts'
import { Glyph } from '../ui/glyph.tsx'
import { Panel, SeverityLabel } from '../ui/panel.tsx'

const maxRows = 100

export function NodeList() {
  const { t, data, route, language } = useUi()
  const [text, setText] = useState('')
  const { provider } = route.query
  const nodes = useMemo(
    () =>
      data.nodes
        .filter(node => (!provider || node.providerId === provider) && (text === '' || nodeMatches(node, text)))
        .sort(worstFirst),
    [data.nodes, provider, text],
  )
  return (
    <>
      <div class="head">
        <h1>{t('screen.nodes')}</h1>
        <span class="sub">
          {provider && `${providerText(providerOf(data.nodes, provider))} · `}
          {t('count.nodes', { n: count(nodes.length, language) })}
        </span>
      </div>
      <div class="bar">
        <FilterInput label={t('matrix.filter')} value={text} onChange={setText} />
      </div>
      <Panel>
        {nodes.length === 0 && <EmptyState kind="noMatch" title={t('matrix.none')} />}
        <ul class="node-list">
          {nodes.slice(0, maxRows).map(node => (
            <NodeRow key={node.key} node={node} />
          ))}
        </ul>
      </Panel>
    </>
  )
}

function NodeRow({ node }: { node: Node }) {
  const { t, now } = useUi()
  return (
    <li>
      <a href={linkToNode(node)}>
        <Glyph severity={node.worst ?? 'none'} />
        <span class="who">
          <b class="mono">{node.nodeName}</b>
          <small title={providerTitle(node)}>{providerText(node)}</small>
        </span>
        <span class="row" aria-hidden="true">
          {node.nics.map(nic => (
            <Glyph key={nic.index} severity={nic.severity} />
          ))}
        </span>
        <span class="desktop-only">{node.worst && <SeverityLabel severity={node.worst} />}</span>
        <span class="dim nowrap">{age(node.updatedAt, now, t)}</span>
      </a>
    </li>
  )
}
