/**
 * Every reason that conditions, Events, reports and the inventory show, with its class, meaning and remedy. Free of
 * dependencies.
 *
 * The dashboard, the CLI and docs/reference/reasons.md take their texts from here.
 */
import { bizConfigReasons } from './biz-config.ts'
import { interfaceReasons } from './interface.ts'
import { nodeReasons } from './node.ts'
import type { Language, Reason, ReasonClass } from './reason.ts'
import { syncReasons } from './sync.ts'
import { verdictReasons } from './verdict.ts'

export { type Language, languages, type ReasonClass } from './reason.ts'

export type SyncReason = keyof typeof syncReasons
export type VerdictReason = keyof typeof verdictReasons
export type NodeReason = keyof typeof nodeReasons
export type BizConfigReason = keyof typeof bizConfigReasons
export type InterfaceReason = keyof typeof interfaceReasons

export const reasonGroups = {
  sync: syncReasons,
  verdict: verdictReasons,
  node: nodeReasons,
  bizConfig: bizConfigReasons,
  interface: interfaceReasons,
} as const

export const reasonClasses = {
  normal: { eventType: 'Normal', needsAttention: false },
  progress: { eventType: 'Normal', needsAttention: false },
  warning: { eventType: 'Warning', needsAttention: false },
  attention: { eventType: 'Warning', needsAttention: true },
} as const satisfies Record<ReasonClass, { eventType: 'Normal' | 'Warning'; needsAttention: boolean }>

export interface ReasonText {
  meaning: string
  remedy: string
}

/**
 * The text of a reason for the dashboard, the CLI and the APIs. Korean is in the register of an interface (-세요); documents
 * use the catalogue's own (-십시오). Undefined for a reason that this version does not know, such as one of an agent of another version:
 * show it as it is.
 */
export function reasonText(reason: string, language: Language = 'en'): ReasonText | undefined {
  const found = find(reason)
  if (!found) return undefined
  const [meaning, remedy] = found[language].map(text => text.replaceAll('십시오', '세요'))
  return { meaning: meaning ?? '', remedy: remedy ?? '' }
}

/** Undefined for a reason that this version does not know. */
export function classOf(reason: string): ReasonClass | undefined {
  return find(reason)?.class
}

/** The type of an Event with this reason; Warning if this version does not know it. */
export function eventTypeOf(reason: string): 'Normal' | 'Warning' {
  return reasonClasses[classOf(reason) ?? 'warning'].eventType
}

/** Whether a person has to act before anything changes. */
export function needsAttention(reason: string): boolean {
  return reasonClasses[classOf(reason) ?? 'warning'].needsAttention
}

/** Whether a retry is useless before the spec, the Node or the agent changes. */
export function isRefusal(reason: string): boolean {
  return find(reason)?.refusal ?? false
}

const reasons = new Map<string, Reason>(Object.values(reasonGroups).flatMap(group => Object.entries(group)))

function find(reason: string): Reason | undefined {
  return reasons.get(reason)
}
