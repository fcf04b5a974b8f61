/**
 * The providers with their health and the number of NICs in each state.
 */
import { useMemo } from 'preact/hooks'
import { type Counts, countsOf, needsAttention, severities } from '../model/nodes.ts'
import type { Provider } from '../model/providers.ts'
import { openRolloutOf } from '../model/rollout.ts'
import { latencyOf } from '../model/stages.ts'
import { linkTo } from '../state/route.ts'
import { useUi } from '../ui/context.ts'
import { age, count, duration, providerText, providerTitle } from '../ui/format.ts'
import { Panel, SeverityLabel } from '../ui/panel.tsx'

export function ProviderTable({ providers }: { providers: readonly Provider[] }) {
  const { t, now, language } = useUi()
  const rows = useMemo(
    () =>
      providers.map(({ nodes, ...provider }) => ({
        ...{ provider, nodes, counts: countsOf(nodes), p95: latencyOf(nodes)?.p95 },
        changed: nodes.reduce((newest, { updatedAt }) => (updatedAt > newest ? updatedAt : newest), ''),
      })),
    [providers],
  )
  const columns: readonly [name: string, of: (counts: Counts) => number, tone: string][] = [
    [t('severity.configured'), counts => counts.configured, ''],
    [t('overview.notReady'), counts => counts.inProgress + counts.pending + counts.removing, 'accent'],
    [t('severity.failed'), counts => counts.failed, 'bad'],
    [t('severity.drifted'), counts => counts.drifted, 'warn'],
    [t('severity.onHold'), counts => counts.onHold, 'warn'],
  ]
  return (
    <Panel title={t('app.providers')} right={t('overview.byState')}>
      <div class="scroll-x">
        <table class="table rows tall provider-table">
          <thead>
            <tr>
              <th>{t('overview.provider')}</th>
              <th>{t('overview.health')}</th>
              {columns.map(([name]) => (
                <th key={name} class="number">
                  {name}
                </th>
              ))}
              <th class="number">p95</th>
              <th class="number">{t('overview.changed')}</th>
            </tr>
          </thead>
          <tbody>
            {rows.map(({ provider, nodes, counts, p95, changed }) => (
              <tr key={provider.providerId}>
                <td>
                  <a
                    class="two-lines"
                    href={linkTo('matrix', { provider: provider.providerId })}
                    title={providerTitle(provider)}
                  >
                    <b>{providerText(provider, 10)}</b>
                    <span>{t('count.nodes', { n: count(nodes.length, language) })}</span>
                  </a>
                  <Rollout nodes={nodes} />
                </td>
                <td>
                  <Health counts={counts} />
                </td>
                {columns.map(([name, of, tone]) => {
                  const n = of(counts)
                  return (
                    <td key={name} class={`number desktop-only ${n === 0 ? 'zero' : tone && `${tone} strong`}`}>
                      {count(n, language)}
                    </td>
                  )
                })}
                <td class="number desktop-only nowrap">{p95 === undefined ? '–' : duration(p95, t)}</td>
                <td class="number desktop-only nowrap dim">{age(changed, now, t)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </Panel>
  )
}

/** While nodes wait for a run of the current agent. */
function Rollout({ nodes }: { nodes: Provider['nodes'] }) {
  const { t, language } = useUi()
  const progress = useMemo(() => openRolloutOf(nodes), [nodes])
  if (!progress) return null
  const { reason = '', message = '', updated, waiting } = progress
  const numbers = { updated, nodes: progress.nodes, waiting }
  const texts = Object.fromEntries(Object.entries(numbers).map(([name, n]) => [name, count(n, language)]))
  return (
    <span class={reason === 'RolloutStopped' ? 'bad' : 'accent'} title={[reason, message].filter(Boolean).join(': ')}>
      {t('overview.rollout', texts)}
    </span>
  )
}

function Health({ counts }: { counts: Counts }) {
  const { t } = useUi()
  const problems = severities.filter(severity => needsAttention(severity) && counts[severity] > 0)
  const [worst] = problems
  if (worst)
    return (
      <SeverityLabel
        severity={worst}
        text={problems.map(severity => t(`count.${severity}`, { n: counts[severity] })).join(', ')}
      />
    )
  const active = (['pending', 'inProgress', 'removing'] as const).find(severity => counts[severity] > 0)
  if (active) return <SeverityLabel severity={active} text={t(`count.${active}`, { n: counts[active] })} />
  return <SeverityLabel severity="configured" text={t('overview.healthy')} />
}
