/**
 * Scenario files: YAML with the steps to run on a sandbox. `readScenario` reports all mistakes at once, each with line and
 * field, before anything runs.
 */
import { isMap, isScalar, LineCounter, type Node, parseDocument } from 'yaml'
import { z } from 'zod'
import { parseDuration } from '../../src/contract/duration.ts'
import { isFaultName } from '../faults/catalogue.ts'

const duration = z
  .string('must be a duration, such as 30s')
  .refine(text => parseDuration(text) !== undefined, 'must be a duration, such as 30s')
  .transform(text => parseDuration(text) ?? 0)
const text = z.string().min(1, 'must not be empty')
const faultName = text.refine(isFaultName, 'is not a fault; "multinic sandbox fault" lists all faults')

/** Waits for a state of a port, by the name from an `attach` step, or of a node. */
const expectation = z
  .strictObject({
    port: text.optional(),
    node: text.optional(),
    /** State of the interface or of the node. */
    state: text.optional(),
    reason: text.optional(),
    /** Name of the NIC of the port. */
    nic: text.optional(),
    gone: z.literal(true).optional(),
    within: duration.optional(),
  })
  .refine(it => (it.port === undefined) !== (it.node === undefined), 'must name either a port or a node')
  .refine(it => it.gone || it.state || it.reason || it.nic, 'must have state, reason, nic or gone')

/** Each step is a map with one key. */
const steps = {
  /** Text to print. */
  say: text,
  attach: z.strictObject({
    vm: text,
    subnet: text,
    count: z.int().min(1).max(10).optional(),
    /** Name of the port for later steps. */
    as: text.optional(),
  }),
  detach: z
    .strictObject({ port: text.optional(), vm: text.optional(), name: text.optional() })
    .refine(it => (it.port !== undefined) !== (it.vm !== undefined && it.name !== undefined), {
      message: 'must have port, or vm and name',
    }),
  reboot: text,
  fault: z.union([
    faultName.transform(name => ({ name })),
    z.strictObject({ name: faultName, node: text.optional(), for: duration.optional() }),
  ]),
  /** Fault to stop, or `all`. */
  end: z.union([z.literal('all'), faultName]),
  expect: expectation,
  /** Waits until all attached ports, and no others, are configured. */
  ready: duration,
  /** Shell command on a node; its output must contain `shows`. */
  run: z.strictObject({ node: text, line: text, shows: text.optional() }),
  show: z.literal('status'),
  /** Waits for Enter; continues immediately without a terminal. */
  pause: z.union([z.null(), text]),
} as const

export type StepKind = keyof typeof steps
export type Step = { [K in StepKind]: { kind: K; line: number; value: z.output<(typeof steps)[K]> } }[StepKind]

export interface Scenario {
  file: string
  name: string
  about: string
  steps: Step[]
}

export class ScenarioError extends Error {
  override name = 'ScenarioError'
}

export function readScenario(source: string, file: string): Scenario {
  const counter = new LineCounter()
  const document = parseDocument(source, { lineCounter: counter })
  const mistakes: string[] = []
  const lineOf = (node: unknown) => counter.linePos((node as Node | null)?.range?.[0] ?? 0).line
  const wrong = (line: number, field: string, what: string) => mistakes.push(`${file}:${line}: ${field} ${what}`)
  const finish = () => {
    if (mistakes.length > 0) throw new ScenarioError(mistakes.join('\n'))
  }

  for (const error of document.errors) mistakes.push(`${file}:${error.linePos?.[0].line ?? 1}: ${error.message}`)
  finish()
  const root = document.contents
  if (!isMap(root)) throw new ScenarioError(`${file}:1: a scenario must be a map with name, about and steps`)

  for (const { key } of root.items) {
    const name = isScalar(key) ? String(key.value) : ''
    if (!['name', 'about', 'steps'].includes(name)) wrong(lineOf(key), name, 'is not a field of a scenario')
  }
  const requireText = (field: 'name' | 'about') => {
    const value = root.get(field)
    if (typeof value === 'string' && value !== '') return value
    wrong(lineOf(root.get(field, true) ?? root), field, 'must be a string')
    return ''
  }
  const [name, about] = [requireText('name'), requireText('about')]
  const list = document.toJS().steps as unknown
  if (!Array.isArray(list) || list.length === 0) {
    wrong(lineOf(root.get('steps', true) ?? root), 'steps', 'must be a list with at least one step')
    finish()
  }

  const read: Step[] = []
  for (const [index, raw] of (list as unknown[]).entries()) {
    const line = lineOf(document.getIn(['steps', index], true))
    const keys = typeof raw === 'object' && raw !== null ? Object.keys(raw) : []
    const [kind] = keys
    const field = `steps[${index}]`
    if (kind === undefined || keys.length !== 1) wrong(line, field, `must be one of ${Object.keys(steps).join(', ')}`)
    else if (!isStep(kind)) wrong(line, `${field}.${kind}`, `is not a step; steps are ${Object.keys(steps).join(', ')}`)
    else {
      const value = steps[kind].safeParse((raw as Record<string, unknown>)[kind])
      if (value.success) read.push({ kind, line, value: value.data } as Step)
      else
        for (const { path, message } of flat(value.error.issues)) {
          const at = document.getIn(['steps', index, kind, ...path], true) ?? document.getIn(['steps', index], true)
          wrong(lineOf(at), [field, kind, ...path].join('.'), plainMessage(message))
        }
    }
  }
  checkNames(read, wrong)
  finish()
  return { file, name, about, steps: read }
}

function isStep(kind: string): kind is StepKind {
  return Object.hasOwn(steps, kind)
}

interface Mistake {
  path: PropertyKey[]
  message: string
}

/** For alternatives, reports the mistakes of the one whose type matches the value. */
function flat(issues: z.core.$ZodIssue[]): Mistake[] {
  return issues.flatMap(issue => {
    if (issue.code === 'unrecognized_keys')
      return issue.keys.map(key => ({ path: [...issue.path, key], message: 'is not a field of this step' }))
    if (issue.code !== 'invalid_union') return [{ path: issue.path, message: issue.message }]
    const fitting = issue.errors.find(each => !each.some(one => one.code === 'invalid_type' && one.path.length === 0))
    return flat(fitting ?? issue.errors[0] ?? []).map(one => ({ ...one, path: [...issue.path, ...one.path] }))
  })
}

function plainMessage(message: string): string {
  return message.replace(/^Invalid input: /, '').replace(/^expected /, 'must be ')
}

/** A step can refer to a port only after an attach step named it. */
function checkNames(read: Step[], wrong: (line: number, field: string, what: string) => void): void {
  const known = new Set<string>()
  for (const { kind, line, value } of read) {
    if (kind === 'attach' && value.as !== undefined) {
      if (value.count !== undefined && value.count > 1) wrong(line, 'attach.as', 'names a single port; leave out count')
      known.add(value.as)
    }
    const port = kind === 'detach' || kind === 'expect' ? value.port : undefined
    if (port !== undefined && !known.has(port))
      wrong(line, `${kind}.port`, `"${port}" is not attached yet; name it with "as" in an earlier attach step`)
  }
}
