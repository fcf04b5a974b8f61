/**
 * Every NIC whose request, delivery and observation differ, or that nobody has verified in time: the cause, the differences, the
 * age of the observation and the remedy.
 */
import { useEffect, useMemo, useState } from 'preact/hooks'
import type { OperatorVerdict } from '../../src/contract/operator-api.ts'
import { deviationsIn, type NicDeviation } from '../model/deviations.ts'
import { countsOf, type Node } from '../model/nodes.ts'
import { providerNamesOf } from '../model/providers.ts'
import { ignoredVerdicts, undeliveredVerdicts } from '../model/verdicts.ts'
import { allVerdicts, saveCsv } from '../state/api.ts'
import { linkTo, linkToNode } from '../state/route.ts'
import { useUi } from '../ui/context.ts'
import { CsvButton, ProviderFilter } from '../ui/controls.tsx'
import { EmptyState } from '../ui/empty-state.tsx'
import { age, count, shortId } from '../ui/format.ts'
import { NicState, ObservationAge, observationText, pendingText } from '../ui/observation.tsx'
import { Panel, SeverityLabel } from '../ui/panel.tsx'

const maxRows = 300

export function Deviations() {
  const { t, explain, data, route, language, now } = useUi()
  const { provider = '' } = route.query
  const providers = useMemo(() => providerNamesOf(data.nodes), [data.nodes])
  const nodes = useMemo(
    () => data.nodes.filter(node => !provider || node.providerId === provider),
    [data.nodes, provider],
  )
  const rows = useMemo(() => deviationsIn(nodes, now), [nodes, now])
  const undelivered = useUndelivered(nodes, provider)
  const ignored = useMemo(() => ignoredVerdicts(data.verdicts, data.nodes).length, [data.verdicts, data.nodes])
  const save = () =>
    saveCsv(
      [
        ['provider', 'node', 'interface', 'port', 'state', 'waits', 'difference', 'observation', 'reason', 'remedy'],
        ...rows.map(({ node, nic, fields, ...cause }) => [
          node.providerId,
          node.nodeName,
          nic.name,
          nic.portId,
          t(`severity.${nic.severity}`),
          pendingText(nic, t),
          fields
            .map(
              each =>
                `${each.field}: requested ${each.requested}, delivered ${each.delivered}, observed ${each.observed || '-'}`,
            )
            .join('; '),
          observationText(nic, { t, now, language }),
          cause.reason,
          explain(cause).remedy,
        ]),
      ],
      'deviations.csv',
    )
  return (
    <>
      <div class="head">
        <h1>{t('screen.deviations')}</h1>
        <span class="sub">{t('deviations.note')}</span>
        <div class="right">
          {ignored > 0 && (
            <a class="btn" href={linkTo('ports', { state: 'ignored' })}>
              {t('ports.title')} <b class="dim">{count(ignored, language)}</b>
            </a>
          )}
          {rows.length > 0 && <CsvButton save={save} />}
          <ProviderFilter
            providers={providers}
            value={provider}
            onChoose={value => location.replace(linkTo('deviations', { provider: value }))}
          />
        </div>
      </div>
      <Panel>
        {rows.length + undelivered.length === 0 ? (
          <AllAsRequested nodes={nodes} />
        ) : (
          <DeviationTable rows={rows.slice(0, maxRows)} undelivered={undelivered.slice(0, maxRows)} />
        )}
      </Panel>
    </>
  )
}

/** Selected ports that no node has. */
function useUndelivered(nodes: readonly Node[], provider: string): OperatorVerdict[] {
  const { data, route } = useUi()
  const [selected, setSelected] = useState<readonly OperatorVerdict[]>([])
  const newest = data.recent[0]?.id
  useEffect(() => {
    if (data.verdicts && !route.asof) allVerdicts('selected').then(setSelected, () => {})
  }, [newest, data.verdicts, route.asof])
  return useMemo(
    () => undeliveredVerdicts(selected, nodes).filter(({ providerId }) => !provider || providerId === provider),
    [selected, nodes, provider],
  )
}

function AllAsRequested({ nodes }: { nodes: readonly Node[] }) {
  const { t, language, now } = useUi()
  const nics = t('count.nics', { n: count(countsOf(nodes).nics, language) })
  const times = nodes.flatMap(node =>
    node.nics.flatMap(({ observation: { lastChecked, lastConfigured } }) => lastChecked ?? lastConfigured ?? []),
  )
  const oldest = times.reduce((first, time) => (time < first ? time : first), times[0] ?? '')
  const ago = oldest ? t('observation.age', { age: age(oldest, now, t) }) : t('observation.never')
  return (
    <EmptyState kind="allClear" title={t('deviations.none')} text={t('deviations.noneText', { nics, oldest: ago })} />
  )
}

interface TableProps {
  rows: readonly NicDeviation[]
  undelivered: readonly OperatorVerdict[]
}

function DeviationTable({ rows, undelivered }: TableProps) {
  const { t } = useUi()
  return (
    <div class="scroll-x">
      <table class="table rows deviation-table">
        <thead>
          <tr>
            <th>{t('matrix.node')}</th>
            <th>{t('overview.health')}</th>
            <th>{t('deviations.reason')}</th>
            <th>{t('deviations.requested')}</th>
            <th>{t('deviations.delivered')}</th>
            <th>{t('deviations.observed')}</th>
          </tr>
        </thead>
        <tbody>
          {undelivered.map(verdict => (
            <UndeliveredRow key={`${verdict.config} ${verdict.portId}`} verdict={verdict} />
          ))}
          {rows.map(row => (
            <DeviationRow key={`${row.node.key} ${row.nic.name}`} row={row} />
          ))}
        </tbody>
      </table>
    </div>
  )
}

function UndeliveredRow({ verdict: { vm, vmName, name = '', portId = '', message } }: { verdict: OperatorVerdict }) {
  const { t } = useUi()
  return (
    <tr>
      <td class="nowrap">
        <span class="two-lines">
          <b class="mono" title={vm}>
            {vmName ?? shortId(vm)}
          </b>
          <span class="mono">{name}</span>
        </span>
      </td>
      <td>
        <SeverityLabel severity="pending" />
      </td>
      <td class="full mid">{message}</td>
      <td class="full" data-label={t('deviations.requested')}>
        <div class="difference mono">
          <span class="dim">{t('nic.port')}</span> {shortId(portId)}
        </div>
      </td>
      <td class="full" data-label={t('deviations.delivered')}>
        <div class="difference">
          <b class="warn">{t('deviations.notDelivered')}</b>
        </div>
      </td>
      <td class="full" />
    </tr>
  )
}

/** The cause first, then what differs. */
function DeviationRow({ row: { node, nic, fields, ...cause } }: { row: NicDeviation }) {
  const { t, explain } = useUi()
  const { meaning, remedy } = explain(cause)
  const isGood = nic.severity === 'configured'
  return (
    <tr>
      <td class="nowrap">
        <a class="two-lines" href={linkToNode(node, nic.name)}>
          <b class="mono">{node.nodeName}</b>
          <span class="mono">{nic.name}</span>
        </a>
      </td>
      <td>
        <NicState nic={nic} />
      </td>
      <td class="full">
        {!isGood && (
          <>
            <b class="strong">{cause.reason || '–'}</b>
            {cause.message && <span class="mid block">{cause.message}</span>}
            {meaning && <span class="mid block">{meaning}</span>}
            {remedy && (
              <span class="mid block">
                <strong>{t('node.remedy')}</strong> {remedy}
              </span>
            )}
          </>
        )}
      </td>
      <td class="full" data-label={t('deviations.requested')}>
        {fields.length === 0 && <span class="dim desktop-only">–</span>}
        {fields.map(({ field, requested }) => (
          <div key={`${field} ${requested}`} class="difference mono">
            <span class="dim">{field}</span> {requested || t('deviations.notRequested')}
          </div>
        ))}
      </td>
      <td class="full" data-label={t('deviations.delivered')}>
        {fields.length === 0 && <span class="dim desktop-only">–</span>}
        {fields.map(({ field, requested, delivered }) => (
          <div key={`${field} ${requested}`} class="difference mono">
            {delivered === requested ? (
              <span class="dim">{t('deviations.same')}</span>
            ) : (
              <b class="warn">{delivered || t('deviations.notDelivered')}</b>
            )}
          </div>
        ))}
      </td>
      <td class="full" data-label={t('deviations.observed')}>
        {fields.map(({ field, requested, delivered, observed }) => (
          <div key={`${field} ${requested}`} class="difference mono">
            {observed === delivered ? observed : <b class="warn">≠ {observed || '–'}</b>}
          </div>
        ))}
        <ObservationAge nic={nic} />
      </td>
    </tr>
  )
}
