/**
 * The response to a POST: status, counts, and one line per node in the format of kubectl.
 */
import type { Problem } from '../contract/problem.ts'
import type { ViolaNode, ViolaPostAnswer } from '../contract/viola.ts'
import type { Outcome } from './apply.ts'
import { toViolaNode } from './plan.ts'

/** A failure is a problem that also lists the nodes that succeeded. */
export type PostResponse = ViolaPostAnswer & Partial<Problem> & { current?: ViolaNode[] }

export function responseTo(outcomes: readonly Outcome[]): { status: number; body: PostResponse } {
  const succeeded = outcomes.filter(({ action }) => action !== 'failed' && action !== 'conflict')
  const response: ViolaPostAnswer = {
    applied: succeeded.length,
    output: outcomes.map(line).join('\n'),
    results: outcomes.map(({ nodeName, action, message, specHash }) => ({
      nodeName,
      action,
      ...(message ? { message } : {}),
      ...(specHash ? { specHash } : {}),
    })),
  }
  const status = statusOf(outcomes)
  if (status === 200) return { status, body: response }

  const unsuccessful = outcomes.filter(({ action }) => action === 'failed' || action === 'conflict')
  const errors = unsuccessful.slice(0, 5).map(({ nodeName, message }) => `${nodeName}: ${message}`)
  const more = unsuccessful.length > errors.length ? ` and ${unsuccessful.length - errors.length} more` : ''
  const detail = `${succeeded.length} of ${outcomes.length} nodes applied; ${errors.join('; ')}${more}`
  const current = unsuccessful.flatMap(({ action, existing }) =>
    action === 'conflict' && existing ? [toViolaNode(existing)] : [],
  )
  return {
    status,
    body: {
      type: 'about:blank',
      title: titles[status] ?? 'Failed',
      status,
      detail,
      ...response,
      ...(current.length > 0 ? { current } : {}),
    },
  }
}

const titles: Record<number, string> = { 409: 'Conflict', 502: 'Bad gateway', 504: 'Gateway timeout' }

function statusOf(outcomes: readonly Outcome[]): number {
  if (outcomes.some(({ action }) => action === 'conflict')) return 409
  if (outcomes.some(({ cause }) => cause === 'unreachable')) return 504
  return outcomes.some(({ action }) => action === 'failed') ? 502 : 200
}

function line({ objectName, action, message }: Outcome): string {
  return `multinicnodeconfig.multinic.io/${objectName} ${action}${message ? `: ${message}` : ''}`
}
