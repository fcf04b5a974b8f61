/**
 * Every interface that is not as it was asked for: what differs, why, and what to do, in the words of the API.
 */
import { useMemo } from 'preact/hooks'
import { countsOf, lookOf, looks } from '../model/nodes.ts'
import { notTakenOf } from '../model/verdicts.ts'
import { saveCsv } from '../state/api.ts'
import { linkTo, linkToNode } from '../state/route.ts'
import { count } from '../ui/format.ts'
import { Blank, CsvButton, Panel, ProviderFilter, StateWord, useUi } from '../ui/ui.tsx'

export function Deviations() {
  const { say, data, route, language } = useUi()
  const { provider = '' } = route.query
  const providers = useMemo(() => [...new Set(data.nodes.map(({ providerId }) => providerId))].sort(), [data.nodes])
  const rows = useMemo(
    () =>
      data.deviations
        .filter(each => !provider || each.providerId === provider)
        .map(each => ({ ...each, look: lookOf(each.status, each.reason, each.differences) }))
        .sort((a, b) => looks.indexOf(a.look) - looks.indexOf(b.look)),
    [data.deviations, provider],
  )
  const notTaken = useMemo(() => notTakenOf(data.verdicts, data.nodes).length, [data.verdicts, data.nodes])
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
            .map(({ field, wanted, observed }) => `${field}: ${observed || '-'}, wanted ${wanted}`)
            .join('; '),
          row.reason ?? '',
          row.remedy ?? '',
        ]),
      ],
      'deviations.csv',
    )
  const nics = say('many.nics', { n: count(countsOf(data.nodes).nics, language) })
  return (
    <>
      <div class="head">
        <h1>{say('screen.deviations')}</h1>
        <span class="sub">{say('deviations.note')}</span>
        <div class="right">
          {notTaken > 0 && (
            <a class="btn" href={linkTo('ports')}>
              {say('ports.title')} <b class="dim">{count(notTaken, language)}</b>
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
          <Blank kind="calm" title={say('deviations.none')} text={say('deviations.noneText', { nics })} />
        ) : (
          <div class="scrollx">
            <table class="tbl rows dev">
              <thead>
                <tr>
                  <th>{say('matrix.node')}</th>
                  <th>{say('overview.health')}</th>
                  <th>{say('deviations.what')}</th>
                  <th>{say('deviations.reason')}</th>
                  <th>{say('deviations.remedy')}</th>
                </tr>
              </thead>
              <tbody>
                {rows.slice(0, 300).map(row => (
                  <tr key={`${row.providerId} ${row.nodeName} ${row.interface}`}>
                    <td class="nowrap">
                      <a class="prov" href={linkToNode(row, row.interface)}>
                        <b class="mono">{row.nodeName}</b>
                        <span class="mono">{row.interface}</span>
                      </a>
                    </td>
                    <td>
                      <StateWord look={row.look} />
                    </td>
                    <td class="full">
                      {row.differences.map(({ field, wanted, observed }) => (
                        <div key={`${field} ${wanted}`} class="dif mono">
                          <span class="dim">{field}</span> <span class="was">{wanted}</span>{' '}
                          <b class="warn">≠ {observed || '–'}</b>
                        </div>
                      ))}
                      {row.differences.length === 0 && <span class="dim">–</span>}
                    </td>
                    <td class="full">{row.reason ?? <span class="dim">–</span>}</td>
                    <td class="full mid">{row.remedy ?? <span class="dim">–</span>}</td>
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
