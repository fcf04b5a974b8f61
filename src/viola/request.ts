/**
 * Parses requests: the nodes of a POST with complete interfaces, or its errors by path, and the page of a GET.
 *
 * A hostile body must not cost more than its size: list lengths are checked before the schema, nodes are validated one by
 * one, and validation stops after `maxErrors` errors.
 */
import {
  completeInterfaces,
  type FieldError,
  maxInterfaces,
  specHash,
  type WireInterface,
} from '../contract/interfaces.ts'
import type { NodeConfig } from '../contract/node-config.ts'
import { labelsOf, nodeNameError, objectName } from '../contract/node-names.ts'
import { fieldErrors, maxErrors } from '../contract/problem.ts'
import { maxPostNodes, violaInterface, violaNodeConfig } from '../contract/viola.ts'
import { HttpProblem } from '../server/server.ts'
import type { RequestedNode } from './plan.ts'

/** Above the limits of the schema, so that the message of the schema names the limit of a slightly longer list. */
const maxListLength = 100

export function nodesFrom(body: unknown, providerId: string): { nodes: RequestedNode[]; errors: FieldError[] } {
  if (!Array.isArray(body)) return failed([{ path: '', message: 'the body must be a JSON array of node configs' }])
  if (body.length === 0) return failed([{ path: '', message: 'empty payload: send at least one node config' }])
  if (body.length > maxPostNodes)
    throw new HttpProblem(413, `the body has ${body.length} node configs; send at most ${maxPostNodes} in one POST`)

  const errors: FieldError[] = []
  const nodes: RequestedNode[] = []
  const positions = new Map<string, number>()
  for (const [position, entry] of body.entries()) {
    if (errors.length >= maxErrors) break
    const { node, errors: found } = nodeFrom(entry, `[${position}]`, providerId)
    errors.push(...found.slice(0, maxErrors - errors.length))
    if (!node) continue
    const first = positions.get(node.nodeName)
    if (first !== undefined)
      errors.push({ path: `[${position}].nodeName`, message: `duplicate node ${node.nodeName}, see [${first}]` })
    else positions.set(node.nodeName, position)
    nodes.push(node)
  }
  return errors.length > 0 ? failed(errors) : { nodes, errors: [] }
}

/** The objects after the cursor, by the name of their node, and the cursor of the next page. */
export function pageOf(
  objects: readonly NodeConfig[],
  limit: string | undefined,
  cursor = '',
): { page: NodeConfig[]; next?: string } {
  const size = limit === undefined ? Number.POSITIVE_INFINITY : Number(limit)
  if (Number.isNaN(size) || size < 1) throw new HttpProblem(400, `limit must be a number above zero: ${limit}`)
  const nameOf = ({ spec }: NodeConfig) => spec.nodeName
  const rest = objects.filter(object => nameOf(object) > cursor).sort((a, b) => (nameOf(a) < nameOf(b) ? -1 : 1))
  const page = rest.slice(0, size)
  const last = page.at(-1)
  return { page, ...(last && page.length < rest.length && { next: nameOf(last) }) }
}

const failed = (errors: FieldError[]) => ({ nodes: [], errors })

function nodeFrom(entry: unknown, at: string, providerId: string): { node?: RequestedNode; errors: FieldError[] } {
  const tooLong = tooLongLists(entry, at)
  if (tooLong.length > 0) return { errors: tooLong }
  const parsed = violaNodeConfig.safeParse(entry)
  if (!parsed.success) return { errors: allErrors(entry, fieldErrors(parsed.error, at), at) }

  const { nodeName, instanceId, instanceName, expectedSpecHash } = parsed.data
  const { interfaces, errors } = completeInterfaces(parsed.data.interfaces, `${at}.interfaces`)
  const requested = { nodeName, ...(instanceId ? { instanceId } : {}), interfaces }
  const node = {
    ...requested,
    ...(instanceName ? { instanceName } : {}),
    objectName: objectName(nodeName),
    labels: labelsOf(requested, providerId),
    specHash: specHash(requested),
    ...(expectedSpecHash === undefined ? {} : { expectedSpecHash }),
  }
  // A node that has such a name already can still be emptied.
  const nameError = interfaces.length > 0 ? nodeNameError(nodeName) : undefined
  const nameErrors = nameError === undefined ? [] : [{ path: `${at}.nodeName`, message: nameError }]
  return { node, errors: [...nameErrors, ...errors] }
}

function tooLongLists(entry: unknown, at: string): FieldError[] {
  const { interfaces } = recordOf(entry)
  if (!Array.isArray(interfaces)) return []
  if (interfaces.length > maxListLength)
    return [
      { path: `${at}.interfaces`, message: `has ${interfaces.length} interfaces; a node has at most ${maxInterfaces}` },
    ]
  return interfaces.flatMap((nic: unknown, position) =>
    Object.entries(recordOf(nic)).flatMap(([field, value]) =>
      Array.isArray(value) && value.length > maxListLength
        ? [{ path: `${at}.interfaces[${position}].${field}`, message: `too many entries: ${value.length}` }]
        : [],
    ),
  )
}

/** Errors of the schema, and errors found by completing the valid fields. */
function allErrors(entry: unknown, found: FieldError[], at: string): FieldError[] {
  const { interfaces } = recordOf(entry)
  if (!Array.isArray(interfaces)) return found
  const known = new Set(found.map(({ path }) => path))
  const hasUncertainIndexes = found.some(({ path }) => /\.(id|name)$|\]$/.test(path))
  const more = completeInterfaces(interfaces.map(validFields), `${at}.interfaces`).errors
  return [...found, ...more.filter(({ path }) => !known.has(path) && !(hasUncertainIndexes && path.endsWith('.id')))]
}

function validFields(given: unknown): WireInterface {
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
