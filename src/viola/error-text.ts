/**
 * The errors of a POST in words: whoever reads them in a status knows nodes and ports, not positions in the body.
 */
import type { FieldError } from '../contract/interfaces.ts'
import { summaryOf } from '../contract/problem.ts'
import { shownName } from '../contract/truncate.ts'

/** `node worker-1, port 8d2f…: macAddress: …`. A node or an interface without a name keeps its position. */
export function errorText(body: unknown, errors: readonly FieldError[]): string {
  return summaryOf(
    errors.map(({ path, message }) => {
      const [, position, rest = ''] = /^\[(\d+)\]\.?(.*)$/.exec(path) ?? []
      const node = position === undefined ? undefined : entryOf(body, position)
      const nodeName = textIn(node, 'nodeName')
      if (nodeName === undefined) return { path, message }
      const [, at, field = ''] = /^interfaces\[(\d+)\]\.?(.*)$/.exec(rest) ?? []
      const subject = at === undefined ? '' : `, ${interfaceText(node, at)}`
      const subjectPath = [`node ${nodeName}${subject}`, at === undefined ? rest : field].filter(Boolean).join(': ')
      return { path: subjectPath, message: withNames(message, body) }
    }),
  )
}

/** A message names another interface by its path. */
function withNames(message: string, body: unknown): string {
  return message.replace(/ \[(\d+)\]\.interfaces\[(\d+)\]$/, (_, node: string, at: string) => {
    return ` ${interfaceText(entryOf(body, node), at)}`
  })
}

function interfaceText(node: unknown, at: string): string {
  const nic = entryOf(propertyOf(node, 'interfaces'), at)
  const portId = textIn(nic, 'portId')
  if (portId !== undefined) return `port ${portId}`
  const name = textIn(nic, 'name') ?? textIn(nic, 'macAddress')
  return name === undefined ? `interfaces[${at}]` : `interface ${name}`
}

function entryOf(list: unknown, position: string): unknown {
  return Array.isArray(list) ? list[Number(position)] : undefined
}

function textIn(object: unknown, key: string): string | undefined {
  const value = propertyOf(object, key)
  return typeof value === 'string' && value !== '' ? shownName(value.slice(0, 1_000)) : undefined
}

function propertyOf(object: unknown, key: string): unknown {
  return typeof object === 'object' && object !== null ? (object as Record<string, unknown>)[key] : undefined
}
