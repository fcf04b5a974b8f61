/**
 * One node: what is wrong here, where it is stuck, what to do; what it was asked for beside what it has; what it was before.
 */
import { useMemo } from 'preact/hooks'
import { age, count, exact, shortId } from './format.ts'
import { Compare } from './node-compare.tsx'
import { NodePicture } from './node-picture.tsx'
import { Pipeline } from './pipeline.tsx'
import { linkTo } from './route.ts'
import { Timeline } from './timeline.tsx'
import { Badge, Blank, Glyph, Icon, Panel, toneOf, useUi } from './ui.tsx'
import { looks, nodeKey } from './view.ts'

export function NodePage({ providerId, nodeName }: { providerId: string; nodeName: string }) {
  const { say, data, route, now, language } = useUi()
  const key = nodeKey(providerId, nodeName)
  const node = useMemo(() => data.nodes.find(each => each.key === key), [data.nodes, key])
  const counts = looks.map(look => ({ look, n: node?.nics.filter(nic => nic.look === look).length ?? 0 }))
  const nics = node?.nics ?? []
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
    </>
  )
}
