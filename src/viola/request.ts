/**
 * The body of a POST: every mistake in it by path, or the nodes in the form that is planned with.
 */
import { completeInterfaces, type FieldError, specHash, type WireInterface } from '../contract/interfaces.ts'
import { fieldErrors } from '../contract/problem.ts'
import { violaInterface, violaPost } from '../contract/viola.ts'
import { labelsOf, objectName } from './names.ts'
import type { WantedNode } from './plan.ts'

export function nodesFrom(body: unknown, providerId: string): { nodes: WantedNode[]; errors: FieldError[] } {
  if (Array.isArray(body) && body.length === 0)
    return { nodes: [], errors: [{ path: '', message: 'empty payload: at least one node config is needed' }] }
  const parsed = violaPost.safeParse(body)
  if (!parsed.success) return { nodes: [], errors: allErrors(body, fieldErrors(parsed.error)) }

  const errors = repeatedNodes(parsed.data)
  const nodes = parsed.data.map((node, index) => {
    const completed = completeInterfaces(node.interfaces, `[${index}].interfaces`)
    errors.push(...completed.errors)
    const wanted = {
      nodeName: node.nodeName,
      ...(node.instanceId ? { instanceId: node.instanceId } : {}),
      interfaces: completed.interfaces,
    }
    return {
      ...wanted,
      objectName: objectName(node.nodeName),
      labels: labelsOf(wanted, providerId),
      specHash: specHash(wanted),
      ...(node.expectedSpecHash === undefined ? {} : { expectedSpecHash: node.expectedSpecHash }),
    }
  })
  return errors.length > 0 ? { nodes: [], errors } : { nodes, errors: [] }
}

/** What the schema found, and beside it what only a look at whole interfaces finds, from the fields that are sound. */
function allErrors(body: unknown, found: FieldError[]): FieldError[] {
  const known = new Set(found.map(({ path }) => path))
  const more = (Array.isArray(body) ? body : []).flatMap((node: unknown, index) => {
    const at = `[${index}].interfaces`
    const interfaces = recordOf(node)['interfaces']
    if (!Array.isArray(interfaces) || interfaces.length > 100) return []
    const numbersUnsure = found.some(({ path }) => path.startsWith(at) && /\.(id|name)$|\]$/.test(path))
    return completeInterfaces(interfaces.map(soundFields), at).errors.filter(
      ({ path }) => !(numbersUnsure && path.endsWith('.id')),
    )
  })
  return [...found, ...more.filter(({ path }) => !known.has(path))]
}

function soundFields(given: unknown): WireInterface {
  const fields = Object.entries(recordOf(given)).filter(([key, value]) => {
    const schema = Object.hasOwn(violaInterface.shape, key)
      ? violaInterface.shape[key as keyof typeof violaInterface.shape]
      : undefined
    return schema?.safeParse(value).success ?? false
  })
  return { macAddress: '', ...Object.fromEntries(fields) }
}

function recordOf(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
}

function repeatedNodes(nodes: readonly { nodeName: string }[]): FieldError[] {
  const first = new Map<string, number>()
  return nodes.flatMap(({ nodeName }, index) => {
    const before = first.get(nodeName)
    if (before !== undefined)
      return [{ path: `[${index}].nodeName`, message: `${nodeName} is named by [${before}] too` }]
    first.set(nodeName, index)
    return []
  })
}
