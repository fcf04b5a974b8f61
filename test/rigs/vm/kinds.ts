/**
 * The guests, by the name of their definition in image/.
 */

/** The network managers, and the guests on which most cases run: Debian 12. */
export const guestKinds = ['netplan', 'networkmanager'] as const

export type GuestKind =
  | (typeof guestKinds)[number]
  | `${'bullseye' | 'trixie' | 'forky'}-${(typeof guestKinds)[number]}`
  | 'ifcfg'
  | 'selinux'
  | 'arm64'
  | 'kubelet'
  | 'without-nftables'
