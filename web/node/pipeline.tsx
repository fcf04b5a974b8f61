/**
 * Each NIC from port to verified: the time of each stage, where it is stuck, and what to do, in the words of the API.
 */
import { useEffect, useRef } from 'preact/hooks'
import { againOf } from '../model/commands.ts'
import { looks, type Nic, type Node } from '../model/nodes.ts'
import { type StageMark, type StageView, stages, stagesOf, stuckAt, totalOf } from '../model/stages.ts'
import { age, clock, duration, exact, timeOfDay } from '../ui/format.ts'
import { Glyph } from '../ui/glyph.tsx'
import { CopyButton, Panel, useUi } from '../ui/ui.tsx'

export function Pipeline({ node, chosen }: { node: Node; chosen: string | undefined }) {
  const { say } = useUi()
  const nics = node.nics.toSorted((a, b) => looks.indexOf(a.look) - looks.indexOf(b.look) || a.slot - b.slot)
  return (
    <Panel title={say('node.pipeline')} right={<span class="hidem">{say('node.pipelineNote')}</span>}>
      <div class="pipe">
        <div class="ph" aria-hidden="true">
          <span>{say('matrix.nic')}</span>
          {stages.map(stage => (
            <span key={stage}>{say(`stage.${stage}`)}</span>
          ))}
          <span>{say('node.total')}</span>
        </div>
        {nics.map(nic => (
          <Way key={nic.name} nic={nic} node={node} chosen={nic.name === chosen} />
        ))}
      </div>
    </Panel>
  )
}

function Way({ nic, node, chosen }: { nic: Nic; node: Node; chosen: boolean }) {
  const { say, now, language } = useUi()
  const row = useRef<HTMLDivElement>(null)
  useEffect(() => {
    if (chosen && row.current && row.current.getBoundingClientRect().top > innerHeight)
      row.current.scrollIntoView({ block: 'center' })
  }, [chosen])
  const stuck = stuckAt(nic)
  const look = say(`look.${nic.look}`)
  const total = totalOf(nic)
  const since = nic.stages.verified ?? node.updatedAt
  return (
    <>
      <div class={`pr ${chosen ? 'is-on' : ''}`} ref={row}>
        <div class="nm">
          <Glyph look={nic.look} />
          <div>
            <span class="mono strong">{nic.name}</span>
            <small>
              {stuck
                ? say('node.at', { look, stage: say(`stage.${stuck}`) })
                : say('node.since', { look, age: age(since, now, say) })}
            </small>
          </div>
        </div>
        {stagesOf(nic).map((view, index) => (
          <Stage key={view.stage} view={view} first={index === 0} />
        ))}
        <div class="tot">
          {total === undefined ? '–' : duration(total, say)}
          <small title={exact(since, language)}>{clock(since, now, language)}</small>
        </div>
      </div>
      <Advice nic={nic} />
    </>
  )
}

const classes: Record<StageMark, string> = {
  done: '',
  stop: 'stop',
  wait: 'wait',
  run: 'run',
  differs: 'dif',
  none: 'none',
}

function Stage({ view: { stage, mark, at, took }, first }: { view: StageView; first: boolean }) {
  const { say, language } = useUi()
  const done =
    at === undefined
      ? say('mark.done')
      : first || took === undefined
        ? timeOfDay(at, language)
        : `+${duration(took, say)}`
  const text = mark === 'done' ? done : mark === 'none' ? '–' : say(`mark.${mark}`)
  return (
    <div class={`stg ${classes[mark]}`} title={at && exact(at, language)}>
      <i />
      <span>
        <span class="sr">{say(`stage.${stage}`)}: </span>
        {text}
        <b aria-hidden="true">{say(`stage.${stage}`)}</b>
      </span>
    </div>
  )
}

function Advice({ nic }: { nic: Nic }) {
  const { say } = useUi()
  if (nic.look === 'ok' || (nic.reason === '' && nic.message === '' && nic.differences.length === 0)) return null
  const again = againOf(nic)
  const tone = nic.look === 'bad' ? 'bad' : nic.look === 'prog' || nic.look === 'rem' ? 'acc' : 'warn'
  return (
    <div class={`advice ${tone}`}>
      <div>
        <b>{nic.reason || say(`look.${nic.look}`)}</b>
        {nic.message && <p>{nic.message}</p>}
        {nic.differences.map(({ field, wanted, observed }) => (
          <p key={`${field} ${wanted}`}>
            <span class="code">
              {field}: {observed || '–'} ≠ {wanted}
            </span>
          </p>
        ))}
        {nic.remedy && (
          <p>
            <strong>{say('node.remedy')}</strong> {nic.remedy}
          </p>
        )}
      </div>
      <div class="bt">
        {nic.remedy && (
          <CopyButton
            text={[nic.reason, nic.message, nic.remedy].filter(Boolean).join('\n')}
            label={say('node.copyRemedy')}
          />
        )}
        {again && (
          <CopyButton text={again} label={say(nic.look === 'held' ? 'node.release' : 'node.again')} icon="retry" main />
        )}
      </div>
    </div>
  )
}
