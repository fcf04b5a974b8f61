/**
 * JSONPath of printer columns: fields, and filters such as `[?(@.type=="Ready")]`.
 */
import { isRecord, listOf } from '../json.ts'

type Step = (value: unknown) => unknown

/** The first value at a path. Throws if the path has other parts. */
export function jsonPath(text: string): Step {
  const steps: Step[] = []
  const part = /\.(\w+)|\[\?\(@\.(\w+)==(["'])(.*?)\3\)\]/y
  while (part.lastIndex < text.length) {
    const at = part.lastIndex
    const [found, name, key = '', , wanted] = part.exec(text) ?? []
    if (found === undefined) throw new Error(`invalid JSONPath ${text}: syntax error at position ${at}`)
    steps.push(value => {
      if (name !== undefined) return isRecord(value) ? value[name] : undefined
      return listOf(value).find(item => isRecord(item) && item[key] === wanted)
    })
  }
  return value => steps.reduce((at, step) => step(at), value)
}
