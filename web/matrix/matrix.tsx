/**
 * Which of all nodes are not right? Nodes by NIC number, worst first.
 */
import { useMemo, useState } from 'preact/hooks'
import { byName, countsOf, looks, newestFirst, nodeHas, worstFirst } from '../model/nodes.ts'
import { subnetKey } from '../model/subnets.ts'
import { downloadCsv } from '../state/api.ts'
import { linkTo } from '../state/route.ts'
import { count, shortId } from '../ui/format.ts'
import { Blank, CsvButton, Panel, Segmented, useUi } from '../ui/ui.tsx'
import { MatrixFilters, spans } from './filters.tsx'
import { type Density, MatrixGrid, type Order } from './grid.tsx'

const orders = { worst: worstFirst, name: byName, changed: newestFirst } as const

export function Matrix() {
  const { say, data, route, language, now } = useUi()
  const { provider, look, subnet, changed = '', q = '', order: asked } = route.query
  const since = changed in spans ? now - (spans[changed as keyof typeof spans] ?? 0) : undefined
  const order: Order = asked === 'name' || asked === 'changed' ? asked : 'worst'
  const [density, setDensity] = useState<Density>('standard')

  const among = useMemo(
    () =>
      data.nodes
        .filter(
          node =>
            (!provider || node.providerId === provider) &&
            (!subnet || node.nics.some(nic => subnetKey(nic) === subnet)),
        )
        .filter(node => since === undefined || Date.parse(node.updatedAt) >= since)
        .filter(node => q === '' || nodeHas(node, q)),
    [data.nodes, provider, subnet, since, q],
  )
  const nodes = useMemo(() => {
    const chosen = looks.find(each => each === look)
    return among.filter(node => !chosen || node.nics.some(nic => nic.look === chosen)).sort(orders[order])
  }, [among, look, order])
  const counts = useMemo(() => countsOf(among), [among])
  const ask = (change: Record<string, string | undefined>) => {
    location.replace(linkTo('matrix', { ...route.query, ...change }))
  }

  return (
    <>
      <div class="head">
        <h1>{say('screen.matrix')}</h1>
        <span class="sub">
          {provider && `${shortId(provider, 18)} · `}
          {say('many.nodes', { n: count(nodes.length, language) })} ·{' '}
          {say('many.nics', { n: count(counts.nics, language) })}
        </span>
        <div class="right">
          <Segmented<Density>
            label={say('matrix.density')}
            value={density}
            choices={(['roomy', 'standard', 'tight'] as const).map(value => ({ value, label: say(`matrix.${value}`) }))}
            onChoose={setDensity}
          />
          <CsvButton save={() => void downloadCsv({ providerId: provider, at: route.asof })} />
        </div>
      </div>
      <MatrixFilters counts={counts} ask={ask} />
      <Panel class="fill">
        {nodes.length === 0 ? (
          <Blank
            kind="search"
            title={say('matrix.none')}
            text={say('matrix.noneText', { nodes: say('many.nodes', { n: data.nodes.length }) })}
          >
            <a class="btn" href={linkTo('matrix')}>
              {say('matrix.clear')}
            </a>
          </Blank>
        ) : (
          <MatrixGrid nodes={nodes} order={order} ask={ask} density={density} />
        )}
      </Panel>
    </>
  )
}
