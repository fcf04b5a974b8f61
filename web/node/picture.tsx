/**
 * The picture of a node: the primary NIC, which is not managed, and a cable from each managed NIC to its subnet.
 */

import type { Nic, Node, Severity } from '../model/nodes.ts'
import { observationAt } from '../model/observations.ts'
import { linkTo, linkToNode } from '../state/route.ts'
import { useUi } from '../ui/context.ts'
import { ellipsis, subnetTexts } from '../ui/format.ts'
import { Glyph } from '../ui/glyph.tsx'
import { ObservationAge, observationText, pendingText } from '../ui/observation.tsx'
import { Icon, SeverityLabel } from '../ui/panel.tsx'
import { layoutNode, picture } from './layout.ts'

const cables: Record<Severity, string> = {
  configured: 'ok',
  failed: 'bad',
  drifted: 'warn',
  onHold: 'warn',
  pending: 'pending',
  inProgress: 'inProgress',
  removing: 'pending',
}
const leds: Record<Severity, string> = {
  configured: 'ok',
  failed: 'bad',
  drifted: 'warn',
  onHold: 'warn',
  pending: 'idle',
  inProgress: 'accent',
  removing: 'idle',
}
const tones: Record<string, string> = { bad: 'bad', warn: 'warn' }

export function NodePicture({ node, chosen }: { node: Node; chosen: string | undefined }) {
  const { t } = useUi()
  const { nics } = node
  const { height, primary, rows, boxes, free } = layoutNode(nics)
  const states = nics.map(nic => `${nic.name} ${t(`severity.${nic.severity}`)}`).join(', ')
  return (
    <section class="panel">
      <div class="node-picture">
        {/* biome-ignore lint/a11y/useSemanticElements: HTML has no element for a picture with links */}
        <svg
          viewBox={`0 0 ${picture.width} ${height}`}
          role="group"
          aria-label={t('node.description', { node: node.nodeName, nics: t('count.nics', { n: nics.length }), states })}
        >
          <rect class="pic-chassis" x=".5" y=".5" width={picture.chassis - 1} height={height - 1} rx="14" />
          <text class="pic-title" x="20" y="30">
            {node.nodeName.length > 30 ? `${node.nodeName.slice(0, 29)}…` : node.nodeName}
          </text>
          <text class="pic-note" x={picture.chassis - 20} y="30" text-anchor="end">
            {t('node.used', { n: nics.length })}
          </text>
          <rect class="pic-box" x="10.5" y="50" width="431" height="66" rx="9" />
          <use href="#i-lock" x="22" y="69" width="16" height="16" class="mid" />
          <text class="pic-name" x="46" y="80">
            {t('node.primaryName')}
          </text>
          <text class="pic-note" x="46" y="99">
            {t('node.primary')}
          </text>
          <Socket y={84} led="idle" />
          {rows.map(({ nic, y }) => (
            <Port key={nic.index} nic={nic} y={y} chosen={nic.name === chosen} />
          ))}
          {free.count > 0 && (
            <>
              <text class="pic-note" x="46" y={free.y + 17}>
                {t('node.free', { n: free.count })}
              </text>
              {Array.from({ length: Math.min(free.count, 6) }, (_, index) => (
                <rect
                  key={index}
                  class="pic-free"
                  x={picture.socket - index * 42}
                  y={free.y}
                  width="34"
                  height="26"
                  rx="4"
                />
              ))}
            </>
          )}
          <Cable path={primary.cable} tone="idle" y={84} plugged />
          {rows.map(({ nic, cable, y }) => (
            <Cable
              key={nic.index}
              path={cable}
              tone={cables[nic.lastSeverity ?? nic.severity]}
              y={y}
              plugged={nic.severity !== 'pending' || nic.observed !== undefined}
            />
          ))}
          {rows.map(({ nic, middle }) => (
            <Pill
              key={nic.index}
              text={pillOf(nic)}
              tone={tones[cables[nic.severity]] ?? ''}
              x={middle.x}
              y={middle.y}
            />
          ))}
          <rect class="pic-box" x={picture.boxes} y={primary.box} width={picture.boxWidth} height="38" rx="9" />
          <text class="pic-label" x={picture.boxes + 16} y={primary.box + 23.5}>
            {t('node.primaryNetwork')}
          </text>
          <text class="pic-note" x={picture.width - 18} y={primary.box + 23.5} text-anchor="end">
            {t('node.primaryNote')}
          </text>
          {boxes.map(({ key, nic, y }) => (
            <a key={key} href={linkTo('topology', { subnet: key, provider: node.providerId })}>
              <title>{[nic.subnetName, nic.network, nic.subnetId].filter(Boolean).join(' · ')}</title>
              <rect class="pic-box clickable" x={picture.boxes} y={y} width={picture.boxWidth} height="38" rx="9" />
              <text class="pic-name" x={picture.boxes + 16} y={y + 23.5}>
                {subnetTexts({ ...nic, subnetName: ellipsis(nic.subnetName, 18) })[0]}
              </text>
              <text class="pic-note" x={picture.width - 18} y={y + 23.5} text-anchor="end">
                {[subnetTexts(nic)[1], nic.mtu && `MTU ${nic.mtu}`].filter(Boolean).join(' · ')}
              </text>
            </a>
          ))}
        </svg>
        <ul class="ports">
          <li>
            <PortIcon />
            <div>
              <span class="mono strong">{t('node.primaryName')}</span>
              <small>{t('node.primary')}</small>
            </div>
            <span class="state-label dim">
              <Icon name="lock" size={14} />
              {t('severity.unmanaged')}
            </span>
          </li>
          {nics.map(nic => (
            <li key={nic.index}>
              <PortIcon />
              <div>
                <a class="mono strong" href={linkToNode(node, nic.name)}>
                  {nic.name}
                </a>
                <small class="mono">
                  {nic.address} · {nic.mtu ? `MTU ${nic.mtu}` : nic.network}
                </small>
                {nic.pending && <small>{pendingText(nic, t)}</small>}
                <small>
                  <ObservationAge nic={nic} />
                </small>
              </div>
              <SeverityLabel severity={nic.severity} />
            </li>
          ))}
        </ul>
      </div>
    </section>
  )
}

/** The text on the cable: what the NIC waits for, the reason, or the first difference of a NIC that drifted. */
function pillOf({ severity, differences, reason, pending }: Nic): string {
  const [first] = differences
  if (pending) return pending.reason
  if (severity === 'drifted' && first)
    return `${first.field === 'mtu' ? 'MTU' : first.field} ${first.observed || '–'} ≠ ${first.wanted}`
  return severity === 'configured' ? '' : reason
}

function Pill({ text, tone, x, y }: { text: string; tone: string; x: number; y: number }) {
  if (text === '') return null
  const shown = text.length > 34 ? `${text.slice(0, 33)}…` : text
  const width = shown.length * 6.5 + 24
  return (
    <>
      <rect class={`pill ${tone || 'idle'}`} x={x - width / 2} y={y - 11} width={width} height="22" rx="11" />
      <text class={`pill-text-${tone || 'idle'}`} x={x} y={y + 4} text-anchor="middle">
        {shown}
      </text>
    </>
  )
}

function Port({ nic, y, chosen }: { nic: Nic; y: number; chosen: boolean }) {
  const ui = useUi()
  const isOld = observationAt(nic, ui.now).notVerifiedSince !== undefined
  return (
    <>
      {chosen && <rect class="pic-selected" x="10.5" y={y - 22} width="431" height="44" rx="9" />}
      <Glyph severity={nic.severity} at={[22, y - 8, 16]} />
      <text class="pic-name" x="46" y={y - 3}>
        {nic.name}
      </text>
      <text class={`pic-note ${isOld ? 'pic-warn' : ''}`} x="206" y={y - 3}>
        {observationText(nic, ui)}
      </text>
      <text class="pic-address" x="46" y={y + 14}>
        {nic.address || '–'}
      </text>
      <text class="pic-address pic-dim" x="206" y={y + 14}>
        {nic.macAddress}
      </text>
      <Socket y={y} led={leds[nic.severity]} />
    </>
  )
}

function Socket({ y, led }: { y: number; led: string }) {
  return (
    <>
      <rect class="pic-socket" x={picture.socket} y={y - 13} width="34" height="26" rx="4" />
      {[413, 418, 423, 428, 433].map(x => (
        <path key={x} class="pic-pin" d={`M${x} ${y - 9}v6`} />
      ))}
      <circle class={`led-${led}`} cx="396" cy={y} r="3" />
    </>
  )
}

function Cable({ path, tone, y, plugged }: { path: string; tone: string; y: number; plugged: boolean }) {
  return (
    <>
      <path class="cable-outline" d={path} />
      <path class={`cable ${tone}`} d={path} />
      {plugged && <rect class="pic-plug" x="420" y={y - 4} width="22" height="12" rx="2" />}
      {plugged && <rect class={`boot ${tone}`} x="440" y={y - 3.5} width="18" height="8" rx="2.5" />}
    </>
  )
}

function PortIcon() {
  return (
    <svg class="socket-icon" viewBox="0 0 34 26" aria-hidden="true">
      <rect class="pic-socket" x=".5" y=".5" width="33" height="25" rx="4" />
      {[7, 12, 17, 22, 27].map(x => (
        <path key={x} class="pic-pin" d={`M${x} 4v7`} />
      ))}
    </svg>
  )
}
