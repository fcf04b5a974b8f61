/**
 * What the agent gets of one interface, and its hash: a request is unchanged while this is.
 */
import { hashOf } from './hash.ts'
import { fieldUses, type Interface, interfaceFields, type WireInterface } from './interface-fields.ts'

const fields = Object.keys(fieldUses) as (keyof typeof fieldUses)[]
const agentFields = fields.filter(field => fieldUses[field] === 'agent')

/**
 * Without the fields that the agent does not read. With them the largest spec would exceed 128 KiB, and the kernel starts no
 * container with a longer variable.
 */
export function inputInterface(nic: Interface): WireInterface {
  const input: Record<string, unknown> = {}
  for (const field of agentFields) if (nic[field] !== undefined) input[interfaceFields[field]] = nic[field]
  return input as unknown as WireInterface
}

/** Only what the agent gets counts. */
export function interfaceHash(nic: Interface): string {
  return hashOf(inputInterface(nic)).slice(0, 16)
}
