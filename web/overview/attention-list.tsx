/**
 * The NICs that need attention, worst first, each with its reason and a link.
 */
import { useMemo } from 'preact/hooks'
import { attentionOf, type Nic, type Node, severities } from '../model/nodes.ts'
import { linkTo, linkToNode } from '../state/route.ts'
import { useUi } from '../ui/context.ts'
import { EmptyState } from '../ui/empty-state.tsx'
import { age, count, exact } from '../ui/format.ts'
import { Glyph } from '../ui/glyph.tsx'
import { Badge, Icon, Panel } from '../ui/panel.tsx'

interface Item {
  node: Node
  nic: Nic
  since: string
}

const maxListed = 7

export function AttentionList({ nics }: { nics: number }) {
  const { t, explain, data, now, language } = useUi()
  const items = useMemo(() => {
    const found = attentionOf(data.nodes).map(({ node, nic }): Item => ({ node, nic, since: node.updatedAt }))
    return found.sort(
      (a, b) => severities.indexOf(a.nic.severity) - severities.indexOf(b.nic.severity) || (a.since < b.since ? 1 : -1),
    )
  }, [data.nodes])
  return (
    <Panel
      title={t('overview.needsAttention')}
      badge={items.length > 0 && <Badge tone="bad">{count(items.length, language)}</Badge>}
      right={<span class="desktop-only">{t('overview.worstFirst')}</span>}
    >
      {items.length === 0 && (
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
                {node.nodeName} {nic.name} · {nic.reason || t(`severity.${nic.severity}`)}
              </p>
              <p class="description">
                {nic.differences[0] ? differenceText(nic) : explain(nic).meaning || nic.message || nic.remedy}
              </p>
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
      </ul>
      {items.length > maxListed && (
        <a class="more" href={linkTo('deviations')}>
          {t('overview.showAll', { n: count(items.length, language) })}
          <Icon name="right" size={12} />
        </a>
      )}
    </Panel>
  )
}

function differenceText({ differences }: Pick<Nic, 'differences'>): string {
  return differences.map(({ field, wanted, observed }) => `${field} ${observed} ≠ ${wanted}`).join(' · ')
}
