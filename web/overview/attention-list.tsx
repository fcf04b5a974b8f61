/**
 * The NICs that need attention, worst first, each with its cause and a link; then those that nobody has verified in time, and
 * those in progress.
 */
import { useMemo } from 'preact/hooks'
import { attentionOf, causeOf, type Nic, type Node, severities } from '../model/nodes.ts'
import { unverifiedIn } from '../model/observations.ts'
import { linkTo, linkToNode } from '../state/route.ts'
import { useUi } from '../ui/context.ts'
import { EmptyState } from '../ui/empty-state.tsx'
import { age, clock, count, exact } from '../ui/format.ts'
import { Glyph } from '../ui/glyph.tsx'
import { ObservationAge, pendingText } from '../ui/observation.tsx'
import { Badge, Icon, Panel } from '../ui/panel.tsx'

interface Item {
  node: Node
  nic: Nic
  since: string
}

const maxListed = 7
const minWaiting = 3

export function AttentionList({ nodes, nics }: { nodes: readonly Node[]; nics: number }) {
  const { t, explain, now, language, route } = useUi()
  const items = useMemo(() => worstFirst(attentionOf(nodes)), [nodes])
  const unverified = useMemo(() => unverifiedIn(nodes, now), [nodes, now])
  const waiting = useMemo(() => {
    const listed = new Set(items.map(({ nic }) => nic))
    const active = nodes.flatMap(node => node.nics.map(nic => ({ node, nic })))
    return worstFirst(active.filter(({ nic }) => nic.severity !== 'configured' && !listed.has(nic)))
  }, [nodes, items])
  const free = Math.max(minWaiting, maxListed - items.length)
  return (
    <Panel
      title={t('overview.needsAttention')}
      badge={items.length > 0 && <Badge tone="bad">{count(items.length, language)}</Badge>}
      right={<span class="desktop-only">{t('overview.worstFirst')}</span>}
    >
      {items.length === 0 && unverified.length === 0 && (
        <EmptyState
          kind="allClear"
          title={t('overview.allClear')}
          text={t('overview.allClearText', { nics: t('count.nics', { n: count(nics, language) }) })}
        />
      )}
      <ul class="attention-list">
        {items.slice(0, maxListed).map(({ node, nic, since }) => (
          <li key={`${node.key} ${nic.name}`}>
            <Glyph severity={nic.severity} />
            <div>
              <p class="title">
                {node.nodeName} {nic.name} · {causeOf(nic).reason || t(`severity.${nic.severity}`)}
              </p>
              <p class="description">{descriptionOf(nic)}</p>
            </div>
            <div class="actions">
              <span class="age" title={exact(since, language)}>
                {age(since, now, t)}
              </span>
              <a class="btn small" href={linkToNode(node, nic.name)}>
                {t(nic.severity === 'drifted' ? 'overview.compare' : 'overview.openNode')}
              </a>
            </div>
          </li>
        ))}
        {unverified[0] && (
          <li>
            <Icon name="clock" />
            <div>
              <p class="title">{t('observation.count', { n: count(unverified.length, language) })}</p>
              <p class="description">
                {t('observation.countText', { time: clock(unverified[0].since, now, language) })}
              </p>
            </div>
            <div class="actions">
              <a class="btn small" href={linkTo('matrix', { provider: route.query['provider'], unverified: '1' })}>
                {t('observation.show')}
              </a>
            </div>
          </li>
        )}
      </ul>
      {waiting.length > 0 && (
        <>
          <h3 class="subhead">
            {t('pending.title')} <span class="dim">{count(waiting.length, language)}</span>
          </h3>
          <ul class="waiting-list">
            {waiting.slice(0, free).map(({ node, nic }) => (
              <li key={`${node.key} ${nic.name}`}>
                <Glyph severity={nic.severity} />
                <a href={linkToNode(node, nic.name)}>
                  {node.nodeName} {nic.name}
                </a>
                <span class="dim">{pendingText(nic, t) || causeOf(nic).reason || t(`severity.${nic.severity}`)}</span>
                <span class="dim at-end">
                  <ObservationAge nic={nic} />
                </span>
              </li>
            ))}
          </ul>
        </>
      )}
      {items.length > maxListed && (
        <a class="more" href={linkTo('deviations')}>
          {t('overview.showAll', { n: count(items.length, language) })}
          <Icon name="right" size={12} />
        </a>
      )}
    </Panel>
  )

  /** The cause leads; of a NIC that drifted, the difference is the cause. */
  function descriptionOf(nic: Nic): string {
    const cause = causeOf(nic)
    const text = explain(cause).meaning || cause.message || cause.remedy
    return nic.severity === 'drifted' || text === '' ? differenceText(nic) || text : text
  }
}

function worstFirst(nics: readonly { node: Node; nic: Nic }[]): Item[] {
  return nics
    .map(({ node, nic }) => ({ node, nic, since: node.updatedAt }))
    .sort(
      (a, b) => severities.indexOf(a.nic.severity) - severities.indexOf(b.nic.severity) || (a.since < b.since ? 1 : -1),
    )
}

function differenceText({ differences }: Pick<Nic, 'differences'>): string {
  return differences.map(({ field, wanted, observed }) => `${field} ${observed} ≠ ${wanted}`).join(' · ')
}
