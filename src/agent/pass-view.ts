/**
 * The node as one pass sees it: what it observes for the request, and what it plans.
 */
import { canonical, parseIp } from '../contract/address.ts'
import { addressesOf, type Interface } from '../contract/interfaces.ts'
import { hex, slotMark } from '../contract/routing-scheme.ts'
import type { AgentContext } from './context.ts'
import { type ObserveOptions, observe } from './observe/observe.ts'
import { type Plan, planRun } from './plan/plan.ts'
import { lookupCommands } from './plan/route-lookups.ts'
import type { Observed } from './state/observed.ts'
import { recordPath } from './state/ownership.ts'
import { parseRecord } from './state/records.ts'

export interface NodeOptions {
  known?: ObserveOptions['known']
  nft?: Observed['nft']
  /** The NICs to ask which way their packets take. */
  lookups?: readonly Interface[]
}

export async function observeNode(context: AgentContext, options: NodeOptions = {}): Promise<Observed> {
  const { apiServer, policyRouting, markMask } = context.settings
  const { interfaces, nodeAddresses } = context.request
  const { known, nft, lookups = interfaces } = options
  const addresses = nodeAddresses.flatMap(text => canonical(text) ?? [])
  return observe(context, {
    macAddresses: interfaces.map(nic => nic.macAddress),
    requested: interfaces,
    ipv4Only: interfaces.every(nic => addressesOf(nic).every(address => !address.includes(':'))),
    lookups: policyRouting
      ? lookupCommands(lookups, interfaces, addresses, nic => hex(slotMark(slotOf(nic, context), markMask)))
      : [],
    ...(known ? { known } : {}),
    ...(nft ? { nft } : {}),
    ...(apiServer && parseIp(apiServer) ? { apiServer } : {}),
  })
}

function slotOf(nic: Interface, { host, paths }: AgentContext): number {
  const record = parseRecord(host.readFile(recordPath(paths, nic.macAddress))?.text ?? '')
  return record?.marked.slot ?? nic.index
}

export function planNode(
  observed: Observed,
  { request, settings, paths, unread = [] }: AgentContext,
  skip: ReadonlySet<number>,
  { keepsOrphans = false } = {},
): Plan {
  const interfaces = request.mode === 'cleanup' ? [] : request.interfaces
  return planRun({ ...request, interfaces, settings, paths, observed, unread, skip, keepsOrphans })
}
