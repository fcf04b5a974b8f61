/**
 * Each NIC from port to verified: the time of each stage, where it is stuck, and what to do.
 */
import { useEffect, useRef } from 'preact/hooks'
import { retryCommand } from '../model/commands.ts'
import { causeOf, type Nic, type Node, severities } from '../model/nodes.ts'
import { currentStage, type StageView, stages, stagesOf, totalDuration } from '../model/stages.ts'
import { useUi } from '../ui/context.ts'
import { CopyButton } from '../ui/controls.tsx'
import { age, clock, duration, exact, timeOfDay } from '../ui/format.ts'
import { Glyph } from '../ui/glyph.tsx'
import { ObservationAge, pendingText } from '../ui/observation.tsx'
import { Panel } from '../ui/panel.tsx'

export function Pipeline({ node, chosen }: { node: Node; chosen: string | undefined }) {
  const { t } = useUi()
  const nics = node.nics.toSorted(
    (a, b) => severities.indexOf(a.severity) - severities.indexOf(b.severity) || a.index - b.index,
  )
  return (
    <Panel title={t('node.pipeline')} right={<span class="desktop-only">{t('node.pipelineNote')}</span>}>
      <div class="pipeline">
        <div class="pipeline-head" aria-hidden="true">
          <span>{t('matrix.nic')}</span>
          {stages.map(stage => (
            <span key={stage}>{t(`stage.${stage}`)}</span>
          ))}
          <span>{t('node.total')}</span>
        </div>
        {nics.map(nic => (
          <PipelineRow key={nic.name} nic={nic} node={node} chosen={nic.name === chosen} />
        ))}
      </div>
    </Panel>
  )
}

function PipelineRow({ nic, node, chosen }: { nic: Nic; node: Node; chosen: boolean }) {
  const { t, now, language } = useUi()
  const row = useRef<HTMLDivElement>(null)
  useEffect(() => {
    if (chosen && row.current && row.current.getBoundingClientRect().top > innerHeight)
      row.current.scrollIntoView({ block: 'center' })
  }, [chosen])
  const stage = currentStage(nic)
  const severity = t(`severity.${nic.severity}`)
  const total = totalDuration(nic)
  const since = nic.stages.verified ?? node.updatedAt
  return (
    <>
      <div class={`pipeline-row ${chosen ? 'is-selected' : ''}`} ref={row}>
        <div class="name">
          <Glyph severity={nic.severity} />
          <div>
            <span class="mono strong">{nic.name}</span>
            <small>
              {stage
                ? t('node.stuckAt', { severity, stage: t(`stage.${stage}`) })
                : t('node.since', { severity, age: age(since, now, t) })}
            </small>
            {nic.lastSeverity && <small>{t('pending.last', { severity: t(`severity.${nic.lastSeverity}`) })}</small>}
            <small>
              <ObservationAge nic={nic} />
            </small>
          </div>
        </div>
        {stagesOf(nic).map((view, index) => (
          <Stage key={view.stage} view={view} first={index === 0} />
        ))}
        <div class="total">
          {total === undefined ? '–' : duration(total, t)}
          <small title={exact(since, language)}>{clock(since, now, language)}</small>
        </div>
      </div>
      <Advice node={node} nic={nic} />
    </>
  )
}

function Stage({ view: { stage, status, at, took, clamped }, first }: { view: StageView; first: boolean }) {
  const { t, language } = useUi()
  const done =
    at === undefined
      ? t('stageStatus.done')
      : first || took === undefined
        ? timeOfDay(at, language)
        : `+${duration(took, t)}`
  const text =
    status === 'notReached'
      ? '–'
      : status !== 'done'
        ? t(`stageStatus.${status}`)
        : clamped
          ? t('stageStatus.clamped')
          : done
  const title = at && [exact(at, language), clamped && t('stageStatus.clampedText')].filter(Boolean).join(' · ')
  return (
    <div class={`stage ${status} ${clamped ? 'clamped' : ''}`} title={title}>
      <i />
      <span>
        <span class="visually-hidden">{t(`stage.${stage}`)}: </span>
        {text}
        <b aria-hidden="true">{t(`stage.${stage}`)}</b>
      </span>
    </div>
  )
}

/** The cause first, then the differences. */
function Advice({ node, nic }: { node: Node; nic: Nic }) {
  const { t, explain } = useUi()
  const { reason, message } = causeOf(nic)
  if (nic.severity === 'configured' || (reason === '' && message === '' && nic.differences.length === 0)) return null
  const command = retryCommand(node, nic)
  const { meaning, remedy } = explain(causeOf(nic))
  const tone =
    nic.severity === 'failed' ? 'bad' : nic.severity === 'inProgress' || nic.severity === 'removing' ? 'accent' : 'warn'
  return (
    <div class={`advice ${tone}`}>
      <div>
        <b>{reason || t(`severity.${nic.severity}`)}</b>
        {message && <p>{message}</p>}
        {meaning && <p>{meaning}</p>}
        {nic.pending && nic.pending.reason !== reason && <p>{pendingText({ ...nic, lastSeverity: undefined }, t)}</p>}
        {nic.differences.map(({ field, wanted, observed }) => (
          <p key={`${field} ${wanted}`}>
            <span class="code">
              {field}: {observed || '–'} ≠ {wanted}
            </span>
          </p>
        ))}
        {remedy && (
          <p>
            <strong>{t('node.remedy')}</strong> {remedy}
          </p>
        )}
      </div>
      <div class="buttons">
        {remedy && (
          <CopyButton
            text={[reason, message, meaning, remedy].filter(Boolean).join('\n')}
            label={t('node.copyRemedy')}
          />
        )}
        {command && (
          <CopyButton
            text={command}
            label={t(nic.severity === 'onHold' ? 'node.copyApproval' : 'node.copyRetry')}
            icon="retry"
            main
          />
        )}
      </div>
    </div>
  )
}
