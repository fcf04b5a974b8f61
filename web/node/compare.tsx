/**
 * The requested values of one NIC beside the values observed in the kernel, and whether its boot files match.
 */
import { useEffect, useState } from 'preact/hooks'
import { isMessageKey, type Translate } from '../messages/messages.ts'
import { bootFilesOf } from '../model/boot-files.ts'
import { requestedFields } from '../model/fields.ts'
import type { Nic, Node } from '../model/nodes.ts'
import { useUi } from '../ui/context.ts'
import { Glyph } from '../ui/glyph.tsx'
import { ObservationAge } from '../ui/observation.tsx'
import { Badge, Panel } from '../ui/panel.tsx'

interface Line {
  field: string
  requested: string
  observed: string | undefined
}

export function Compare({ node, chosen }: { node: Node; chosen: string | undefined }) {
  const { t } = useUi()
  const [name, setName] = useState(chosen)
  useEffect(() => setName(chosen), [chosen])
  const worst = node.nics.find(nic => nic.severity === node.worst)
  const nic = node.nics.find(each => each.name === name) ?? worst ?? node.nics[0]
  if (!nic) return null
  const differs = (line: Line) => nic.differences.some(({ field }) => field === line.field)
  const lines = linesOf(nic)
  const files = bootFilesOf(nic)
  const onKeyDown = (event: KeyboardEvent) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key]
    const next = step && node.nics[node.nics.indexOf(nic) + step]
    if (!next || !(event.currentTarget instanceof Element)) return
    setName(next.name)
    event.currentTarget.querySelector<HTMLElement>(`[data-nic="${next.name}"]`)?.focus()
  }
  return (
    <Panel
      title={t('node.compare')}
      badge={
        nic.differences.length > 0 && <Badge tone="warn">{t('node.differences', { n: nic.differences.length })}</Badge>
      }
      right={<ObservationAge nic={nic} />}
    >
      <div class="tabs" role="tablist" aria-label={t('node.compare')} onKeyDown={onKeyDown}>
        {node.nics.map(each => (
          <button
            key={each.name}
            type="button"
            role="tab"
            data-nic={each.name}
            aria-selected={each === nic}
            tabIndex={each === nic ? 0 : -1}
            onClick={() => setName(each.name)}
          >
            <Glyph severity={each.severity} />
            {each.name}
          </button>
        ))}
      </div>
      <div class="scroll-x">
        <table class="table compare-table">
          <thead>
            <tr>
              <th>{t('node.field')}</th>
              <th>{t('node.requested')}</th>
              <th>{t('node.observed')}</th>
              <th class="at-end" />
            </tr>
          </thead>
          <tbody>
            {lines.map(line => (
              <tr key={line.field} class={differs(line) ? 'differs' : ''}>
                <td>{fieldLabel(line.field, t)}</td>
                <td>{line.requested || '–'}</td>
                <td class={differs(line) ? 'differing-value' : ''}>{line.observed ?? <span class="dim">–</span>}</td>
                <td class="at-end">{resultOf(line)}</td>
              </tr>
            ))}
            {files && (
              <tr class={files === 'differ' ? 'differs' : ''}>
                <td>{t('nic.files')}</td>
                <td>{t('node.filesRequested')}</td>
                <td class={files === 'differ' ? 'differing-value' : ''}>
                  {t(files === 'differ' ? 'node.filesDiffer' : 'node.filesEqual')}
                </td>
                <td class="at-end">{t(files === 'differ' ? 'node.differs' : 'node.equal')}</td>
              </tr>
            )}
          </tbody>
        </table>
      </div>
    </Panel>
  )

  function resultOf(line: Line): string {
    if (differs(line)) return t('node.differs')
    return line.observed === undefined ? '' : t('node.equal')
  }
}

/** The name of the field if there is no message for it. */
function fieldLabel(field: string, t: Translate): string {
  const key = `nic.${field}`
  return isMessageKey(key) ? t(key) : field
}

function linesOf(nic: Nic): Line[] {
  const link = { requested: () => 'up', observed: ({ observed }: Nic) => observed?.link }
  const fields = [...requestedFields]
  const afterMtu = fields.findIndex(([field]) => field === 'mtu') + 1
  return fields
    .toSpliced(afterMtu, 0, ['link', link])
    .map(([field, { requested, observed }]) => ({ field, requested: requested(nic), observed: observed?.(nic) }))
    .filter(({ requested, observed }) => requested !== '' || observed !== undefined)
}
