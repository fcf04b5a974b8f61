/**
 * Ports as rows: VM, subnet, NIC, state, and the verdict with its reason and remedy.
 */
import type { Port, PortState } from '../model/ports.ts'
import { linkToNode } from '../state/route.ts'
import { useUi } from '../ui/context.ts'
import { shortId, subnetTexts } from '../ui/format.ts'
import { Glyph } from '../ui/glyph.tsx'
import { NicState } from '../ui/observation.tsx'
import { SeverityLabel } from '../ui/panel.tsx'

export function PortTable({ rows }: { rows: readonly Port[] }) {
  const { t } = useUi()
  return (
    <div class="scroll-x">
      <table class="table rows verdicts">
        <thead>
          <tr>
            <th>{t('nic.port')}</th>
            <th>{t('node.vm')}</th>
            <th>{t('nic.subnet')}</th>
            <th>{t('matrix.nic')}</th>
            <th>{t('overview.health')}</th>
            <th>{t('ports.verdict')}</th>
            <th>{t('nic.source')}</th>
          </tr>
        </thead>
        <tbody>
          {rows.map(port => (
            <PortRow key={port.key} port={port} />
          ))}
        </tbody>
      </table>
    </div>
  )
}

function PortRow({ port }: { port: Port }) {
  const { t } = useUi()
  const { portId, nic, node, config } = port
  const [subnet = '', ...more] = nic ? subnetTexts(nic) : []
  return (
    <tr>
      <td class="nowrap">
        <span class="mono" title={portId}>
          {portId ? shortId(portId) : t('ports.wholeVm')}
        </span>
      </td>
      <td class="nowrap">
        <VmName port={port} />
      </td>
      <td class="nowrap" title={more.join(' · ')}>
        {subnet || <span class="dim">–</span>}
      </td>
      <td class="nowrap">
        {nic && node ? (
          <a class="two-lines" href={linkToNode(node, nic.name)}>
            <span class="mono">{nic.name}</span>
            <span class="mono dim">{nic.address}</span>
          </a>
        ) : (
          <span class="dim">–</span>
        )}
      </td>
      <td>
        <StateLabel port={port} />
      </td>
      <td class="full">
        <Verdict port={port} />
      </td>
      <td>
        <span class="mono dim">{config}</span>
      </td>
    </tr>
  )
}

function StateLabel({ port: { nic, state } }: { port: Port }) {
  const { t } = useUi()
  if (nic) return <NicState nic={nic} />
  return state === 'ignored' || state === 'unmanaged' ? (
    <span class="state-label">
      <Glyph severity="none" />
      {portStateText(state, t)}
    </span>
  ) : (
    <SeverityLabel severity={state} />
  )
}

export function portStateText(state: PortState, t: ReturnType<typeof useUi>['t']): string {
  return state === 'ignored' ? t('ports.ignored') : t(`severity.${state}`)
}

/** A configured NIC needs no explanation of its verdict. */
function Verdict({ port: { verdict, cause, state } }: { port: Port }) {
  const { t, explain } = useUi()
  const { meaning, remedy } = explain(cause)
  const isOther = cause.reason !== verdict && cause.reason !== ''
  return (
    <>
      <b class="strong">{verdict || '–'}</b>
      {state !== 'configured' && (
        <>
          {meaning && <span class="mid block">{meaning}</span>}
          <span class="mid block">{[isOther && cause.reason, cause.message].filter(Boolean).join(': ')}</span>
          {remedy && (
            <span class="mid block">
              <strong>{t('node.remedy')}</strong> {remedy}
            </span>
          )}
        </>
      )}
    </>
  )
}

function VmName({ port: { node, vm, vmName } }: { port: Port }) {
  if (!node)
    return (
      <span class="mono" title={vm}>
        {vmName || shortId(vm, 14)}
      </span>
    )
  return (
    <a class="mono strong" href={linkToNode(node)} title={vm}>
      {node.nodeName}
    </a>
  )
}
