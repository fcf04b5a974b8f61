/**
 * The topology: which nodes are attached to a subnet, and which subnets a node is attached to.
 */
import { useMemo } from 'preact/hooks'
import { type Node, needsAttention, severities } from '../model/nodes.ts'
import { worstFirst } from '../model/order.ts'
import { providerOf, providersOf } from '../model/providers.ts'
import { type Subnet, subnetKey, subnetsOf } from '../model/subnets.ts'
import { linkTo, linkToNode } from '../state/route.ts'
import { useUi } from '../ui/context.ts'
import { Segmented, Select } from '../ui/controls.tsx'
import { EmptyState } from '../ui/empty-state.tsx'
import { count, providerChoices, providerText } from '../ui/format.ts'
import { Glyph } from '../ui/glyph.tsx'
import { pendingText } from '../ui/observation.tsx'
import { Icon, Panel } from '../ui/panel.tsx'
import { Inspector } from './inspector.tsx'
import { Ribbons } from './ribbons.tsx'

const pageSize = 40

export function Topology() {
  const { t, data, route, language } = useUi()
  const providers = useMemo(() => providersOf(data.nodes), [data.nodes])
  const { subnet, node: nodeKey, only } = route.query
  const provider = route.query['provider'] ?? providers[0]?.providerId ?? ''
  const ofProvider = useMemo(
    () => data.nodes.filter(({ providerId }) => providerId === provider),
    [data.nodes, provider],
  )
  const all = useMemo(() => {
    const chosen = ofProvider.filter(node =>
      only ? needsAttention(node.worst) || node.worst === 'pending' : node.nics.length > 0,
    )
    // The nodes of a selected subnet come first, so that they are on the first page.
    const rank = (node: Node) => (subnet && node.nics.some(nic => subnetKey(nic) === subnet) ? 0 : 1)
    return chosen.sort((a, b) => rank(a) - rank(b) || worstFirst(a, b))
  }, [ofProvider, only, subnet])
  const pages = Math.max(1, Math.ceil(all.length / pageSize))
  const Pages = pages <= 6 ? Segmented : Select
  const position = nodeKey ? all.findIndex(({ key }) => key === nodeKey) : -1
  const page = Math.min(pages - 1, Number(route.query['page'] ?? (position >= 0 ? Math.floor(position / pageSize) : 0)))
  const nodes = useMemo(() => all.slice(page * pageSize, (page + 1) * pageSize), [all, page])
  const subnets = useMemo(() => subnetsOf(ofProvider), [ofProvider])
  const setQuery = (change: Record<string, string | undefined>) =>
    location.replace(linkTo('topology', { ...route.query, provider, ...change }))
  const selectedSubnet = subnets.find(({ key }) => key === subnet)
  const selectedNode = all.find(({ key }) => key === nodeKey)

  return (
    <>
      <div class="head">
        <h1>{t('screen.topology')}</h1>
        <span class="sub">
          {provider && `${providerText(providerOf(data.nodes, provider))} · `}
          {t('count.subnets', { n: subnets.length })} ·{' '}
          {pages > 1
            ? t('topology.nodesOf', { n: nodes.length, all: count(all.length, language) })
            : t('count.nodes', { n: count(all.length, language) })}
        </span>
        <div class="right">
          {pages > 1 && (
            <Pages
              label={t('topology.pages')}
              value={String(page)}
              choices={Array.from({ length: pages }, (_, index) => ({
                value: String(index),
                label: `${index * pageSize + 1}–${Math.min(all.length, (index + 1) * pageSize)}`,
              }))}
              onChoose={value => setQuery({ page: value })}
            />
          )}
          {providers.length > 1 && (
            <Select
              label={t('overview.provider')}
              value={provider}
              choices={providerChoices(providers)}
              onChoose={value => location.replace(linkTo('topology', { provider: value }))}
            />
          )}
          <button
            type="button"
            class="btn"
            aria-pressed={Boolean(only)}
            onClick={() => setQuery({ only: only ? '' : '1', page: '' })}
          >
            <Icon name="filter" size={14} />
            {t('topology.onlyProblems')}
          </button>
        </div>
      </div>
      {nodes.length === 0 ? (
        <Panel>
          <EmptyState kind="allClear" title={t('topology.empty')} text={t('topology.emptyText')} />
        </Panel>
      ) : (
        <div class="cols with-inspector">
          <Panel class="topology">
            <Ribbons subnets={subnets} nodes={nodes} subnet={subnet} node={nodeKey} setQuery={setQuery} />
            <SubnetList subnets={subnets} />
          </Panel>
          <Inspector
            subnet={selectedSubnet}
            node={selectedNode}
            nodes={ofProvider}
            close={() => setQuery({ subnet: '', node: '' })}
          />
        </div>
      )}
    </>
  )
}

/** The same as text, for screen readers and phones. */
function SubnetList({ subnets }: { subnets: readonly Subnet[] }) {
  const { t } = useUi()
  return (
    <details class="as-list" open={matchMedia('(max-width: 760px)').matches}>
      <summary>{t('topology.asList')}</summary>
      {subnets.map(({ key, network, attachments }) => (
        <section key={key}>
          <h2 class="mono">
            {network} <span class="dim">{t('count.nics', { n: attachments.length })}</span>
          </h2>
          <ul>
            {worstNicsFirst(attachments)
              .slice(0, 60)
              .map(({ node, nic }) => (
                <li key={`${node.key} ${nic.name}`}>
                  <a href={linkToNode(node, nic.name)}>
                    <Glyph severity={nic.severity} />
                    <span class="mono">{node.nodeName}</span> <span class="dim">{nic.name}</span>
                    <span class={nic.severity === 'configured' ? 'visually-hidden' : 'dim'}>
                      {pendingText(nic, t) || t(`severity.${nic.severity}`)}
                    </span>
                  </a>
                </li>
              ))}
          </ul>
        </section>
      ))}
    </details>
  )
}

function worstNicsFirst(attachments: Subnet['attachments']): Subnet['attachments'] {
  return attachments.toSorted((a, b) => severities.indexOf(a.nic.severity) - severities.indexOf(b.nic.severity))
}
