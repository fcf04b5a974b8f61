/**
 * The rows of the packet suite: what a node with extra NICs sends and receives.
 *
 * Pure.
 */

import {
  coveredByTunnel,
  fromNicFar,
  fullTunnel,
  mainFirst,
  noRouteBack,
  noRouter,
  strictPrimary,
  vpnDecides,
  vpnDecidesReply,
} from './exceptions.ts'
import type { Exception, Row } from './expectations.ts'
import { nodeRows } from './node-rows.ts'
import { serviceRows } from './service-rows.ts'

/** Replies of the node's own sockets to a client behind the gateway of the NIC. */
const replyFar: readonly Exception[] = [fullTunnel, noRouteBack]

const replies: Record<string, Row> = {
  'a client on link reaches A': { from: 'client', to: 'A', port: 'host', source: 'client', device: 'A' },
  'a client behind the gateway reaches A': {
    from: 'far',
    to: 'A',
    port: 'host',
    source: 'far',
    device: 'A',
    except: replyFar,
  },
  'a client on link reaches the second NIC of the subnet': {
    from: 'client',
    to: 'A2',
    port: 'host',
    source: 'client',
    device: 'A2',
    except: mainFirst('A', 'client'),
  },
  'a client behind the gateway reaches the second NIC of the subnet': {
    from: 'far',
    to: 'A2',
    port: 'host',
    source: 'far',
    device: 'A2',
    except: replyFar,
  },
  "a client in another NIC's subnet reaches B": {
    from: 'client',
    to: 'B',
    port: 'host',
    source: 'client',
    device: 'B',
    except: mainFirst('A', 'client'),
  },
  "a client in the primary's subnet reaches A by the router": {
    from: 'peer',
    to: 'A',
    port: 'host',
    source: 'peer',
    device: 'A',
    except: [noRouter, ...mainFirst('P', 'peer')],
  },
  'a client on link reaches a VIP on the NIC': {
    from: 'client',
    to: 'VIP',
    port: 'host',
    source: 'client',
    device: 'VIP',
  },
  'a client behind the gateway reaches a VIP on the NIC': {
    from: 'far',
    to: 'VIP',
    port: 'host',
    source: 'far',
    device: 'VIP',
    except: replyFar,
  },
  'a far client reaches P': {
    from: 'far',
    to: 'P',
    port: 'host',
    source: 'far',
    device: 'P',
    except: vpnDecidesReply,
  },
  "a client in the primary's subnet reaches P": { from: 'peer', to: 'P', port: 'host', source: 'peer', device: 'P' },
  'a client in N reaches P by the router': {
    from: 'client',
    to: 'P',
    port: 'host',
    source: 'client',
    device: 'P',
    except: [noRouter, strictPrimary, ...mainFirst('A', 'client', [6])],
  },
  'a client in N reaches a VIP of the primary by the router': {
    from: 'client',
    to: 'VIP-P',
    port: 'host',
    source: 'client',
    device: 'VIP-P',
    except: [noRouter, strictPrimary, ...mainFirst('A', 'client', [6])],
  },
  "a client in the primary's subnet reaches the NIC in this subnet": {
    from: 'peer',
    to: 'AP',
    port: 'host',
    source: 'peer',
    device: 'AP',
    except: mainFirst('P', 'peer'),
  },
  "a client behind the gateway reaches the NIC in the primary's subnet": {
    from: 'far',
    to: 'AP',
    port: 'host',
    source: 'far',
    device: 'AP',
    except: replyFar,
  },
  "a client in N reaches the NIC in the primary's subnet by the router": {
    from: 'client',
    to: 'AP',
    port: 'host',
    source: 'client',
    device: 'AP',
    except: [noRouter, ...mainFirst('A', 'client')],
  },
}

const pods: Record<string, Row> = {
  'a Pod reaches N, masqueraded': { from: 'pod', to: 'client', port: 'server', source: 'A', device: 'A' },
  'a Pod reaches an address of N that a more specific route covers': {
    from: 'pod',
    to: 'covered',
    port: 'server',
    source: 'A',
    device: 'A',
    except: [coveredByTunnel],
  },
  'a Pod reaches a far host by the primary': {
    from: 'pod',
    to: 'far',
    port: 'server',
    source: 'P',
    device: 'P',
    except: vpnDecides,
  },
  "a Pod reaches the primary's subnet": { from: 'pod', to: 'peer', port: 'server', source: 'P', device: 'P' },
  'a Pod reaches A of its node': { from: 'pod', to: 'A', port: 'host', source: 'pod', device: 'none' },
  'a Pod reaches a VIP of its node': { from: 'pod', to: 'VIP', port: 'host', source: 'pod', device: 'none' },
  'a Pod sends UDP to N': { from: 'pod', to: 'client', port: 'server', udp: true, source: 'A', device: 'A' },
  'a Pod without masquerade reaches N': {
    from: 'pod',
    bind: 'routed pod',
    to: 'client',
    port: 'server',
    source: 'routed pod',
    device: 'A',
  },
  'the node sends UDP to N, unbound': {
    from: 'node',
    to: 'client',
    port: 'server',
    udp: true,
    source: 'A',
    device: 'A',
  },
  'the node bound to A sends UDP to a far host': {
    from: 'node',
    bind: 'A',
    to: 'far',
    port: 'server',
    udp: true,
    source: 'A',
    device: 'A',
    except: fromNicFar,
  },
}

/** By a sentence that says what the row expects without a VPN, behind port security. */
export const table: Readonly<Record<string, Row>> = { ...replies, ...nodeRows, ...pods, ...serviceRows }

/** Destinations that every VPN must meet. */
export const core: readonly string[] = [
  'a client on link reaches A',
  'a client behind the gateway reaches A',
  'a client in N reaches P by the router',
  'the node reaches N, unbound',
  'the node reaches a far host, unbound, by the primary',
  'the node bound to A reaches a far host by the gateway',
  "the node bound to A reaches the primary's subnet by the gateway",
  "the node bound to B reaches another NIC's subnet by the gateway",
  'the node bound to A reaches a Pod of its own',
  'a Pod reaches N, masqueraded',
  'a Pod reaches a Service with an endpoint in N',
  'a client on link reaches a NodePort Local at A',
  'a client behind the gateway reaches a NodePort Cluster at A with a local Pod',
  'a client behind the gateway reaches a NodePort at A with a hostNetwork endpoint',
  'a client behind the gateway reaches an external IP',
  'a client on link reaches a VIP on the NIC',
  'a client behind the gateway reaches a VIP on no interface',
]
