/**
 * Every NIC whose state differs from the request: the difference, the reason and the remedy.
 */
import { useMemo } from 'preact/hooks'
import { countsOf, severities, severityOf } from '../model/nodes.ts'
import { providerIdsOf } from '../model/providers.ts'
import { ignoredVerdicts } from '../model/verdicts.ts'
import { saveCsv } from '../state/api.ts'
import { linkTo, linkToNode } from '../state/route.ts'
import { useUi } from '../ui/context.ts'
import { CsvButton, ProviderFilter } from '../ui/controls.tsx'
import { EmptyState } from '../ui/empty-state.tsx'
import { count } from '../ui/format.ts'
import { Panel, SeverityLabel } from '../ui/panel.tsx'

export function Deviations() {
  const { t, explain, data, route, language } = useUi()
  const { provider = '' } = route.query
  const providers = useMemo(() => providerIdsOf(data.nodes), [data.nodes])
  const rows = useMemo(
    () =>
      data.deviations
        .filter(each => !provider || each.providerId === provider)
        .map(each => ({
          ...each,
          ...explain(each),
          severity: severityOf(each.status, each.reason, each.differences),
        }))
        .sort((a, b) => severities.indexOf(a.severity) - severities.indexOf(b.severity)),
    [data.deviations, provider, explain],
  )
  const ignored = useMemo(() => ignoredVerdicts(data.verdicts, data.nodes).length, [data.verdicts, data.nodes])
  const save = () =>
    saveCsv(
      [
        ['provider', 'node', 'interface', 'port', 'status', 'difference', 'reason', 'remedy'],
        ...rows.map(row => [
          row.providerId,
          row.nodeName,
          row.interface,
          row.portId ?? '',
          row.status ?? '',
          row.differences
            .map(({ field, wanted, observed }) => `${field}: ${observed || '-'}, requested ${wanted}`)
            .join('; '),
          row.reason ?? '',
          row.remedy,
        ]),
      ],
      'deviations.csv',
    )
  const nics = t('count.nics', { n: count(countsOf(data.nodes).nics, language) })
  return (
    <>
      <div class="head">
        <h1>{t('screen.deviations')}</h1>
        <span class="sub">{t('deviations.note')}</span>
        <div class="right">
          {ignored > 0 && (
            <a class="btn" href={linkTo('ports')}>
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
        {rows.length === 0 ? (
          <EmptyState kind="allClear" title={t('deviations.none')} text={t('deviations.noneText', { nics })} />
        ) : (
          <div class="scroll-x">
            <table class="table rows deviation-table">
              <thead>
                <tr>
                  <th>{t('matrix.node')}</th>
                  <th>{t('overview.health')}</th>
                  <th>{t('deviations.difference')}</th>
                  <th>{t('deviations.reason')}</th>
                  <th>{t('deviations.remedy')}</th>
                </tr>
              </thead>
              <tbody>
                {rows.slice(0, 300).map(row => (
                  <tr key={`${row.providerId} ${row.nodeName} ${row.interface}`}>
                    <td class="nowrap">
                      <a class="two-lines" href={linkToNode(row, row.interface)}>
                        <b class="mono">{row.nodeName}</b>
                        <span class="mono">{row.interface}</span>
                      </a>
                    </td>
                    <td>
                      <SeverityLabel severity={row.severity} />
                    </td>
                    <td class="full">
                      {row.differences.map(({ field, wanted, observed }) => (
                        <div key={`${field} ${wanted}`} class="difference mono">
                          <span class="dim">{field}</span> <span class="requested-value">{wanted}</span>{' '}
                          <b class="warn">≠ {observed || '–'}</b>
                        </div>
                      ))}
                      {row.differences.length === 0 && <span class="dim">–</span>}
                    </td>
                    <td class="full">
                      {row.reason ?? <span class="dim">–</span>}
                      {row.meaning && <span class="mid block">{row.meaning}</span>}
                    </td>
                    <td class="full mid">{row.remedy || <span class="dim">–</span>}</td>
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
        )}
      </Panel>
    </>
  )
}
