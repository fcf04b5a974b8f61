/**
 * Options of a request, from its query and its body: ListOptions, the options of writes, and DeleteOptions.
 *
 * Invalid values are rejected: a misspelt dry run must never write.
 */

import { badRequest, type FieldError, fieldError, invalidOptions } from '../api-errors.ts'
import { recordOf, textOf } from '../json.ts'
import type { WriteOptions } from '../objects/admission.ts'
import { fieldSelector, labelSelector, type Matcher } from '../objects/selectors.ts'
import type { Target } from '../objects/target.ts'
import type { DeleteOptions } from '../objects/verbs.ts'

export interface ListQuery {
  matches: Matcher
  watch: boolean
  resourceVersion: string
  resourceVersionMatch: string
  limit: number
  continue: string
  timeoutSeconds: number | undefined
  bookmarks: boolean
  sendInitialEvents: boolean
}

export function listQuery(query: URLSearchParams, target: Target): ListQuery {
  const labels = query.get('labelSelector')
  const fields = query.get('fieldSelector')
  const byLabels = labels ? labelSelector(labels) : undefined
  const byFields = fields ? fieldSelector(fields, target.kind, target.kind.selectableFields) : undefined
  const options: ListQuery = {
    matches: object => (byLabels?.(object) ?? true) && (byFields?.(object) ?? true),
    watch: isSet(query, 'watch'),
    resourceVersion: query.get('resourceVersion') ?? '',
    resourceVersionMatch: query.get('resourceVersionMatch') ?? '',
    limit: integerParameter(query, 'limit') ?? 0,
    continue: query.get('continue') ?? '',
    timeoutSeconds: integerParameter(query, 'timeoutSeconds') || undefined,
    bookmarks: isSet(query, 'allowWatchBookmarks'),
    sendInitialEvents: isSet(query, 'sendInitialEvents'),
  }
  const errors = options.watch ? watchErrors(options) : listErrors(options)
  if (errors.length > 0) throw invalidOptions('ListOptions', errors)
  return options
}

function listErrors({
  resourceVersion,
  resourceVersionMatch: match,
  sendInitialEvents,
  ...rest
}: ListQuery): FieldError[] {
  const errors: FieldError[] = []
  const forbid = (detail: string) => errors.push(fieldError.forbidden('resourceVersionMatch', detail))
  if (sendInitialEvents)
    errors.push(fieldError.forbidden('sendInitialEvents', 'sendInitialEvents is forbidden for list'))
  if (!match) return errors
  if (!resourceVersion) forbid('resourceVersionMatch is forbidden unless resourceVersion is provided')
  if (rest.continue) forbid('resourceVersionMatch is forbidden when continue is provided')
  if (match !== 'Exact' && match !== 'NotOlderThan') {
    errors.push(fieldError.unsupported('resourceVersionMatch', match, ['Exact', 'NotOlderThan', '']))
  }
  if (match === 'Exact' && resourceVersion === '0') {
    forbid('resourceVersionMatch "exact" is forbidden for resourceVersion "0"')
  }
  return errors
}

function watchErrors({ resourceVersionMatch: match, sendInitialEvents }: ListQuery): FieldError[] {
  const errors: FieldError[] = []
  const forbid = (detail: string) => errors.push(fieldError.forbidden('resourceVersionMatch', detail))
  if (sendInitialEvents && !match) forbid('sendInitialEvents requires setting resourceVersionMatch to NotOlderThan')
  if (match && !sendInitialEvents) {
    forbid('resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided')
  }
  if (match && match !== 'NotOlderThan') {
    errors.push(fieldError.unsupported('resourceVersionMatch', match, ['NotOlderThan']))
  }
  return errors
}

export function isSet(query: URLSearchParams, name: string): boolean {
  const value = query.get(name)
  return value !== null && value !== 'false' && value !== '0'
}

export function integerParameter(query: URLSearchParams, name: string): number | undefined {
  const text = query.get(name)
  if (!text) return undefined
  if (!/^-?\d+$/.test(text)) throw badRequest(`strconv.ParseInt: parsing ${JSON.stringify(text)}: invalid syntax`)
  return Number(text)
}

export function versionNumber(text: string): number | undefined {
  if (text === '' || text === '0') return undefined
  if (!/^\d+$/.test(text))
    throw badRequest(`invalid resource version: resourceVersion: Invalid value: ${JSON.stringify(text)}: no number`)
  return Number(text)
}

const writeKinds: Record<string, string> = { POST: 'CreateOptions', PUT: 'UpdateOptions', PATCH: 'PatchOptions' }

/** The field manager is named, or the first part of the user agent. Apply requires a name. */
export function writeOptions(
  method: string,
  query: URLSearchParams,
  userAgent: string,
  warn: (text: string) => void,
): WriteOptions {
  const errors: FieldError[] = []
  const dryRun = dryRunOf(query.getAll('dryRun'), errors)
  const fieldValidation = query.get('fieldValidation') || 'Warn'
  if (!isValidation(fieldValidation)) {
    errors.push(fieldError.unsupported('fieldValidation', fieldValidation, ['', 'Ignore', 'Strict', 'Warn']))
  }
  if (errors.length > 0) throw invalidOptions(writeKinds[method] ?? 'UpdateOptions', errors)
  return {
    manager: query.get('fieldManager') || userAgent.split('/')[0]?.slice(0, 128) || 'unknown',
    dryRun,
    fieldValidation: isValidation(fieldValidation) ? fieldValidation : 'Warn',
    warn,
  }
}

function isValidation(text: string): text is 'Ignore' | 'Warn' | 'Strict' {
  return text === 'Ignore' || text === 'Warn' || text === 'Strict'
}

function dryRunOf(values: readonly string[], errors: FieldError[]): boolean {
  if (values.some(value => value !== 'All')) errors.push(fieldError.unsupported('dryRun', values, ['All']))
  return values.length > 0
}

/** DeleteOptions come in the body, or in the query if there is no body. */
export function deleteOptions(parameters: URLSearchParams, body: unknown): DeleteOptions {
  const query = body === undefined ? parameters : new URLSearchParams()
  const given = recordOf(body)
  const preconditions = recordOf(given['preconditions'])
  const grace = query.get('gracePeriodSeconds') ?? given['gracePeriodSeconds']
  const policy = query.get('propagationPolicy') ?? given['propagationPolicy']
  const errors: FieldError[] = []
  const dryRun = dryRunOf(
    [...query.getAll('dryRun'), ...(Array.isArray(given['dryRun']) ? given['dryRun'].map(textOf) : [])],
    errors,
  )
  if (policy && !isPolicy(policy))
    errors.push(fieldError.unsupported('propagationPolicy', policy, ['Foreground', 'Background', 'Orphan', 'nil']))
  if (errors.length > 0) throw invalidOptions('DeleteOptions', errors)
  const uid = textOf(preconditions['uid'])
  const resourceVersion = textOf(preconditions['resourceVersion'])
  return {
    dryRun,
    ...(grace !== undefined && grace !== null && { gracePeriodSeconds: Number(grace) }),
    ...(isPolicy(policy) && { propagationPolicy: policy }),
    ...(uid && { uid }),
    ...(resourceVersion && { resourceVersion }),
  }
}

function isPolicy(value: unknown): value is 'Background' | 'Foreground' | 'Orphan' {
  return value === 'Background' || value === 'Foreground' || value === 'Orphan'
}
