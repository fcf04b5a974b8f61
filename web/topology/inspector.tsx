/**
 * The details of the subnet or node that is selected in the topology.
 */
import type { ComponentChildren } from 'preact'
import { hostCapacity } from '../model/cidr.ts'
import { nicRange } from '../model/diff.ts'
import { causeOf, type Nic, type Node, severities } from '../model/nodes.ts'
import type { Subnet } from '../model/subnets.ts'
import { linkTo, linkToNode } from '../state/route.ts'
import { useUi } from '../ui/context.ts'
import { EmptyState } from '../ui/empty-state.tsx'
import { count, providerText, shortId, subnetTexts } from '../ui/format.ts'
import { Glyph } from '../ui/glyph.tsx'
import { ObservationAge, pendingText } from '../ui/observation.tsx'
import { FactList, Icon, Panel, SeverityLabel } from '../ui/panel.tsx'

const maxAbsent = 4

interface InspectorProps {
  subnet: Subnet | undefined
  node: Node | undefined
  /** All nodes of the provider, with or without a NIC in the subnet. */
  nodes: readonly Node[]
  close: () => void
}

export function Inspector({ subnet, node, nodes, close }: InspectorProps) {
  const { t } = useUi()
  if (subnet) return <Frame close={close}>{<SubnetFacts subnet={subnet} nodes={nodes} />}</Frame>
  if (node) return <Frame close={close}>{<NodeFacts node={node} />}</Frame>
  return (
    <Panel title={t('topology.selected')}>
      <EmptyState kind="empty" title={t('topology.select')} text={t('topology.selectText')} />
    </Panel>
  )
}

function Frame({ close, children }: { close: () => void; children: ComponentChildren }) {
  const { t } = useUi()
  return (
    <Panel
      title={t('topology.selected')}
      right={
        <button type="button" class="btn small ghost" aria-label={t('app.close')} onClick={close}>
          <Icon name="x" size={14} />
        </button>
      }
    >
      <div class="inspector">{children}</div>
    </Panel>
  )
}

function SubnetFacts({ subnet, nodes }: { subnet: Subnet; nodes: readonly Node[] }) {
  const { t, language } = useUi()
  const { network, subnetId, networkId, networkName, mtu, gateway, attachments } = subnet
  const [title = '', ...more] = subnetTexts(subnet)
  const capacity = hostCapacity(network)
  const percentUsed = capacity ? Math.min(100, (100 * attachments.length) / capacity) : 0
  const attached = new Set(attachments.map(({ node }) => node.key))
  const absent = nodes.filter(({ key }) => !attached.has(key))
  const names = nicRange([...new Set(attachments.map(({ nic }) => nic.name))])
  const sources = [...new Set(attachments.map(({ nic }) => nic.source).filter(Boolean))]
  const problems = attachments.filter(({ nic }) => nic.severity !== 'configured' && nic.severity !== 'inProgress')
  return (
    <>
      <div>
        <h3 class="mono">{title}</h3>
        {more.length > 0 && (
          <p class="mono dim" title={subnetId}>
            {more.join(' · ')}
          </p>
        )}
      </div>
      <FactList
        facts={[
          [
            t('topology.nics'),
            t('topology.nicsOn', {
              nics: t('count.nics', { n: count(attachments.length, language) }),
              nodes: t('count.nodes', { n: count(attached.size, language) }),
            }),
          ],
          [t('topology.names'), names],
          [t('nic.mtu'), mtu],
          [t('nic.gateway'), gateway],
          [t('nic.network'), networkName || (networkId && shortId(networkId))],
          [t('nic.source'), sources.length === 1 ? sources[0] : sources.length || undefined],
          [
            t('topology.used'),
            capacity &&
              t('topology.usedOf', { n: count(attachments.length, language), all: count(capacity, language) }),
          ],
        ]}
      />
      {capacity !== undefined && (
        <svg class="segment-bar" viewBox="0 0 100 6" preserveAspectRatio="none" aria-hidden="true">
          <rect class="bar-background" width="100" height="6" />
          <rect class="bar-accent" width={Math.max(0.6, percentUsed)} height="6" />
        </svg>
      )}
      <StateCounts nics={attachments.map(({ nic }) => nic)} />
      {problems.length > 0 && (
        <div>
          <h4>{t('topology.problems')}</h4>
          <ul>
            {problems.slice(0, 12).map(({ node, nic }) => (
              <li key={`${node.key} ${nic.name}`}>
                <a href={linkToNode(node, nic.name)}>
                  <Glyph severity={nic.severity} />
                  <span class="mono">{node.nodeName}</span>
                  <span class="at-end">{pendingText(nic, t) || causeOf(nic).reason || nic.name}</span>
                </a>
              </li>
            ))}
          </ul>
        </div>
      )}
      {absent.length > 0 && (
        <div>
          <h4>{t('topology.absent', { n: count(absent.length, language) })}</h4>
          <ul>
            {absent.slice(0, maxAbsent).map(node => (
              <li key={node.key}>
                <a href={linkToNode(node)}>
                  <Glyph severity="none" />
                  <span class="mono">{node.nodeName}</span>
                  <span class="at-end">{t('topology.noPort')}</span>
                </a>
              </li>
            ))}
          </ul>
        </div>
      )}
      <a class="btn" href={linkTo('matrix', { subnet: subnet.key })}>
        {t('topology.openMatrix')}
      </a>
    </>
  )
}

function NodeFacts({ node }: { node: Node }) {
  const { t } = useUi()
  return (
    <>
      <h3 class="mono">{node.nodeName}</h3>
      <FactList
        facts={[
          [t('node.vm'), node.instanceName || shortId(node.instanceId)],
          [t('overview.provider'), providerText(node, 12)],
          [t('node.providerId'), node.providerName && shortId(node.providerId, 12)],
        ]}
      />
      <ul>
        {node.nics.map(nic => (
          <li key={nic.name}>
            <a href={linkToNode(node, nic.name)}>
              <Glyph severity={nic.severity} />
              <span class="mono">{nic.name}</span>
              <span class="at-end mono">{nic.address}</span>
            </a>
            <p class="nic-note">
              {pendingText(nic, t)} <ObservationAge nic={nic} />
            </p>
          </li>
        ))}
      </ul>
      <a class="btn" href={linkToNode(node)}>
        {t('topology.openNode')}
      </a>
    </>
  )
}

function StateCounts({ nics }: { nics: readonly Nic[] }) {
  const { t, language } = useUi()
  return (
    <div>
      <h4>{t('topology.states')}</h4>
      <ul class="states">
        {severities
          .map(severity => ({ severity, n: nics.filter(nic => nic.severity === severity).length }))
          .filter(({ n }) => n > 0)
          .map(({ severity, n }) => (
            <li key={severity}>
              <SeverityLabel severity={severity} />
              <span class="at-end">{count(n, language)}</span>
            </li>
          ))}
      </ul>
    </div>
  )
}
