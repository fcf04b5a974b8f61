/**
 * The agent's report, from the termination message of its Pod. A cut, missing or foreign report is never a success.
 */
import { type AgentReport, agentReport, maxReportBytes } from '../contract/agent-report.ts'
import type { Interface } from '../contract/interfaces.ts'
import type { ContainerState, PodObject } from '../kube/types.ts'
import type { Action, Reading } from './plan/observed.ts'

export interface Expected {
  node: string
  mode: Action
  generation: number
  specHash: string
}

export interface Ending {
  exitCode: number
  message: string
  finishedAt?: string
}

/** Undefined while the agent may still run (again): the kubelet restarts whatever did not exit with 0. */
export function endingOf(pod: PodObject): Ending | undefined {
  const { phase, reason, message, containerStatuses = [] } = pod.status ?? {}
  const [agent] = containerStatuses
  const now = endingIn(agent?.state)
  if (now?.exitCode === 0) return now
  if (phase !== 'Succeeded' && phase !== 'Failed') return undefined
  const before = endingIn(agent?.lastState)
  const told = [now, before].find(ending => ending?.message)
  // A node that refused the Pod tells why in place of an agent.
  return told ?? now ?? before ?? { exitCode: 1, message: [reason, message].filter(Boolean).join(': ') }
}

function endingIn(state: ContainerState | undefined): Ending | undefined {
  const ended = state?.terminated
  if (!ended) return undefined
  const { exitCode, message = '', finishedAt } = ended
  return { exitCode, message, ...(finishedAt && { finishedAt }) }
}

export function readReport({ exitCode, message }: Pick<Ending, 'exitCode' | 'message'>, expected: Expected): Reading {
  if (!message) return { lost: `the agent left no report (exit code ${exitCode})` }
  const json = parsed(message)
  if (json === undefined) {
    const cut = Buffer.byteLength(message) >= maxReportBytes
    return { lost: cut ? 'the agent’s report was cut' : `the agent left no report but: ${message.slice(0, 300)}` }
  }
  const report = agentReport.safeParse(json)
  if (!report.success) {
    const fields = report.error.issues.map(issue => issue.path.map(String).join('.') || 'it')
    return { lost: `the agent’s report is not usable: see ${fields.slice(0, 5).join(', ')}` }
  }
  const foreign = (['node', 'mode', 'generation', 'specHash'] as const).find(
    field => report.data[field] !== expected[field],
  )
  if (foreign)
    return {
      lost: `the report is of another run: its ${foreign} is ${report.data[foreign]}, not ${expected[foreign]}`,
    }
  return { report: report.data }
}

/** Names of wanted interfaces that the report does not speak of. */
export function unreported(report: AgentReport, wanted: readonly Interface[]): string[] {
  const spoken = new Set(report.interfaces.map(({ id, macAddress: mac }) => `${id} ${mac.toLowerCase()}`))
  return wanted.filter(({ index: id, macAddress }) => !spoken.has(`${id} ${macAddress}`)).map(({ name }) => name)
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
