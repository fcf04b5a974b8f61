/**
 * What hangs on this subnet, or this node? Subnets on the left, nodes on the right, a ribbon for every NIC.
 */
import { useMemo } from 'preact/hooks'
import { byName, type Node, needsPerson } from '../model/nodes.ts'
import { type Subnet, subnetKey, subnetsOf } from '../model/subnets.ts'
import { layoutRibbons, type Ribbon, ribbonPicture } from '../node/layout.ts'
import { providersOf } from '../shell/shell.tsx'
import { linkTo, linkToNode } from '../state/route.ts'
import { count, shortId } from '../ui/format.ts'
import { Glyph } from '../ui/glyph.tsx'
import { Blank, Icon, Panel, providerChoices, Segmented, Select, useUi } from '../ui/ui.tsx'
import { Inspector } from './inspector.tsx'

const pageSize = 40

export function Topology() {
  const { say, data, route, language } = useUi()
  const providers = useMemo(() => providersOf(data.nodes).map(({ providerId }) => providerId), [data.nodes])
  const { subnet, node: nodeChosen, only } = route.query
  const provider = route.query['provider'] ?? providers[0] ?? ''
  const ofProvider = useMemo(
    () => data.nodes.filter(({ providerId }) => providerId === provider),
    [data.nodes, provider],
  )
  const all = useMemo(() => {
    const chosen = ofProvider.filter(node =>
      only ? needsPerson(node.worst) || node.worst === 'pend' : node.nics.length > 0,
    )
    // Who asks for a subnet wants to see its nodes on the first page.
    const on = (node: Node) => (subnet && node.nics.some(nic => subnetKey(nic) === subnet) ? 0 : 1)
    return chosen.sort((a, b) => on(a) - on(b) || byName(a, b))
  }, [ofProvider, only, subnet])
  const pages = Math.max(1, Math.ceil(all.length / pageSize))
  const Pages = pages <= 6 ? Segmented : Select
  const found = nodeChosen ? all.findIndex(({ key }) => key === nodeChosen) : -1
  const page = Math.min(pages - 1, Number(route.query['page'] ?? (found >= 0 ? Math.floor(found / pageSize) : 0)))
  const nodes = useMemo(() => all.slice(page * pageSize, (page + 1) * pageSize), [all, page])
  const subnets = useMemo(() => subnetsOf(ofProvider), [ofProvider])
  const ask = (change: Record<string, string | undefined>) =>
    location.replace(linkTo('topology', { ...route.query, provider, ...change }))
  const chosenSubnet = subnets.find(({ key }) => key === subnet)
  const chosenNode = all.find(({ key }) => key === nodeChosen)

  return (
    <>
      <div class="head">
        <h1>{say('screen.topology')}</h1>
        <span class="sub">
          {provider && `${shortId(provider, 18)} · `}
          {say('many.subnets', { n: subnets.length })} ·{' '}
          {pages > 1
            ? say('topology.nodesOf', { n: nodes.length, all: count(all.length, language) })
            : say('many.nodes', { n: count(all.length, language) })}
        </span>
        <div class="right">
          {pages > 1 && (
            <Pages
              label={say('topology.pages')}
              value={String(page)}
              choices={Array.from({ length: pages }, (_, index) => ({
                value: String(index),
                label: `${index * pageSize + 1}–${Math.min(all.length, (index + 1) * pageSize)}`,
              }))}
              onChoose={value => ask({ page: value })}
            />
          )}
          {providers.length > 1 && (
            <Select
              label={say('overview.provider')}
              value={provider}
              choices={providerChoices(providers)}
              onChoose={value => location.replace(linkTo('topology', { provider: value }))}
            />
          )}
          <button
            type="button"
            class="btn"
            aria-pressed={Boolean(only)}
            onClick={() => ask({ only: only ? '' : '1', page: '' })}
          >
            <Icon name="filter" size={14} />
            {say('topology.onlyProblems')}
          </button>
        </div>
      </div>
      {nodes.length === 0 ? (
        <Panel>
          <Blank kind="calm" title={say('topology.none')} text={say('topology.noneText')} />
        </Panel>
      ) : (
        <div class="cols b">
          <Panel class="topo">
            <Ribbons subnets={subnets} nodes={nodes} subnet={subnet} node={nodeChosen} ask={ask} />
            <AsList subnets={subnets} />
          </Panel>
          <Inspector
            subnet={chosenSubnet}
            node={chosenNode}
            nodes={ofProvider}
            close={() => ask({ subnet: '', node: '' })}
          />
        </div>
      )}
    </>
  )
}

interface RibbonsProps {
  subnets: readonly Subnet[]
  nodes: readonly Node[]
  subnet: string | undefined
  node: string | undefined
  ask: (change: Record<string, string | undefined>) => void
}

const broken: Partial<Record<Ribbon['look'], string>> = { bad: 'flt', drift: 'drf', held: 'drf' }

function Ribbons({ subnets, nodes, subnet, node, ask }: RibbonsProps) {
  const { say } = useUi()
  const layout = useMemo(() => layoutRibbons(subnets, nodes), [subnets, nodes])
  const { width, subnetWidth, left, right, nodeHeight } = ribbonPicture
  const isOn = (ribbon: Ribbon) => ribbon.subnet === subnet || ribbon.node === node
  const rank = (ribbon: Ribbon) => (broken[ribbon.look] ? 2 : isOn(ribbon) ? 1 : 0)
  const onNodes = new Set(layout.ribbons.filter(isOn).map(ribbon => ribbon.node))
  const onSubnets = new Set(layout.ribbons.filter(isOn).map(ribbon => ribbon.subnet))
  return (
    // biome-ignore lint/a11y/useSemanticElements: a picture with links in it has no element of its own
    <svg viewBox={`0 -26 ${width} ${layout.height + 30}`} aria-label={say('topology.said')} role="group">
      <text class="c-tb" x="0" y="-10">
        {say('topology.subnet')}
      </text>
      <text class="c-tb" x={right + 14} y="-10">
        {say('matrix.node')}
      </text>
      <text class="c-tb" x={width} y="-10" text-anchor="end">
        {say('matrix.nic')}
      </text>
      <g>
        {layout.ribbons
          .toSorted((a, b) => rank(a) - rank(b))
          .map(ribbon => (
            <path key={ribbon.id} class={`rb ${broken[ribbon.look] ?? (isOn(ribbon) ? 'sel' : '')}`} d={ribbon.path} />
          ))}
      </g>
      {layout.subnets.map(({ subnet: { key, network, subnetId, links }, y, height }) => (
        <a
          key={key}
          class="pickable"
          href={linkTo('topology')}
          aria-label={`${network} ${say('many.nics', { n: links.length })}`}
          onClick={event => choose(event, { subnet: key, node: '' })}
        >
          <rect
            class={`nb ${key === subnet ? 'sel' : ''}`}
            x=".5"
            y={y}
            width={subnetWidth - 6}
            height={height}
            rx="7"
          />
          <rect class={`nbar ${onSubnets.has(key) ? 'sel' : ''}`} x={left - 9} y={y} width="6" height={height} rx="2" />
          <text class="tnm" x="14" y={y + height / 2 - 3}>
            {network || shortId(key)}
          </text>
          <text class="tns" x="14" y={y + height / 2 + 13}>
            {subnetId ? shortId(subnetId) : ''}
          </text>
          <text class="tnc" x={subnetWidth - 18} y={y + height / 2 + 4} text-anchor="end">
            {layout.ribbons.filter(ribbon => ribbon.subnet === key).length}
          </text>
        </a>
      ))}
      {layout.nodes.map(({ node: each, y }) => (
        <a
          key={each.key}
          class="pickable"
          href={linkToNode(each)}
          aria-label={each.nodeName}
          onClick={event => choose(event, { node: each.key, subnet: '' })}
        >
          <rect
            class={`nbar ${onNodes.has(each.key) ? 'sel' : ''}`}
            x={right + 2}
            y={y - 6}
            width="5"
            height="12"
            rx="2"
          />
          <text class={`tn ${onNodes.has(each.key) || (!subnet && !node) ? 'sel' : ''}`} x={right + 14} y={y + 4}>
            {each.nodeName.length > 15 ? `${each.nodeName.slice(0, 14)}…` : each.nodeName}
          </text>
          {needsPerson(each.worst) && <Glyph look={each.worst ?? 'none'} at={[width - 30, y - 6, 12]} />}
          <text class="tns" x={width} y={y + 4} text-anchor="end">
            {each.nics.length}
          </text>
          <rect class="hit" x={right} y={y - nodeHeight / 2} width={width - right} height={nodeHeight} />
        </a>
      ))}
    </svg>
  )

  function choose(event: Event, change: Record<string, string>): void {
    event.preventDefault()
    ask(change)
  }
}

/** The same in words, for those who do not see the picture, and for phones. */
function AsList({ subnets }: { subnets: readonly Subnet[] }) {
  const { say } = useUi()
  return (
    <details class="aslist">
      <summary>{say('topology.asList')}</summary>
      {subnets.map(({ key, network, links }) => (
        <section key={key}>
          <h3 class="mono">
            {network} <span class="dim">{say('many.nics', { n: links.length })}</span>
          </h3>
          <ul>
            {links.slice(0, 60).map(({ node, nic }) => (
              <li key={`${node.key} ${nic.name}`}>
                <a href={linkToNode(node, nic.name)}>
                  <Glyph look={nic.look} />
                  <span class="mono">{node.nodeName}</span> <span class="dim">{nic.name}</span>
                  <span class="sr">{say(`look.${nic.look}`)}</span>
                </a>
              </li>
            ))}
          </ul>
        </section>
      ))}
    </details>
  )
}
