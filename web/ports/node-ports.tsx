/**
 * The ignored ports of one node, each with its reason and remedy.
 */
import { useMemo } from 'preact/hooks'
import type { Node } from '../model/nodes.ts'
import { ignoredVerdicts, isVerdictOn } from '../model/verdicts.ts'
import { useUi } from '../ui/context.ts'
import { count, shortId } from '../ui/format.ts'
import { Badge, Panel } from '../ui/panel.tsx'

/** Renders nothing if there are none. */
export function NodePorts({ node }: { node: Node }) {
  const { t, explain, data, language } = useUi()
  const rows = useMemo(
    () => ignoredVerdicts(data.verdicts, data.nodes).filter(verdict => isVerdictOn(verdict, node)),
    [data.verdicts, data.nodes, node],
  )
  if (rows.length === 0) return null
  return (
    <Panel title={t('ports.title')} badge={<Badge>{count(rows.length, language)}</Badge>} right={t('ports.note')}>
      <div class="scroll-x">
        <table class="table rows verdicts">
          <thead>
            <tr>
              <th>{t('nic.port')}</th>
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
    </Panel>
  )
}
