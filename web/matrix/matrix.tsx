/**
 * The matrix: all nodes by interface index, worst first, with filters.
 */
import { useMemo, useState } from 'preact/hooks'
import { countsOf, nodeMatches, severities } from '../model/nodes.ts'
import { unverifiedIn } from '../model/observations.ts'
import { byName, newestFirst, worstFirst } from '../model/order.ts'
import { providerOf } from '../model/providers.ts'
import { subnetKey } from '../model/subnets.ts'
import { downloadCsv } from '../state/api.ts'
import { linkTo } from '../state/route.ts'
import { useUi } from '../ui/context.ts'
import { CsvButton, Segmented } from '../ui/controls.tsx'
import { EmptyState } from '../ui/empty-state.tsx'
import { count, providerText } from '../ui/format.ts'
import { Panel } from '../ui/panel.tsx'
import { changedWithin, MatrixFilters } from './filters.tsx'
import { type Density, MatrixGrid, type Order } from './grid.tsx'

const orders = { worst: worstFirst, name: byName, changed: newestFirst } as const

export function Matrix() {
  const { t, data, route, language, now } = useUi()
  const { provider, severity, subnet, changed = '', q = '', order: orderName, unverified } = route.query
  const since = changed in changedWithin ? now - (changedWithin[changed as keyof typeof changedWithin] ?? 0) : undefined
  const order: Order = orderName === 'name' || orderName === 'changed' ? orderName : 'worst'
  const [density, setDensity] = useState<Density>('standard')

  const matching = useMemo(
    () =>
      data.nodes
        .filter(
          node =>
            (!provider || node.providerId === provider) &&
            (!subnet || node.nics.some(nic => subnetKey(nic) === subnet)),
        )
        .filter(node => since === undefined || Date.parse(node.updatedAt) >= since)
        .filter(node => q === '' || nodeMatches(node, q)),
    [data.nodes, provider, subnet, since, q],
  )
  const old = useMemo(() => unverifiedIn(matching, now), [matching, now])
  const nodes = useMemo(() => {
    const chosen = severities.find(each => each === severity)
    const isOld = unverified ? new Set(old.map(({ node }) => node)) : undefined
    return matching
      .filter(node => (!chosen || node.nics.some(nic => nic.severity === chosen)) && (!isOld || isOld.has(node)))
      .sort(orders[order])
  }, [matching, severity, order, unverified, old])
  const counts = useMemo(() => countsOf(matching), [matching])
  const setQuery = (change: Record<string, string | undefined>) => {
    location.replace(linkTo('matrix', { ...route.query, ...change }))
  }

  return (
    <>
      <div class="head">
        <h1>{t('screen.matrix')}</h1>
        <span class="sub">
          {provider && `${providerText(providerOf(data.nodes, provider))} · `}
          {t('count.nodes', { n: count(nodes.length, language) })} ·{' '}
          {t('count.nics', { n: count(counts.nics, language) })}
        </span>
        <div class="right">
          <Segmented<Density>
            label={t('matrix.density')}
            value={density}
            choices={(['comfortable', 'standard', 'compact'] as const).map(value => ({
              value,
              label: t(`matrix.${value}`),
            }))}
            onChoose={setDensity}
          />
          <CsvButton save={() => void downloadCsv({ providerId: provider, at: route.asof })} />
        </div>
      </div>
      <MatrixFilters counts={counts} unverified={old.length} setQuery={setQuery} />
      <Panel>
        {nodes.length === 0 ? (
          <EmptyState
            kind="noMatch"
            title={t('matrix.none')}
            text={t('matrix.noneText', { nodes: t('count.nodes', { n: data.nodes.length }) })}
          >
            <a class="btn" href={linkTo('matrix')}>
              {t('matrix.clear')}
            </a>
          </EmptyState>
        ) : (
          <MatrixGrid nodes={nodes} order={order} setQuery={setQuery} density={density} />
        )}
      </Panel>
    </>
  )
}
