/**
 * What the user commands do: read the APIs, then print. Loaded only when one of them runs.
 */
import { type OpenstackConfig, openstackConfigs } from '../contract/openstack-config.ts'
import type { OperatorVerdict } from '../contract/operator-api.ts'
import { messageOf } from '../runtime/errors.ts'
import { type AccessFlags, accessFrom } from './access.ts'
import { type Api, connectApi, type Query } from './api.ts'
import { checked } from './checked.ts'
import { planned } from './dry-run.ts'
import { CliError, type Ending, type Io } from './io.ts'
import type { Messages } from './messages/en.ts'
import { messagesIn } from './messages/messages.ts'
import { type Format, print, timeFrom } from './output.ts'
import { hitsIn } from './past-search.ts'
import { historyLines } from './render/history-text.ts'
import { list } from './render/list.ts'
import {
  auditColumns,
  deviationColumns,
  deviationLines,
  hitColumns,
  hitView,
  holderColumns,
  holderLimits,
  oldestOf,
} from './render/lists.ts'
import { wayLines } from './render/path-text.ts'
import { planLines, storedPlanLines } from './render/plan-text.ts'
import { ago } from './render/reason.ts'
import { historyColumns, historyRows, nicColumns, nicRows, whyColumns, whyRows } from './render/rows.ts'
import { statusTree } from './render/status-tree.ts'
import { whyLines } from './render/why-text.ts'
import { statusOf } from './status.ts'
import { nodesAbout, whyOf } from './why.ts'

/** Entries that an export holds in memory. */
const maxAudit = 100_000

export interface Flags extends AccessFlags {
  action?: string
  object?: string
  caller?: string
  from?: string
  output?: Format
  provider?: string
  at?: string
  ever?: boolean
  limit?: number
  kubeconfig?: string
  context?: string
  namespace?: string
  filename?: string
  /** The node to check. */
  now?: string
  timeout?: string
  selector?: string
  /** Address that packets are sent to, or the end of the audit. */
  to?: string
}

export async function status(io: Io, flags: Flags, nodeName?: string): Promise<Ending> {
  const { provider, kubeconfig, context, selector } = flags
  const isFiltered = nodeName !== undefined || selector !== undefined
  const api = apiOf(io, flags)
  const [all, isSelected, configs] = await Promise.all([
    api.records({ providerId: provider, nodeName }),
    selectionOf(io, flags),
    kubeconfig === undefined || isFiltered ? [] : configsIn(kubeconfig, context),
  ])
  const records = all.filter(({ instanceId }) => isSelected(instanceId))
  if (nodeName !== undefined && records.length === 0) return no(io, textsOf(io).nodeNotFound(nodeName))
  requireNodes(records, flags)
  const view = statusOf(records, io.now(), configs).filter(
    ({ providerId }) => provider === undefined || providerId === provider,
  )
  if (view.length === 0 && (await isUnknown(io, api, provider, configs))) return 'no'
  await print(io, flags.output, {
    data: { providers: view },
    ...list(nicRows(view), nicColumns),
    lines: options => (view.length > 0 ? statusTree(view, options) : [textsOf(io).nothingDelivered]),
  })
  return 'yes'
}

export async function why(io: Io, flags: Flags, what: string, nicName?: string): Promise<Ending> {
  const api = apiOf(io, flags)
  if (flags.to !== undefined || nicName !== undefined)
    return (await import('./why-path.ts')).whyPath(io, api, flags, what, nicName)
  const nodes = nodesAbout(what, await api.records({ q: what, providerId: flags.provider }), io.now())
  const named = nodes.filter(({ nodeName, instanceName }) => nodeName === what || instanceName === what)
  const vms = new Set([what, ...named.map(({ instanceId }) => instanceId)])
  const verdicts = await verdictsOf(io, api, [{ port: what }, ...[...vms].map(vm => ({ vm }))])
  const answer = whyOf(nodes, verdicts)
  if (nodes.length === 0 && verdicts.length === 0) return no(io, textsOf(io).notFound(what))
  await print(io, flags.output, {
    data: answer,
    ...list(whyRows(answer), whyColumns),
    lines: options => whyLines(answer, options),
  })
  return 'yes'
}

export async function plan(io: Io, flags: Flags): Promise<Ending> {
  const plans = await planned(io, apiOf(io, flags), flags)
  await print(io, flags.output, {
    data: plans.length === 1 && plans[0] && 'plan' in plans[0] ? plans[0].plan : plans,
    lines: options =>
      plans.flatMap((one, at) => [
        ...(at > 0 ? [''] : []),
        ...('plan' in one ? planLines(one.name, one.plan, options) : storedPlanLines(one.stored, options)),
      ]),
  })
  return plans.some(one => !('plan' in one) || one.plan.error) ? 'no' : 'yes'
}

export async function history(io: Io, flags: Flags, nodeName: string): Promise<Ending> {
  const { provider: providerId, limit } = flags
  const api = apiOf(io, flags)
  const at = timeFrom(flags.at, io.now())
  if (at !== undefined) {
    const record = await api.record(nodeName, { providerId, at })
    if (!record) return no(io, textsOf(io).nothingAt(nodeName, at))
    const view = statusOf([record], new Date(at))
    await print(io, flags.output, {
      data: record,
      ...list(nicRows(view), nicColumns),
      lines: options => statusTree(view, options),
    })
    return 'yes'
  }
  const entries = await api.history(nodeName, { providerId, limit })
  if (entries.length === 0) return no(io, textsOf(io).noHistory(nodeName))
  await print(io, flags.output, {
    data: entries,
    ...list(historyRows(entries), historyColumns),
    lines: options => historyLines(entries, options),
  })
  return 'yes'
}

export async function find(io: Io, flags: Flags, what: string): Promise<Ending> {
  const api = apiOf(io, flags)
  if (flags.ever) return findEver(io, flags, api, what)
  const at = timeFrom(flags.at, io.now())
  const limit = flags.limit ?? 50
  const [records, current] = await Promise.all([
    api.records({ q: what, at }),
    at === undefined ? api.search(what, limit) : undefined,
  ])
  const found = current ?? hitsIn(records, what).slice(0, limit)
  const now = at === undefined ? io.now() : new Date(at)
  const hits = found.map(hit => hitView(hit, records, now))
  if (hits.length === 0) return no(io, textsOf(io).noMatch(what, at))
  await print(io, flags.output, { data: hits, ...list(hits, hitColumns) })
  return 'yes'
}

async function findEver(io: Io, flags: Flags, api: Api, what: string): Promise<Ending> {
  const answer = await api.holders(what)
  const { holders, never, keptSince } = answer
  if (holders.length === 0)
    return no(io, never ? textsOf(io).neverHeld(what) : textsOf(io).notHeldSince(what, keptSince ?? ''))
  await print(io, flags.output, { data: answer, ...list(holders, holderColumns) })
  // On stderr, so that the rows of a CSV stay rows.
  for (const line of holderLimits(answer, textsOf(io))) io.note(line)
  return 'yes'
}

export async function check(io: Io, flags: Flags): Promise<Ending> {
  if (flags.now !== undefined) return (await import('./node-requests.ts')).checkNow(io, flags, flags.now)
  const api = apiOf(io, flags)
  const [all, verdicts, isSelected] = await Promise.all([
    api.records({ providerId: flags.provider }),
    verdictsOf(io, api, [{ selected: 'true', providerId: flags.provider }]),
    selectionOf(io, flags),
  ])
  const records = all.filter(({ instanceId }) => isSelected(instanceId))
  const undelivered = verdicts.filter(({ vm }) => isSelected(vm))
  requireNodes([...records, ...undelivered], flags)
  if (all.length + verdicts.length === 0 && (await isUnknown(io, api, flags.provider))) return 'no'
  const texts = textsOf(io)
  const { nics, wrong } = checked(records, undelivered, io.now())
  await print(io, flags.output, {
    data: wrong,
    ...list(wrong, deviationColumns),
    lines: options => {
      if (wrong.length > 0) return [...deviationLines(wrong, options), ...wayLines(wrong, options)]
      const oldest = oldestOf(nics)?.observedAt
      const age = oldest === undefined ? '' : `; ${texts.oldest(ago(oldest, options))}`
      return [options.paint('good', `${texts.allAsRequested(nics.length, records.length)}${age}`)]
    },
  })
  return wrong.length > 0 ? 'no' : 'yes'
}

export async function audit(io: Io, flags: Flags): Promise<Ending> {
  const { action, object, caller, limit = maxAudit } = flags
  const [from, to] = [timeFrom(flags.from, io.now(), '--from'), timeFrom(flags.to, io.now(), '--to')]
  const entries = await apiOf(io, flags).audit({ action, object, caller, from, to, limit })
  if (entries.length === 0) return no(io, textsOf(io).noAudit)
  await print(io, flags.output, { data: entries, ...list(entries, auditColumns) })
  return 'yes'
}

export async function exportAll(io: Io, flags: Flags): Promise<Ending> {
  const api = apiOf(io, flags)
  const query = { providerId: flags.provider, at: timeFrom(flags.at, io.now()) }
  if (await isUnknown(io, api, flags.provider)) return 'no'
  if (flags.output === undefined || flags.output === 'csv') {
    io.out(await api.csv(query))
    return 'yes'
  }
  const records = await api.records(query)
  await print(io, flags.output, { data: records, ...list(nicRows(statusOf(records, io.now())), nicColumns) })
  return 'yes'
}

function apiOf(io: Io, flags: Flags): Api {
  return connectApi(accessFrom(flags, io))
}

/** An inventory has records without verdicts too: the command shows what is known and says what is missing. */
async function verdictsOf(io: Io, api: Api, queries: readonly Query[]): Promise<OperatorVerdict[]> {
  try {
    const lists = await Promise.all(queries.map(api.verdicts))
    if (!lists[0]) io.note(textsOf(io).noVerdicts)
    return lists.flatMap(list => list ?? [])
  } catch (error) {
    if (!(error instanceof CliError)) throw error
    io.note(messageOf(error))
    return []
  }
}

function textsOf({ language }: Io): Messages {
  return messagesIn(language)
}

function no(io: Io, message: string): Ending {
  io.note(message)
  return 'no'
}

/** A misspelt name must not look like a cluster without nodes: says so, with the names that are known. */
async function isUnknown(
  io: Io,
  api: Api,
  provider: string | undefined,
  configs: readonly OpenstackConfig[] = [],
): Promise<boolean> {
  if (provider === undefined) return false
  const known = statusOf(await api.records(), io.now(), configs)
  if (known.some(({ providerId }) => providerId === provider)) return false
  const names = known.map(one => (one.providerName ? `${one.providerName} (${one.providerId})` : one.providerId))
  io.note(textsOf(io).providerNotFound(provider, names))
  return true
}

/** Loaded only for a selector: most of the commands need no cluster. */
async function selectionOf(io: Io, flags: Flags): Promise<(vm: string) => boolean> {
  if (flags.selector === undefined) return () => true
  return (await import('./node-selector.ts')).vmSelection(io, flags, flags.selector)
}

async function configsIn(kubeconfig: string, context: string | undefined): Promise<OpenstackConfig[]> {
  const [{ loadKubeconfig }, { connectKube }, { isNotFound }] = await Promise.all([
    import('../kube/config.ts'),
    import('../kube/client.ts'),
    import('../kube/errors.ts'),
  ])
  try {
    const kube = connectKube(await loadKubeconfig(kubeconfig, context), { attempts: 1 })
    try {
      return (await kube.list(openstackConfigs)).items
    } finally {
      await kube.close()
    }
  } catch (error) {
    if (isNotFound(error))
      throw new CliError(
        `the cluster of ${kubeconfig} does not serve OpenstackConfigs; use the kubeconfig of the management cluster`,
      )
    throw new CliError(`cannot read OpenstackConfigs: ${messageOf(error)}`, { cause: error })
  }
}

/** A selection without a node must not look like nodes without a problem. */
function requireNodes(selected: readonly unknown[], { selector }: Flags): void {
  if (selector !== undefined && selected.length === 0)
    throw new CliError(
      `no node of this inventory is a Node with the labels ${selector} in the cluster of the kubeconfig; choose the cluster of the nodes with --context NAME`,
    )
}
