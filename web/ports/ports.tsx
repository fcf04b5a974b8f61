/**
 * Every port that the operator decided about: its verdict, VM, subnet, NIC and state, worst first.
 */
import { useEffect, useMemo, useState } from 'preact/hooks'
import type { OperatorVerdict } from '../../src/contract/operator-api.ts'
import { type Port, portMatches, portStates, portsOf } from '../model/ports.ts'
import { providerNamesOf } from '../model/providers.ts'
import { allVerdicts, saveCsv } from '../state/api.ts'
import { linkTo } from '../state/route.ts'
import { useUi } from '../ui/context.ts'
import { CsvButton, FilterInput, ProviderFilter } from '../ui/controls.tsx'
import { EmptyState } from '../ui/empty-state.tsx'
import { count } from '../ui/format.ts'
import { Glyph } from '../ui/glyph.tsx'
import { Panel } from '../ui/panel.tsx'
import { PortTable, portStateText } from './port-table.tsx'

const pageSize = 300
/** A verdict on a port that is no NIC changes without an entry in the history. */
const readAgainMs = 60_000

export function Ports() {
  const { t, explain, data, route, language } = useUi()
  const { q = '', reason = '', state = '', provider = '' } = route.query
  const [shown, setShown] = useState(pageSize)
  const verdicts = useAllVerdicts()
  const all = useMemo(
    () => portsOf(verdicts ?? [], data.nodes).filter(port => !provider || port.providerId === provider),
    [verdicts, data.nodes, provider],
  )
  const matching = useMemo(() => all.filter(port => q === '' || portMatches(port, q)), [all, q])
  const rows = matching.filter(port => (!reason || port.verdict === reason) && (!state || port.state === state))
  const providers = useMemo(() => providerNamesOf(data.nodes), [data.nodes])
  const setQuery = (change: Record<string, string>) => location.replace(linkTo('ports', { ...route.query, ...change }))
  const save = () =>
    saveCsv(
      [
        [
          'port',
          'vm',
          'node',
          'subnet',
          'interface',
          'address',
          'state',
          'verdict',
          'reason',
          'message',
          'remedy',
          'config',
        ],
        ...rows.map(({ portId, vm, node, nic, verdict, cause, config, ...port }) => [
          ...[portId, vm, node?.nodeName ?? '', nic?.subnetName || nic?.subnetId || '', nic?.name ?? ''],
          ...[nic?.address ?? '', portStateText(port.state, t), verdict, cause.reason, cause.message],
          ...[explain(cause).remedy, config],
        ]),
      ],
      'ports.csv',
    )
  return (
    <>
      <div class="head">
        <h1>{t('screen.ports')}</h1>
        <span class="sub">{all.length > 0 && t('ports.counts', countsOf(all, language))}</span>
        <div class="right">
          {rows.length > 0 && <CsvButton save={save} />}
          <ProviderFilter providers={providers} value={provider} onChoose={value => setQuery({ provider: value })} />
        </div>
      </div>
      {all.length > 0 && <Filters matching={matching} setQuery={setQuery} />}
      <Panel>
        {all.length === 0 && data.verdicts === undefined ? (
          <EmptyState
            kind="empty"
            title={t('ports.unavailable')}
            text={t('ports.unavailableText')}
            code="kubectl multinic doctor"
          />
        ) : rows.length === 0 ? (
          <EmptyState
            kind={all.length === 0 ? 'empty' : 'noMatch'}
            title={t(all.length === 0 ? 'ports.none' : 'ports.noMatch')}
            text={t('ports.noneText')}
          />
        ) : (
          <PortTable rows={rows.slice(0, shown)} />
        )}
        {rows.length > shown && (
          <button type="button" class="more" onClick={() => setShown(shown + pageSize)}>
            {t('history.more', { n: count(shown, language), all: count(rows.length, language) })}
          </button>
        )}
      </Panel>
    </>
  )
}

/** Undefined until the first answer, and without an operator. */
function useAllVerdicts(): readonly OperatorVerdict[] | undefined {
  const { data } = useUi()
  const [found, setFound] = useState<readonly OperatorVerdict[]>()
  const newest = data.recent[0]?.id
  useEffect(() => {
    const read = () => void allVerdicts().then(setFound, () => {})
    read()
    const timer = setInterval(read, readAgainMs)
    return () => clearInterval(timer)
  }, [newest, data.verdicts])
  return found ?? data.verdicts
}

interface FiltersProps {
  matching: readonly Port[]
  setQuery: (change: Record<string, string>) => void
}

/** Chips by state and by verdict, only those that occur. */
function Filters({ matching, setQuery }: FiltersProps) {
  const { t, route, language } = useUi()
  const { q = '', reason = '', state = '' } = route.query
  const byState = Map.groupBy(matching, port => port.state)
  const byVerdict = [...Map.groupBy(matching, port => port.verdict)].sort(([, a], [, b]) => b.length - a.length)
  return (
    <div class="filters open">
      <div class="bar">
        <FilterInput label={t('ports.filter')} value={q} onChange={value => setQuery({ q: value })} />
        <button
          type="button"
          class="chip"
          aria-pressed={reason === '' && state === ''}
          onClick={() => setQuery({ reason: '', state: '' })}
        >
          {t('app.all')} <b>{count(matching.length, language)}</b>
        </button>
        {portStates.map(each => {
          const { length } = byState.get(each) ?? []
          if (length === 0 && state !== each) return null
          return (
            <button
              key={each}
              type="button"
              class="chip"
              aria-pressed={state === each}
              onClick={() => setQuery({ state: state === each ? '' : each })}
            >
              <Glyph severity={each === 'ignored' || each === 'unmanaged' ? 'none' : each} />
              {portStateText(each, t)} <b>{count(length, language)}</b>
            </button>
          )
        })}
      </div>
      <div class="bar">
        {byVerdict.map(([name, ports]) => (
          <button
            key={name}
            type="button"
            class="chip"
            aria-pressed={reason === name}
            onClick={() => setQuery({ reason: reason === name ? '' : name })}
          >
            {name || '–'} <b>{count(ports.length, language)}</b>
          </button>
        ))}
      </div>
    </div>
  )
}

function countsOf(ports: readonly Port[], language: ReturnType<typeof useUi>['language']): Record<string, string> {
  const of = (isCounted: (port: Port) => boolean) => count(ports.filter(isCounted).length, language)
  return {
    ports: count(ports.length, language),
    nics: of(({ nic }) => nic !== undefined),
    ignored: of(({ state }) => state === 'ignored'),
    unmanaged: of(({ state }) => state === 'unmanaged'),
  }
}
