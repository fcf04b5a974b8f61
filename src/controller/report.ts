/**
 * Reads the agent's report from the termination message of its Pod. A truncated, missing or foreign report is never a
 * success.
 */
import { type AgentReport, agentReport, maxReportBytes } from '../contract/agent-report.ts'
import type { Interface } from '../contract/interfaces.ts'
import type { ContainerState, PodObject } from '../kube/types.ts'
import type { Action, JobResult } from './plan/observed.ts'

export interface ExpectedReport {
  node: string
  mode: Action
  generation: number
  specHash: string
}

export interface AgentExit {
  exitCode: number
  message: string
  finishedAt?: string
}

/** Undefined while the agent may still run: the kubelet restarts every container that did not exit with 0. */
export function exitOf(pod: PodObject): AgentExit | undefined {
  const { phase, reason, message, containerStatuses = [] } = pod.status ?? {}
  const [agent] = containerStatuses
  const now = exitIn(agent?.state)
  if (now?.exitCode === 0) return now
  if (phase !== 'Succeeded' && phase !== 'Failed') return undefined
  const before = exitIn(agent?.lastState)
  const withMessage = [now, before].find(exit => exit?.message)
  // When the kubelet rejects a Pod, only the status of the Pod says why.
  return withMessage ?? now ?? before ?? { exitCode: 1, message: [reason, message].filter(Boolean).join(': ') }
}

function exitIn(state: ContainerState | undefined): AgentExit | undefined {
  const ended = state?.terminated
  if (!ended) return undefined
  const { exitCode, message = '', finishedAt } = ended
  return { exitCode, message, ...(finishedAt && { finishedAt }) }
}

export function readReport(
  { exitCode, message }: Pick<AgentExit, 'exitCode' | 'message'>,
  expected: ExpectedReport,
): JobResult {
  if (!message) return { missing: `the agent left no report (exit code ${exitCode})` }
  // The kubelet truncates it, so a longer one is not from a kubelet.
  const json = Buffer.byteLength(message) > maxReportBytes ? undefined : parseJson(message)
  if (json === undefined) {
    const truncated = Buffer.byteLength(message) >= maxReportBytes
    return {
      missing: truncated ? 'the report is truncated' : `the agent left no report, but: ${message.slice(0, 300)}`,
    }
  }
  const report = agentReport.safeParse(json)
  if (!report.success) {
    const fields = report.error.issues.map(issue => issue.path.map(String).join('.') || 'report')
    return { missing: `the report has invalid fields: ${fields.slice(0, 5).join(', ')}` }
  }
  const foreign = (['node', 'mode', 'generation', 'specHash'] as const).find(
    field => report.data[field] !== expected[field],
  )
  if (foreign)
    return {
      missing: `the report belongs to another run: ${foreign} is ${report.data[foreign]}, not ${expected[foreign]}`,
    }
  return { report: report.data }
}

/** Why a report of success is none: it contradicts itself, or leaves out what was requested. */
export function contradictionIn(report: AgentReport, requested: readonly Interface[]): string | undefined {
  const keys = report.interfaces.map(({ id, macAddress }) => `${id} ${macAddress.toLowerCase()}`)
  const twice = report.interfaces.find((_, at) => keys.indexOf(keys[at] ?? '') !== at)
  if (twice) return `report lists ${twice.name} twice`
  const missing = requested.filter(({ index, macAddress }) => !keys.includes(`${index} ${macAddress}`))
  if (missing.length > 0) return `report does not mention ${missing.map(({ name }) => name).join(', ')}`
  const other = report.interfaces.find(({ status }) => status !== 'Configured' && status !== 'Removed')
  return other && `report says ${report.verdict}, and ${other.name} ${other.status}`
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
