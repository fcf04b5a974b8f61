/**
 * Checks of `multinic doctor`: the addresses of Pods on our NICs, and whether port security lets them through.
 *
 * Whoever creates a Pod can write its annotations, so only valid addresses reach a command that somebody may copy.
 */
import { contains, formatIp, parseCidr, parseIp, parseMac } from '../../contract/address.ts'
import { completeInterfaces } from '../../contract/interfaces.ts'
import type { NodeConfig } from '../../contract/node-config.ts'
import type { OperatorVerdict } from '../../contract/operator-api.ts'
import type { KubeClient } from '../../kube/client.ts'
import { isNotFound } from '../../kube/errors.ts'
import { keyText } from '../../kube/keys.ts'
import { networkAttachments, pods } from '../../kube/resources.ts'
import type { PodObject } from '../../kube/types.ts'
import { messageOf } from '../../runtime/errors.ts'
import { jsonIn, mastersIn, statusAnnotation } from '../pod-networks.ts'
import { bad, type Finding, ok, some, unreadable, warn } from './finding.ts'

/** An address of a Pod in the network of one of our NICs. */
export interface PodAddress {
  /** namespace/name. */
  pod: string
  nodeName: string
  /** The NIC of the node, such as multinic0. */
  nic: string
  address: string
  /** Absent if Multus did not report it. */
  macAddress?: string
}

/** The kind that the account may not list, or the addresses and the verdicts on selected ports. */
export type PodNetworks =
  | { unreadable: string }
  | { addresses: readonly PodAddress[]; verdicts?: readonly OperatorVerdict[] | undefined; problem?: string }

/** Asks the operator only if Pods have addresses on our NICs. */
export async function podNetworksIn(
  kube: KubeClient,
  verdicts: () => Promise<OperatorVerdict[] | undefined>,
): Promise<PodNetworks> {
  let nics: Map<string, string>
  try {
    const { items } = await kube.list(networkAttachments)
    nics = new Map(items.flatMap(one => nicOf(one.spec?.config).map(nic => [keyText(one.metadata), nic])))
  } catch (error) {
    return isNotFound(error) ? { addresses: [] } : { unreadable: 'NetworkAttachmentDefinitions' }
  }
  if (nics.size === 0) return { addresses: [] }
  try {
    const addresses = (await kube.list(pods)).items.flatMap(pod => addressesOf(pod, nics))
    if (addresses.length === 0) return { addresses }
    return await verdicts().then(
      found => ({ addresses, verdicts: found }),
      // The first line has the problem. The remedy of the finding replaces the others.
      error => ({ addresses, problem: messageOf(error).split('\n', 1)[0] ?? '' }),
    )
  } catch {
    return { unreadable: 'Pods' }
  }
}

/** The NIC of ours that a CNI configuration uses. */
function nicOf(config = ''): string[] {
  return (mastersIn(config) ?? []).filter(name => /^multinic\d$/.test(name)).slice(0, 1)
}

/** Multus writes the networks of a Pod to its annotation. */
function addressesOf({ metadata, spec, status }: PodObject, nics: ReadonlyMap<string, string>): PodAddress[] {
  const { nodeName } = spec
  if (nodeName === undefined || status?.phase === 'Succeeded' || status?.phase === 'Failed') return []
  const networks = jsonIn(metadata.annotations?.[statusAnnotation] ?? '')
  if (!Array.isArray(networks)) return []
  return (networks as ({ name?: unknown; ips?: unknown; mac?: unknown } | null)[]).flatMap(network => {
    const nic = nics.get(String(network?.name))
    if (nic === undefined || !Array.isArray(network?.ips)) return []
    const macAddress = parseMac(String(network.mac))
    return network.ips.flatMap((text): PodAddress[] => {
      const ip = parseIp(String(text))
      if (!ip) return []
      const pod = keyText(metadata)
      return [{ pod, nodeName, nic, address: formatIp(ip), ...(macAddress && { macAddress }) }]
    })
  })
}

export function aboutPodAddresses(found: PodNetworks, configs: readonly NodeConfig[] = []): Finding[] {
  if ('unreadable' in found) return [unreadable(found.unreadable)]
  const { addresses, verdicts, problem } = found
  if (addresses.length === 0) return []
  const count = `${addresses.length} addresses of Pods`
  if (!verdicts)
    return [
      warn(
        `cannot compare ${count} with the allowed address pairs: ${problem ?? 'the inventory has no verdicts of an operator'}`,
        'set the URL of the inventory that the operator writes to with --inventory URL',
      ),
    ]
  const ports = portsOf(configs, verdicts)
  const unknown: PodAddress[] = []
  const dropped = new Map<Port, PodAddress[]>()
  for (const one of addresses) {
    const port = ports.get(`${one.nodeName} ${one.nic}`)
    if (!port?.security) unknown.push(one)
    else if (!passes(one, port)) dropped.set(port, [...(dropped.get(port) ?? []), one])
  }
  const findings = [...dropped].map(([port, list]) => aboutDropped(port, list))
  if (unknown.length > 0)
    findings.push(
      warn(
        `port security is unknown for ${some(unknown.map(placeOf))}`,
        'compare the addresses with the port: openstack port show PORT -c allowed_address_pairs',
      ),
    )
  return findings.length > 0 ? findings : [ok(`port security lets ${count} through`)]
}

interface Port {
  id: string
  place: string
  macAddress: string
  security: OperatorVerdict['portSecurity']
}

/** By node and NIC. */
function portsOf(configs: readonly NodeConfig[], verdicts: readonly OperatorVerdict[]): Map<string, Port> {
  const securityOf = new Map(verdicts.map(({ portId, portSecurity }) => [portId, portSecurity]))
  return new Map(
    configs.flatMap(({ spec }) =>
      completeInterfaces(spec.interfaces).interfaces.map(({ name, portId = '', macAddress }): [string, Port] => {
        const place = `${spec.nodeName} ${name}`
        return [place, { id: portId, place, macAddress, security: securityOf.get(portId) }]
      }),
    ),
  )
}

function passes({ address, macAddress }: PodAddress, port: Port): boolean {
  const ip = parseIp(address)
  if (!port.security?.enabled || !ip) return true
  return port.security.allowedAddressPairs.some(pair => {
    const range = parseCidr(
      pair.ipAddress.includes('/') ? pair.ipAddress : `${pair.ipAddress}/${ip.family === 4 ? 32 : 128}`,
    )
    return range && contains(range, ip) && parseMac(pair.macAddress) === (macAddress ?? port.macAddress)
  })
}

function aboutDropped({ id, place, macAddress }: Port, list: readonly PodAddress[]): Finding {
  const pairs = list.map(
    one => `--allowed-address ip-address=${one.address},mac-address=${one.macAddress ?? macAddress}`,
  )
  const shown = pairs.slice(0, 5).join(' ')
  const port = /^[\w.-]+$/.test(id) ? id : 'PORT'
  return bad(
    `${place}: port security drops packets of Pods, whose addresses are no allowed address pairs of port ${id}: ${some(list.map(one => `${one.pod} ${one.address}`))}`,
    `if the addresses are right, run openstack port set ${shown} ${port}${pairs.length > 5 ? ' and add the others, or their range as a CIDR' : ''}`,
  )
}

const placeOf = ({ pod, address, nodeName, nic }: PodAddress) => `${pod} ${address} (${nodeName} ${nic})`
