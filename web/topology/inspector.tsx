/**
 * What is known of the subnet or the node that was chosen in the topology.
 */
import type { ComponentChildren } from 'preact'
import { nicRange } from '../model/diff.ts'
import { looks, type Nic, type Node } from '../model/nodes.ts'
import { capacityOf, type Subnet } from '../model/subnets.ts'
import { linkTo, linkToNode } from '../state/route.ts'
import { count, shortId } from '../ui/format.ts'
import { Glyph } from '../ui/glyph.tsx'
import { Blank, Facts, Icon, Panel, StateWord, useUi } from '../ui/ui.tsx'

const mostAbsent = 4

interface InspectorProps {
  subnet: Subnet | undefined
  node: Node | undefined
  /** Of the provider, with and without a NIC there. */
  nodes: readonly Node[]
  close: () => void
}

export function Inspector({ subnet, node, nodes, close }: InspectorProps) {
  const { say } = useUi()
  if (subnet) return <Frame close={close}>{<SubnetFacts subnet={subnet} nodes={nodes} />}</Frame>
  if (node) return <Frame close={close}>{<NodeFacts node={node} />}</Frame>
  return (
    <Panel title={say('topology.selected')}>
      <Blank kind="empty" title={say('topology.pick')} text={say('topology.pickText')} />
    </Panel>
  )
}

function Frame({ close, children }: { close: () => void; children: ComponentChildren }) {
  const { say } = useUi()
  return (
    <Panel
      title={say('topology.selected')}
      right={
        <button type="button" class="btn sm ghost" aria-label={say('app.close')} onClick={close}>
          <Icon name="x" size={14} />
        </button>
      }
    >
      <div class="insp">{children}</div>
    </Panel>
  )
}

function SubnetFacts({ subnet, nodes }: { subnet: Subnet; nodes: readonly Node[] }) {
  const { say, language } = useUi()
  const { network, subnetId, networkId, mtu, gateway, links } = subnet
  const all = capacityOf(network)
  const share = all ? Math.min(100, (100 * links.length) / all) : 0
  const here = new Set(links.map(({ node }) => node.key))
  const absent = nodes.filter(({ key }) => !here.has(key))
  const names = nicRange([...new Set(links.map(({ nic }) => nic.name))])
  const sources = [...new Set(links.map(({ nic }) => nic.source).filter(Boolean))]
  const wrong = links.filter(({ nic }) => nic.look !== 'ok' && nic.look !== 'prog')
  return (
    <>
      <div>
        <h3 class="mono">{network}</h3>
        {subnetId && <p class="mono dim">{shortId(subnetId)}</p>}
      </div>
      <Facts
        facts={[
          [
            say('topology.here'),
            say('topology.nicsOn', {
              nics: say('many.nics', { n: count(links.length, language) }),
              nodes: say('many.nodes', { n: count(here.size, language) }),
            }),
          ],
          [say('topology.number'), names],
          [say('nic.mtu'), mtu],
          [say('nic.gateway'), gateway],
          [say('nic.network'), networkId && shortId(networkId)],
          [say('nic.source'), sources.length === 1 ? sources[0] : sources.length || undefined],
          [
            say('topology.used'),
            all && say('topology.usedOf', { n: count(links.length, language), all: count(all, language) }),
          ],
        ]}
      />
      {all !== undefined && (
        <svg class="segbar" viewBox="0 0 100 6" preserveAspectRatio="none" aria-hidden="true">
          <rect class="b-bg" width="100" height="6" />
          <rect class="b-acc" width={Math.max(0.6, share)} height="6" />
        </svg>
      )}
      <States nics={links.map(({ nic }) => nic)} />
      {wrong.length > 0 && (
        <div>
          <h4>{say('topology.lookAt')}</h4>
          <ul>
            {wrong.slice(0, 12).map(({ node, nic }) => (
              <li key={`${node.key} ${nic.name}`}>
                <a href={linkToNode(node, nic.name)}>
                  <Glyph look={nic.look} />
                  <span class="mono">{node.nodeName}</span>
                  <span class="r">{nic.reason || nic.name}</span>
                </a>
              </li>
            ))}
          </ul>
        </div>
      )}
      {absent.length > 0 && (
        <div>
          <h4>{say('topology.absent', { n: count(absent.length, language) })}</h4>
          <ul>
            {absent.slice(0, mostAbsent).map(node => (
              <li key={node.key}>
                <a href={linkToNode(node)}>
                  <Glyph look="none" />
                  <span class="mono">{node.nodeName}</span>
                  <span class="r">{say('topology.noPort')}</span>
                </a>
              </li>
            ))}
          </ul>
        </div>
      )}
      <a class="btn" href={linkTo('matrix', { subnet: subnet.key })}>
        {say('topology.inMatrix')}
      </a>
    </>
  )
}

function NodeFacts({ node }: { node: Node }) {
  const { say } = useUi()
  return (
    <>
      <h3 class="mono">{node.nodeName}</h3>
      <Facts
        facts={[
          [say('node.vm'), shortId(node.instanceId)],
          [say('overview.provider'), shortId(node.providerId, 12)],
        ]}
      />
      <ul>
        {node.nics.map(nic => (
          <li key={nic.name}>
            <a href={linkToNode(node, nic.name)}>
              <Glyph look={nic.look} />
              <span class="mono">{nic.name}</span>
              <span class="r mono">{nic.address}</span>
            </a>
          </li>
        ))}
      </ul>
      <a class="btn" href={linkToNode(node)}>
        {say('topology.openNode')}
      </a>
    </>
  )
}

function States({ nics }: { nics: readonly Nic[] }) {
  const { say, language } = useUi()
  return (
    <div>
      <h4>{say('topology.states')}</h4>
      <ul class="states">
        {looks
          .map(look => ({ look, n: nics.filter(nic => nic.look === look).length }))
          .filter(({ n }) => n > 0)
          .map(({ look, n }) => (
            <li key={look}>
              <StateWord look={look} />
              <span class="r">{count(n, language)}</span>
            </li>
          ))}
      </ul>
    </div>
  )
}
