/**
 * Names for people, with the ID on demand. Pure.
 */

/** The name, or the ID of what has none. Wide: both. */
export function nameText(name: string | undefined, id: string, { wide }: { wide: boolean }): string {
  if (!name) return id
  return wide && id ? `${name} (${id})` : name
}

interface SubnetNames {
  subnetName?: string | undefined
  subnetId?: string | undefined
  networkName?: string | undefined
  networkId?: string | undefined
}

/** The subnet of a NIC, or its network. The ID of a subnet without a name is shown only if wide. */
export function subnetText(nic: SubnetNames, options: { wide: boolean }): string {
  if (nic.subnetName || options.wide) return nameText(nic.subnetName, nic.subnetId ?? '', options)
  return nic.networkName ?? ''
}
