/**
 * Parses label and field selectors into matchers.
 */
import { badRequest, type ResourceType, resourceName } from '../api-errors.ts'
import { type ApiObject, textOf, valueAt } from '../json.ts'

export type Matcher = (object: ApiObject) => boolean

const key = '[A-Za-z0-9](?:[-A-Za-z0-9_./]*[A-Za-z0-9])?'
const set = new RegExp(`^(${key})\\s+(in|notin)\\s*\\(([^()]*)\\)$`)
const compared = new RegExp(`^(${key})\\s*(==|=|!=|>|<)\\s*([-A-Za-z0-9_.]*)$`)
const present = new RegExp(`^(!?)\\s*(${key})$`)

type LabelTest = (labels: Record<string, string>) => boolean

export function labelSelector(text: string): Matcher {
  const tests = requirements(text).map(labelTest)
  return object => {
    const labels = object.metadata.labels ?? {}
    return tests.every(test => test(labels))
  }
}

function labelTest(text: string): LabelTest {
  const [, setKey = '', operator, values = ''] = set.exec(text) ?? []
  if (operator) {
    const allowed = new Set(values.split(',').map(value => value.trim()))
    const isIn: LabelTest = labels => setKey in labels && allowed.has(labels[setKey] ?? '')
    return operator === 'in' ? isIn : labels => !isIn(labels)
  }
  const [, name = '', sign, value = ''] = compared.exec(text) ?? []
  if (sign === '!=') return labels => labels[name] !== value
  if (sign === '>') return labels => Number(labels[name]) > Number(value)
  if (sign === '<') return labels => Number(labels[name]) < Number(value)
  if (sign) return labels => labels[name] === value
  const [whole, absent, labelKey = ''] = present.exec(text) ?? []
  if (whole !== undefined) return labels => labelKey in labels !== (absent === '!')
  throw badRequest(`unable to parse requirement: found '${text}', expected: a label selector`)
}

/** Splits at commas outside of parentheses. */
function requirements(text: string): string[] {
  const parts: string[] = []
  let depth = 0
  let part = ''
  for (const char of text) {
    if (char === '(') depth++
    if (char === ')') depth--
    if (char === ',' && depth === 0) {
      parts.push(part)
      part = ''
    } else part += char
  }
  return [...parts, part].map(one => one.trim()).filter(one => one !== '')
}

const commonFields = ['metadata.name', 'metadata.namespace']

/** Selectable fields besides name and namespace, as in the real API. */
const selectable: Record<string, readonly string[]> = {
  pods: [
    'spec.nodeName',
    'spec.restartPolicy',
    'spec.schedulerName',
    'spec.serviceAccountName',
    'spec.hostNetwork',
    'status.phase',
    'status.podIP',
    'status.nominatedNodeName',
  ],
  'jobs.batch': ['status.successful'],
  namespaces: ['status.phase'],
  nodes: ['spec.unschedulable'],
  secrets: ['type'],
  events: [
    'involvedObject.kind',
    'involvedObject.namespace',
    'involvedObject.name',
    'involvedObject.uid',
    'involvedObject.apiVersion',
    'involvedObject.resourceVersion',
    'involvedObject.fieldPath',
    'reason',
    'reportingComponent',
    'source',
    'type',
  ],
}

export function fieldSelector(text: string, place: ResourceType, more: readonly string[] = []): Matcher {
  const allowed = [...commonFields, ...more, ...(selectable[resourceName(place)] ?? [])]
  const tests = requirements(text).map((part): Matcher => {
    const [, field = '', sign, quoted = ''] = /^([^=!\s]+)\s*(==|=|!=)\s*(.*)$/.exec(part) ?? []
    if (!sign) throw badRequest(`invalid selector: '${text}'; can't understand '${part}'`)
    if (!allowed.includes(field)) throw badRequest(`field label not supported: ${field}`)
    const expected = quoted.replaceAll(/\\([\\=,])/g, '$1')
    return object => (fieldText(object, field) === expected) === (sign !== '!=')
  })
  return object => tests.every(test => test(object))
}

function fieldText(object: ApiObject, field: string): string {
  if (field === 'source') return textOf(valueAt(object, 'source', 'component'))
  const value = valueAt(object, ...field.split('.'))
  if (typeof value === 'boolean' || typeof value === 'number') return String(value)
  if (value === undefined && (field === 'spec.unschedulable' || field === 'spec.hostNetwork')) return 'false'
  return textOf(value)
}
