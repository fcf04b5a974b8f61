/**
 * What the spec of a config requests: complete interfaces, their errors and the hash. Pure.
 */
import { completeInterfaces, type FieldError, type Interface, specHash } from '../../contract/interfaces.ts'
import type { NodeConfig } from '../../contract/node-config.ts'
import { instanceIdOf } from '../machine.ts'

export interface Requested {
  interfaces: Interface[]
  errors: FieldError[]
  specHash: string
}

/** Objects in the cache are immutable, so each is parsed once. */
const parsed = new WeakMap<NodeConfig, Requested>()

export function requestedOf(config: NodeConfig): Requested {
  const known = parsed.get(config)
  if (known) return known
  const requested = parse(config)
  parsed.set(config, requested)
  return requested
}

/** A new version of a config with the same spec needs no second parse. */
export function carryOver(before: NodeConfig, after: NodeConfig): void {
  const known = parsed.get(before)
  if (known && before.metadata.generation === after.metadata.generation && instanceIdOf(before) === instanceIdOf(after))
    parsed.set(after, known)
}

function parse(config: NodeConfig): Requested {
  const { interfaces, errors } = completeInterfaces(config.spec.interfaces)
  const instanceId = instanceIdOf(config)
  const hash = specHash({ nodeName: config.spec.nodeName, ...(instanceId && { instanceId }), interfaces })
  return { interfaces, errors, specHash: hash }
}
