/**
 * One node: what is wrong here, where it is stuck, what to do; what it was asked for beside what it has; what it was before.
 */
import { useMemo } from 'preact/hooks'
import { checkNow } from '../model/commands.ts'
import { looks, nodeKey } from '../model/nodes.ts'
import { NodePorts } from '../ports/ports.tsx'
import { linkTo, linkToNode } from '../state/route.ts'
import { age, count, exact, shortId } from '../ui/format.ts'
import { Glyph } from '../ui/glyph.tsx'
import { Badge, Blank, CopyButton, Icon, Panel, toneOf, useUi } from '../ui/ui.tsx'
import { Compare } from './compare.tsx'
import { NodePicture } from './picture.tsx'
import { Pipeline } from './pipeline.tsx'
import { Timeline } from './timeline.tsx'

/** By its name alone, as a person would type it: the provider is asked for only where there are two. */
export function NodeNamed({ providerId, nodeName }: { providerId: string | undefined; nodeName: string }) {
  const { say, data } = useUi()
  const same = useMemo(() => data.nodes.filter(node => node.nodeName === nodeName), [data.nodes, nodeName])
  const provider = providerId ?? (same.length > 1 ? undefined : same[0]?.providerId)
  if (provider !== undefined)
    return <NodePage key={`${provider} ${nodeName}`} providerId={provider} nodeName={nodeName} />
  return (
    <>
      <div class="head">
        <h1>{nodeName}</h1>
      </div>
      <Panel>
        {same.length > 1 ? (
          <Blank kind="two" title={say('node.two', { n: same.length, node: nodeName })} text={say('node.twoText')}>
            {same.map(node => (
              <a key={node.key} class="btn" href={linkToNode(node)} title={node.providerId}>
                {shortId(node.providerId, 18)}
              </a>
            ))}
          </Blank>
        ) : (
          data.complete && (
            <Blank kind="search" title={say('node.gone', { node: nodeName })} text={say('node.goneText')} />
          )
        )}
      </Panel>
    </>
  )
}

function NodePage({ providerId, nodeName }: { providerId: string; nodeName: string }) {
  const { say, data, route, now, language } = useUi()
  const key = nodeKey(providerId, nodeName)
  const node = useMemo(() => data.nodes.find(each => each.key === key), [data.nodes, key])
  const counts = looks.map(look => ({ look, n: node?.nics.filter(nic => nic.look === look).length ?? 0 }))
  const nics = node?.nics ?? []
  const check = checkNow(nics.find(({ source }) => source)?.source ?? '')
  return (
    <>
      <div class="head">
        <nav class="crumb" aria-label={say('overview.provider')}>
          <a href={linkTo('matrix', { provider: providerId })} title={providerId}>
            {shortId(providerId, 12)}
          </a>
          <Icon name="right" size={12} />
        </nav>
        <h1>{nodeName}</h1>
        {counts
          .filter(({ n, look }) => n > 0 && (look !== 'ok' || n === nics.length))
          .map(({ look, n }) => (
            <Badge key={look} tone={toneOf(look)}>
              <Glyph look={look} />
              {say(`many.${look}`, { n: count(n, language) })}
            </Badge>
          ))}
        {node && (
          <div class="right dim">
            <span class="hidem" title={node.instanceId}>
              {say('node.vm')} <span class="mono">{shortId(node.instanceId)}</span>
            </span>
            <span title={exact(node.updatedAt, language)}>
              {say('node.updated', { age: age(node.updatedAt, now, say) })}
            </span>
            {check && <CopyButton text={check} label={say('node.check')} icon="retry" />}
          </div>
        )}
      </div>
      {!node && data.complete && (
        <Panel>
          <Blank kind="search" title={say('node.gone', { node: nodeName })} text={say('node.goneText')} />
        </Panel>
      )}
      {node && nics.length === 0 && (
        <Panel>
          <Blank kind="empty" title={say('node.none')} text={say('node.noneText')} />
        </Panel>
      )}
      {node && nics.length > 0 && (
        <>
          <NodePicture node={node} chosen={route.query['nic']} />
          <Pipeline node={node} chosen={route.query['nic']} />
        </>
      )}
      <div class={nics.length > 0 ? 'cols a top' : 'cols'}>
        {node && nics.length > 0 && <Compare node={node} chosen={route.query['nic']} />}
        <Timeline providerId={providerId} nodeName={nodeName} mark={node?.updatedAt ?? ''} />
      </div>
      {node && <NodePorts node={node} />}
    </>
  )
}
