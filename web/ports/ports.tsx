/**
 * Why is a port no interface? Every port and VM that was not taken, with its verdict and what would change it, in the words of
 * the operator.
 */
import { useMemo } from 'preact/hooks'
import type { OperatorVerdict } from '../../src/contract/operator-api.ts'
import { countsOf, type Node } from '../model/nodes.ts'
import { isOf, notTakenOf, verdictHas } from '../model/verdicts.ts'
import { saveCsv } from '../state/api.ts'
import { linkTo, linkToNode } from '../state/route.ts'
import { count, shortId } from '../ui/format.ts'
import { Badge, Blank, CsvButton, Filter, Panel, useUi } from '../ui/ui.tsx'

const most = 300

export function Ports() {
  const { say, data, route, language } = useUi()
  const { q = '', reason = '' } = route.query
  const all = useMemo(() => notTakenOf(data.verdicts, data.nodes), [data.verdicts, data.nodes])
  const among = useMemo(() => all.filter(one => q === '' || verdictHas(one, q)), [all, q])
  const reasons = useMemo(
    () => [...Map.groupBy(among, one => one.reason)].sort(([, a], [, b]) => b.length - a.length),
    [among],
  )
  const rows = reason ? among.filter(one => one.reason === reason) : among
  const ask = (change: Record<string, string>) => location.replace(linkTo('ports', { ...route.query, ...change }))
  const taken = useMemo(() => countsOf(data.nodes).nics, [data.nodes])
  const save = () =>
    saveCsv(
      [
        ['port', 'vm', 'reason', 'message', 'remedy', 'config'],
        ...rows.map(one => [one.portId ?? '', one.vm, one.reason, one.message, one.remedy ?? '', one.config]),
      ],
      'ports-not-taken.csv',
    )
  return (
    <>
      <div class="head">
        <h1>{say('screen.ports')}</h1>
        <span class="sub">
          {data.verdicts && say('ports.note', { n: count(all.length, language), taken: count(taken, language) })}
        </span>
        {rows.length > 0 && (
          <div class="right">
            <CsvButton save={save} />
          </div>
        )}
      </div>
      {all.length > 0 && (
        <div class="bar">
          <Filter label={say('ports.filter')} value={q} onChange={value => ask({ q: value })} />
          <button type="button" class="chip" aria-pressed={reason === ''} onClick={() => ask({ reason: '' })}>
            {say('app.all')} <b>{count(among.length, language)}</b>
          </button>
          {reasons.map(([name, ones]) => (
            <button
              key={name}
              type="button"
              class="chip"
              aria-pressed={reason === name}
              onClick={() => ask({ reason: reason === name ? '' : name })}
            >
              {name} <b>{count(ones.length, language)}</b>
            </button>
          ))}
        </div>
      )}
      <Panel>
        {data.verdicts === undefined ? (
          <Blank
            kind="empty"
            title={say('ports.unknown')}
            text={say('ports.unknownText')}
            code="kubectl multinic why PORT"
          />
        ) : rows.length === 0 ? (
          <Blank
            kind={all.length === 0 ? 'calm' : 'search'}
            title={say(all.length === 0 ? 'ports.none' : 'ports.noMatch')}
            text={say('ports.noneText')}
          />
        ) : (
          <VerdictTable rows={rows.slice(0, most)} nodes={data.nodes} />
        )}
      </Panel>
    </>
  )
}

/** Of one node, where it has any. */
export function NodePorts({ node }: { node: Node }) {
  const { say, data, language } = useUi()
  const rows = useMemo(
    () => notTakenOf(data.verdicts, data.nodes).filter(one => isOf(one, node)),
    [data.verdicts, data.nodes, node],
  )
  if (rows.length === 0) return null
  return (
    <Panel title={say('ports.title')} badge={<Badge>{count(rows.length, language)}</Badge>} right={say('ports.each')}>
      <VerdictTable rows={rows} />
    </Panel>
  )
}

function VerdictTable({ rows, nodes }: { rows: readonly OperatorVerdict[]; nodes?: readonly Node[] }) {
  const { say } = useUi()
  return (
    <div class="scrollx">
      <table class="tbl rows verdicts">
        <thead>
          <tr>
            <th>{say('nic.port')}</th>
            {nodes && <th>{say('node.vm')}</th>}
            <th>{say('ports.verdict')}</th>
            <th>{say('ports.remedy')}</th>
            <th>{say('nic.source')}</th>
          </tr>
        </thead>
        <tbody>
          {rows.map(one => (
            <tr key={`${one.config} ${one.vm} ${one.portId} ${one.reason}`}>
              <td class="nowrap">
                <span class="mono" title={one.portId}>
                  {one.portId ? shortId(one.portId) : say('ports.vmItself')}
                </span>
              </td>
              {nodes && (
                <td class="nowrap">
                  <VmName one={one} nodes={nodes} />
                </td>
              )}
              <td class="full">
                <b class="strong">{one.reason}</b>
                <span class="mid block">{one.message}</span>
              </td>
              <td class="full mid">{one.remedy ?? <span class="dim">–</span>}</td>
              <td>
                <span class="mono dim">{one.config}</span>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}

function VmName({ one, nodes }: { one: OperatorVerdict; nodes: readonly Node[] }) {
  const node = nodes.find(each => isOf(one, each))
  if (!node)
    return (
      <span class="mono" title={one.vm}>
        {shortId(one.vm, 14)}
      </span>
    )
  return (
    <a class="mono strong" href={linkToNode(node)} title={one.vm}>
      {node.nodeName}
    </a>
  )
}
