/**
 * Data of `why --to`: the paths of packets of one NIC, and what the agent reported about them. Pure.
 */
import { formatIp, type Ip, networkOf, parseCidr } from '../contract/address.ts'
import { type Comparison, comparisonsOf } from '../contract/deviations.ts'
import type { InventoryRecord } from '../contract/inventory.ts'
import { onlyBoundIn, waysIn, withoutMarksIn } from '../contract/routing-messages.ts'
import { type KnownNic, type PacketPath, packetPaths, questions } from './packet-path.ts'
import { type Explained, type NicView, nicView } from './status.ts'
import type { NodeNames } from './why.ts'

export interface PathAnswer extends NodeNames, Explained {
  interface: string
  status: string
  to: string
  paths: PacketPath[]
  /** What the agent reported about the way of packets. */
  obstacles: string[]
  /** To run on the node. */
  commands: string[]
}

/** Undefined if the node does not have the interface. */
export function pathAnswer(record: InventoryRecord, index: number, to: Ip, now: Date): PathAnswer | undefined {
  const delivered = new Set(record.config.interfaces.map(({ macAddress }) => macAddress))
  const compared = comparisonsOf(record).filter(({ requested }) => delivered.has(requested.macAddress))
  const about = compared.find(({ requested }) => requested.id === index)
  if (!about) return undefined
  const { providerId, providerName, nodeName, instanceId, instanceName } = record
  const { name, status, reason, message, remedy }: NicView = nicView(about, now)
  return {
    providerId,
    ...(providerName && { providerName }),
    nodeName,
    instanceId,
    ...(instanceName && { instanceName }),
    interface: name,
    status,
    ...(reason && { reason }),
    ...(message && { message }),
    ...(remedy && { remedy }),
    to: formatIp(to),
    paths: packetPaths(index, compared.map(knownNic), to),
    obstacles: obstaclesIn(message ?? ''),
    commands: questions(index, about.requested, to),
  }
}

function knownNic({ requested, state }: Comparison): KnownNic {
  const networks = onlyBoundIn(state?.message ?? '').flatMap(({ network }) => parseCidr(network) ?? [])
  return { nic: requested, reserved: networks.map(networkOf) }
}

/** Of the message of an interface. */
function obstaclesIn(message: string): string[] {
  const texts = [...waysIn(message), ...onlyBoundIn(message)].map(({ text }) => text)
  return [...texts, ...withoutMarksIn(message)]
}
