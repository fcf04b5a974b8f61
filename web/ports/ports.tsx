/**
 * The ports and VMs that the operator ignores, each with its reason and remedy.
 */
import { useMemo } from 'preact/hooks'
import type { OperatorVerdict } from '../../src/contract/operator-api.ts'
import { countsOf, type Node } from '../model/nodes.ts'
import { ignoredVerdicts, isVerdictOn, verdictMatches } from '../model/verdicts.ts'
import { saveCsv } from '../state/api.ts'
import { linkTo, linkToNode } from '../state/route.ts'
import { useUi } from '../ui/context.ts'
import { CsvButton, FilterInput } from '../ui/controls.tsx'
import { EmptyState } from '../ui/empty-state.tsx'
import { count, shortId } from '../ui/format.ts'
import { Badge, Panel } from '../ui/panel.tsx'

const maxRows = 300

export function Ports() {
  const { t, explain, data, route, language } = useUi()
  const { q = '', reason = '' } = route.query
  const all = useMemo(() => ignoredVerdicts(data.verdicts, data.nodes), [data.verdicts, data.nodes])
  const matching = useMemo(() => all.filter(verdict => q === '' || verdictMatches(verdict, q)), [all, q])
  const reasons = useMemo(
    () => [...Map.groupBy(matching, verdict => verdict.reason)].sort(([, a], [, b]) => b.length - a.length),
    [matching],
  )
  const rows = reason ? matching.filter(verdict => verdict.reason === reason) : matching
  const setQuery = (change: Record<string, string>) => location.replace(linkTo('ports', { ...route.query, ...change }))
  const selected = useMemo(() => countsOf(data.nodes).nics, [data.nodes])
  const save = () =>
    saveCsv(
      [
        ['port', 'vm', 'reason', 'message', 'remedy', 'config'],
        ...rows.map(verdict => [
          verdict.portId ?? '',
          verdict.vm,
          verdict.reason,
          verdict.message,
          explain(verdict).remedy,
          verdict.config,
        ]),
      ],
      'ignored-ports.csv',
    )
  return (
    <>
      <div class="head">
        <h1>{t('screen.ports')}</h1>
        <span class="sub">
          {data.verdicts &&
            t('ports.counts', { ignored: count(all.length, language), selected: count(selected, language) })}
        </span>
        {rows.length > 0 && (
          <div class="right">
            <CsvButton save={save} />
          </div>
        )}
      </div>
      {all.length > 0 && (
        <div class="bar">
          <FilterInput label={t('ports.filter')} value={q} onChange={value => setQuery({ q: value })} />
          <button type="button" class="chip" aria-pressed={reason === ''} onClick={() => setQuery({ reason: '' })}>
            {t('app.all')} <b>{count(matching.length, language)}</b>
          </button>
          {reasons.map(([name, verdicts]) => (
            <button
              key={name}
              type="button"
              class="chip"
              aria-pressed={reason === name}
              onClick={() => setQuery({ reason: reason === name ? '' : name })}
            >
              {name} <b>{count(verdicts.length, language)}</b>
            </button>
          ))}
        </div>
      )}
      <Panel>
        {data.verdicts === undefined ? (
          <EmptyState
            kind="empty"
            title={t('ports.unavailable')}
            text={t('ports.unavailableText')}
            code="kubectl multinic doctor"
          />
        ) : rows.length === 0 ? (
          <EmptyState
            kind={all.length === 0 ? 'allClear' : 'noMatch'}
            title={t(all.length === 0 ? 'ports.none' : 'ports.noMatch')}
            text={t('ports.noneText')}
          />
        ) : (
          <VerdictTable rows={rows.slice(0, maxRows)} nodes={data.nodes} />
        )}
      </Panel>
    </>
  )
}

/** The ignored ports of one node. Renders nothing if there are none. */
export function NodePorts({ node }: { node: Node }) {
  const { t, data, language } = useUi()
  const rows = useMemo(
    () => ignoredVerdicts(data.verdicts, data.nodes).filter(verdict => isVerdictOn(verdict, node)),
    [data.verdicts, data.nodes, node],
  )
  if (rows.length === 0) return null
  return (
    <Panel title={t('ports.title')} badge={<Badge>{count(rows.length, language)}</Badge>} right={t('ports.note')}>
      <VerdictTable rows={rows} />
    </Panel>
  )
}

function VerdictTable({ rows, nodes }: { rows: readonly OperatorVerdict[]; nodes?: readonly Node[] }) {
  const { t, explain } = useUi()
  return (
    <div class="scroll-x">
      <table class="table rows verdicts">
        <thead>
          <tr>
            <th>{t('nic.port')}</th>
            {nodes && <th>{t('node.vm')}</th>}
            <th>{t('ports.reason')}</th>
            <th>{t('ports.remedy')}</th>
            <th>{t('nic.source')}</th>
          </tr>
        </thead>
        <tbody>
          {rows.map(verdict => (
            <tr key={`${verdict.config} ${verdict.vm} ${verdict.portId} ${verdict.reason}`}>
              <td class="nowrap">
                <span class="mono" title={verdict.portId}>
                  {verdict.portId ? shortId(verdict.portId) : t('ports.wholeVm')}
                </span>
              </td>
              {nodes && (
                <td class="nowrap">
                  <VmName verdict={verdict} nodes={nodes} />
                </td>
              )}
              <td class="full">
                <b class="strong">{verdict.reason}</b>
                {explain(verdict).meaning && <span class="mid block">{explain(verdict).meaning}</span>}
                <span class="mid block">{verdict.message}</span>
              </td>
              <td class="full mid">{explain(verdict).remedy || <span class="dim">–</span>}</td>
              <td>
                <span class="mono dim">{verdict.config}</span>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}

function VmName({ verdict, nodes }: { verdict: OperatorVerdict; nodes: readonly Node[] }) {
  const node = nodes.find(each => isVerdictOn(verdict, each))
  if (!node)
    return (
      <span class="mono" title={verdict.vm}>
        {verdict.vmName ?? shortId(verdict.vm, 14)}
      </span>
    )
  return (
    <a class="mono strong" href={linkToNode(node)} title={verdict.vm}>
      {node.nodeName}
    </a>
  )
}
