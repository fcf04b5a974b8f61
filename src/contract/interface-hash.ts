/**
 * What the agent gets of one interface, and its hash: a request is unchanged while this is.
 */
import { hashOf } from './hash.ts'
import { type Interface, toWireInterface, type WireInterface, withoutNames } from './interfaces.ts'

/**
 * Without the fields that the agent does not read. With them the largest spec would exceed 128 KiB, and the kernel starts no
 * container with a longer variable.
 */
export function inputInterface(nic: Interface): WireInterface {
  const { networkId: _, subnetId: __, source: ___, ...read } = withoutNames(nic)
  return toWireInterface(read)
}

/** Only what the agent gets counts. */
export function interfaceHash(nic: Interface): string {
  return hashOf(inputInterface(nic)).slice(0, 16)
}
