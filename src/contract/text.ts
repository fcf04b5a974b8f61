/**
 * Schemas of strings and objects that several documents share.
 */
import * as z from 'zod'
import { parseCidr, parseIp, parseNetwork } from './address.ts'
import { durationPattern } from './duration.ts'

/** IDs of other systems (VMs, ports, providers, subnets) are opaque: only their length is checked. */
export const opaqueId = z.string().min(1).max(253)

/** A name that a tenant of the cloud chose: for people, never a key. The cloud allows 255 characters. */
export const tenantName = z.string().max(255)

/** A label of DNS (RFC 1123): fits into the key of a Kubernetes label and the name of an object. */
export const dnsLabel = z
  .string()
  .max(63)
  .regex(/^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/)

export const macAddress = z
  .string()
  .max(17)
  .regex(/^([0-9A-Fa-f]{2}:){5}[0-9A-Fa-f]{2}$/)
  .meta({ description: 'MAC address: six hex pairs with colons, in either case.' })

export const ipAddress = z
  .string()
  .max(45)
  .regex(/^[0-9A-Fa-f:.]+$/)
  .refine(text => parseIp(text) !== undefined, 'must be an IPv4 or IPv6 address')

export const cidr = z
  .string()
  .max(49)
  .regex(/^[0-9A-Fa-f:.]+\/[0-9]{1,3}$/)
  .refine(text => parseCidr(text) !== undefined, 'must be a network or address in CIDR form, such as 192.168.1.0/24')

const noNetwork = 'must be an address or a network, such as 192.168.1.10/32 or 192.168.1.0/24'

/** An address stands for the network of this address alone. */
export const network = z
  .string()
  .max(49)
  .regex(/^[0-9A-Fa-f:.]+(\/[0-9]{1,3})?$/, { message: noNetwork, abort: true })
  .refine(text => parseNetwork(text) !== undefined, noNetwork)

export const duration = z.string().max(32).regex(new RegExp(durationPattern))

export const timestamp = z.iso.datetime({ offset: true })

export const condition = z
  .object({
    type: z.string().min(1).max(316),
    status: z.enum(['True', 'False', 'Unknown']),
    reason: z.string().max(1024).optional(),
    message: z.string().max(32768).optional(),
    lastTransitionTime: timestamp.optional(),
    observedGeneration: z.int().min(0).max(Number.MAX_SAFE_INTEGER).optional(),
  })
  .meta({ description: 'One aspect of the state, with its reason and a message.' })

export const conditions = z
  .array(condition)
  .max(32)
  .meta({ 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['type'] })

/** Kubernetes uses int64; JSON numbers are exact up to 2^53. */
export const generation = z.int().min(0).max(Number.MAX_SAFE_INTEGER)
