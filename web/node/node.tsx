/**
 * The page of one node: its NICs and subnets, the pipeline with remedies, requested and observed values, the timeline.
 */
import { useMemo } from 'preact/hooks'
import { checkCommand, reconcileCommand } from '../model/commands.ts'
import { nodeKey, severities } from '../model/nodes.ts'
import { providerOf } from '../model/providers.ts'
import { NodePorts } from '../ports/node-ports.tsx'
import { isInHistory } from '../state/api.ts'
import { useOutcome } from '../state/holders.ts'
import { linkTo, linkToNode } from '../state/route.ts'
import { useUi } from '../ui/context.ts'
import { CopyButton } from '../ui/controls.tsx'
import { EmptyState } from '../ui/empty-state.tsx'
import { age, count, exact, providerText, providerTitle, shortId } from '../ui/format.ts'
import { Glyph } from '../ui/glyph.tsx'
import { Badge, Icon, Panel, tones } from '../ui/panel.tsx'
import { Compare } from './compare.tsx'
import { NodePicture } from './picture.tsx'
import { Pipeline } from './pipeline.tsx'
import { Timeline } from './timeline.tsx'

/** Finds a node by its name. Asks for the provider only if several providers have a node of this name. */
export function NodeByName({ providerId, nodeName }: { providerId: string | undefined; nodeName: string }) {
  const { t, data } = useUi()
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
          <EmptyState
            kind="choice"
            title={t('node.ambiguous', { n: same.length, node: nodeName })}
            text={t('node.ambiguousText')}
          >
            {same.map(node => (
              <a key={node.key} class="btn" href={linkToNode(node)} title={providerTitle(node)}>
                {providerText(node)}
              </a>
            ))}
          </EmptyState>
        ) : (
          data.complete && <NotFound nodeName={nodeName} />
        )}
      </Panel>
    </>
  )
}

/** Says that the node was removed only if the history has it. */
function NotFound({ nodeName }: { nodeName: string }) {
  const { t } = useUi()
  const { answer, error = '' } = useOutcome(nodeName, isInHistory, 0) ?? {}
  const text = answer === undefined ? error : t(answer ? 'node.wasRemoved' : 'node.wasNeverKnown')
  return <EmptyState kind="noMatch" title={t('node.notFound', { node: nodeName })} text={text} />
}

function NodePage({ providerId, nodeName }: { providerId: string; nodeName: string }) {
  const { t, data, route, now, language } = useUi()
  const key = nodeKey(providerId, nodeName)
  const node = useMemo(() => data.nodes.find(each => each.key === key), [data.nodes, key])
  const counts = severities.map(severity => ({
    severity,
    n: node?.nics.filter(nic => nic.severity === severity).length ?? 0,
  }))
  const nics = node?.nics ?? []
  const provider = providerOf(data.nodes, providerId)
  const reconcile = reconcileCommand(nics.find(({ source }) => source)?.source ?? '')
  const check = checkCommand({ providerId, nodeName })
  return (
    <>
      <div class="head">
        <nav class="breadcrumb" aria-label={t('overview.provider')}>
          <a href={linkTo('matrix', { provider: providerId })} title={providerTitle(provider)}>
            {providerText(provider, 12)}
          </a>
          <Icon name="right" size={12} />
        </nav>
        <h1>{nodeName}</h1>
        {counts
          .filter(({ n, severity }) => n > 0 && (severity !== 'configured' || n === nics.length))
          .map(({ severity, n }) => (
            <Badge key={severity} tone={tones[severity]}>
              <Glyph severity={severity} />
              {t(`count.${severity}`, { n: count(n, language) })}
            </Badge>
          ))}
        {node && (
          <div class="right dim">
            <span class="desktop-only" title={node.instanceId}>
              {t('node.vm')} <span class="mono">{node.instanceName || shortId(node.instanceId)}</span>
            </span>
            <span title={exact(node.updatedAt, language)}>
              {t('node.updated', { age: age(node.updatedAt, now, t) })}
            </span>
            {check && <CopyButton text={check} label={t('node.copyCheck')} />}
            {reconcile && <CopyButton text={reconcile} label={t('node.copyReconcile')} icon="retry" />}
          </div>
        )}
      </div>
      {!node && data.complete && (
        <Panel>
          <NotFound nodeName={nodeName} />
        </Panel>
      )}
      {node && nics.length === 0 && (
        <Panel>
          <EmptyState kind="empty" title={t('node.empty')} text={t('node.emptyText')} />
        </Panel>
      )}
      {node && nics.length > 0 && (
        <>
          <NodePicture node={node} chosen={route.query['nic']} />
          <Pipeline node={node} chosen={route.query['nic']} />
        </>
      )}
      <div class={nics.length > 0 ? 'cols wide-left top' : 'cols'}>
        {node && nics.length > 0 && <Compare node={node} chosen={route.query['nic']} />}
        <Timeline providerId={providerId} nodeName={nodeName} version={node?.updatedAt ?? ''} />
      </div>
      {node && <NodePorts node={node} />}
    </>
  )
}
