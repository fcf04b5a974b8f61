/**
 * Outcomes → the answer to a POST: status, counts, and one line a node in the words of kubectl.
 */
import type { Problem } from '../contract/problem.ts'
import type { ViolaHeldNode, ViolaPostAnswer } from '../contract/viola.ts'
import type { Outcome } from './apply.ts'
import { heldNode } from './plan.ts'

/** A failure is a problem that names the nodes which got through all the same. */
export type PostAnswer = ViolaPostAnswer & Partial<Problem> & { current?: ViolaHeldNode[] }

export function answerTo(outcomes: readonly Outcome[]): { status: number; body: PostAnswer } {
  const through = outcomes.filter(({ action }) => action !== 'failed' && action !== 'conflict')
  const answer: ViolaPostAnswer = {
    applied: through.length,
    output: outcomes.map(line).join('\n'),
    results: outcomes.map(({ nodeName, action, message, specHash }) => ({
      nodeName,
      action,
      ...(message ? { message } : {}),
      ...(specHash ? { specHash } : {}),
    })),
  }
  const status = statusOf(outcomes)
  if (status === 200) return { status, body: answer }

  const others = outcomes.filter(({ action }) => action === 'failed' || action === 'conflict')
  const names = others.slice(0, 5).map(({ nodeName, message }) => `${nodeName}: ${message}`)
  const more = others.length > names.length ? ` and ${others.length - names.length} more` : ''
  const detail = `${through.length} of ${outcomes.length} nodes got through; ${names.join('; ')}${more}`
  const current = others.flatMap(({ action, held }) => (action === 'conflict' && held ? [heldNode(held)] : []))
  return {
    status,
    body: {
      type: 'about:blank',
      title: titles[status] ?? 'Failed',
      status,
      detail,
      ...answer,
      ...(current.length > 0 ? { current } : {}),
    },
  }
}

const titles: Record<number, string> = { 409: 'Conflict', 502: 'Bad gateway', 504: 'Gateway timeout' }

function statusOf(outcomes: readonly Outcome[]): number {
  if (outcomes.some(({ action }) => action === 'conflict')) return 409
  if (outcomes.some(({ cause }) => cause === 'away')) return 504
  return outcomes.some(({ action }) => action === 'failed') ? 502 : 200
}

function line({ objectName, action, message }: Outcome): string {
  return `multinicnodeconfig.multinic.io/${objectName} ${action}${message ? `: ${message}` : ''}`
}
