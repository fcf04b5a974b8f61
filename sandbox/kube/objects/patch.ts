/**
 * JSON patch, and strategic merge patch for built-in kinds. Both return a new value.
 */
import { equalJson } from '../../../src/contract/json.ts'
import { ApiError, badRequest } from '../api-errors.ts'
import { copy, type Fields, isRecord } from '../json.ts'
import { fieldSchema, itemKey, type Schema } from '../kinds/schema.ts'

export function applyJsonPatch(value: unknown, patch: unknown): unknown {
  if (!Array.isArray(patch)) throw badRequest('error decoding patch: a JSON patch must be a list of operations')
  const root: Fields = { root: copy(value) }
  for (const operation of patch) {
    if (!isRecord(operation)) throw badRequest('error decoding patch: a JSON patch must be a list of operations')
    applyOperation(root, operation)
  }
  return root['root']
}

function applyOperation(root: Fields, operation: Fields): void {
  const path = pointer(operation['path'])
  const op = operation['op']
  if (op === 'add') setAt(root, path, copy(operation['value']), true)
  else if (op === 'replace') setAt(root, path, copy(operation['value']), false)
  else if (op === 'remove') removeAt(root, path)
  else if (op === 'move') setAt(root, path, removeAt(root, pointer(operation['from'])), true)
  else if (op === 'copy') setAt(root, path, copy(read(root, pointer(operation['from']))), true)
  else if (op === 'test') {
    if (equalJson(read(root, path) ?? null, operation['value'] ?? null)) return
    throw unprocessable(`testing value ${String(operation['path'])} failed`)
  } else throw unprocessable(`unknown operation ${String(op)}`)
}

function pointer(text: unknown): string[] {
  if (typeof text !== 'string') throw badRequest('every operation of a JSON patch must have a path')
  const steps = text === '' ? [] : text.slice(1).split('/')
  return ['root', ...steps.map(step => step.replaceAll('~1', '/').replaceAll('~0', '~'))]
}

function unprocessable(because: string): ApiError {
  return new ApiError(422, 'Invalid', `the server rejected our request due to an error in our request: ${because}`, {})
}

function read(root: Fields, path: readonly string[]): unknown {
  let at: unknown = root
  for (const step of path) {
    if (Array.isArray(at)) at = at[indexAt(at, step, at.length - 1)]
    else if (isRecord(at)) at = at[step]
    else return undefined
  }
  return at
}

function indexAt(list: readonly unknown[], step: string, max: number): number {
  const index = step === '-' ? list.length : Number(step)
  if (!Number.isInteger(index) || index < 0 || index > max) throw unprocessable(`index ${step} is out of bounds`)
  return index
}

function parentOf(root: Fields, path: readonly string[]): { at: Fields | unknown[]; last: string } {
  const at = read(root, path.slice(0, -1))
  if (!isRecord(at) && !Array.isArray(at)) {
    throw unprocessable(`path /${path.slice(1).join('/')} does not exist`)
  }
  return { at, last: path.at(-1) ?? '' }
}

function setAt(root: Fields, path: readonly string[], value: unknown, adds: boolean): void {
  const { at, last } = parentOf(root, path)
  if (Array.isArray(at)) {
    const index = indexAt(at, last, adds ? at.length : at.length - 1)
    at.splice(index, adds ? 0 : 1, value)
    return
  }
  if (!adds && at[last] === undefined) throw unprocessable(`/${path.slice(1).join('/')} is missing`)
  at[last] = value
}

function removeAt(root: Fields, path: readonly string[]): unknown {
  const { at, last } = parentOf(root, path)
  if (Array.isArray(at)) return at.splice(indexAt(at, last, at.length - 1), 1)[0]
  const value = at[last]
  if (value === undefined) throw unprocessable(`/${path.slice(1).join('/')} is missing`)
  delete at[last]
  return value
}

/** Merges maps and keyed lists, replaces other lists, and supports `$patch` and `$deleteFromPrimitiveList`. */
export function applyStrategicMergePatch(value: unknown, patch: unknown, schema: Schema | undefined): unknown {
  if (Array.isArray(patch)) return mergeList(Array.isArray(value) ? value : [], patch, schema)
  if (!isRecord(patch)) return copy(patch)
  if (patch['$patch'] === 'replace') return copy(withoutDirective(patch))
  const result: Fields = isRecord(value) ? { ...value } : {}
  for (const name of Object.keys(patch)) {
    if (name === '$patch' || name === '$retainKeys' || name.startsWith('$setElementOrder/')) continue
    const removed = /^\$deleteFromPrimitiveList\/(.*)$/.exec(name)?.[1]
    if (removed !== undefined) {
      const gone = Array.isArray(patch[name]) ? patch[name] : []
      if (Array.isArray(result[removed])) result[removed] = result[removed].filter(item => !gone.includes(item))
    } else if (patch[name] === null) delete result[name]
    else result[name] = applyStrategicMergePatch(result[name], patch[name], fieldSchema(schema, name))
  }
  return result
}

function mergeList(value: readonly unknown[], patch: readonly unknown[], schema: Schema | undefined): unknown[] {
  if (schema?.['x-kubernetes-list-type'] === 'set') {
    return [...value, ...patch.filter(item => !value.some(one => equalJson(one, item)))]
  }
  const key = schema?.['x-kubernetes-patch-merge-key'] ?? schema?.['x-kubernetes-list-map-keys']?.[0]
  if (!schema || !key || patch.some(item => isRecord(item) && item['$patch'] === 'replace')) {
    return patch.filter(item => !(isRecord(item) && item['$patch'] === 'replace')).map(copy)
  }
  const result = [...value]
  for (const item of patch) {
    const keyOfItem = itemKey(item, [key])
    const index = result.findIndex(one => equalJson(itemKey(one, Object.keys(keyOfItem)), keyOfItem))
    const deletes = isRecord(item) && item['$patch'] === 'delete'
    if (deletes && index >= 0) result.splice(index, 1)
    else if (deletes) continue
    else if (index >= 0) result[index] = applyStrategicMergePatch(result[index], item, schema.items)
    else result.push(copy(item))
  }
  return result
}

function withoutDirective(patch: Fields): Fields {
  return Object.fromEntries(Object.entries(patch).filter(([name]) => name !== '$patch'))
}
