/**
 * What the commands do: ask the APIs, then show. Loaded only when one of them runs.
 */
import { type OpenstackConfig, openstackConfigs } from '../contract/openstack-config.ts'
import type { OperatorVerdict } from '../contract/operator-api.ts'
import { messageOf } from '../runtime/errors.ts'
import { type AccessFlags, accessFrom } from './access.ts'
import { type Api, connectApi, type Query } from './api.ts'
import { planned } from './dry-run.ts'
import { CliError, type Ending, type Io } from './io.ts'
import { type Format, print, timeFrom } from './output.ts'
import { hitsIn } from './past-search.ts'
import { historyLines } from './render/history-text.ts'
import { deviationColumns, deviationLines, deviationRow, hitColumns, hitLines } from './render/lists.ts'
import { planLines } from './render/plan-text.ts'
import { historyRows, nicTable, statusRows, whyRows } from './render/rows.ts'
import { statusTree } from './render/status-tree.ts'
import { whyLines } from './render/why-text.ts'
import { statusOf } from './status.ts'
import { nodesAbout, whyOf } from './why.ts'

export interface Flags extends AccessFlags {
  output?: Format
  provider?: string
  at?: string
  limit?: number
  kubeconfig?: string
  context?: string
  namespace?: string
  filename?: string
}

export async function status(io: Io, flags: Flags, nodeName?: string): Promise<Ending> {
  const { provider, kubeconfig, context } = flags
  const [records, configs] = await Promise.all([
    apiOf(io, flags).records({ providerId: provider, nodeName }),
    kubeconfig === undefined || nodeName !== undefined ? [] : configsIn(kubeconfig, context),
  ])
  if (nodeName !== undefined && records.length === 0) return unknown(io, `no node is called ${nodeName}`)
  const view = statusOf(records, configs).filter(({ providerId }) => provider === undefined || providerId === provider)
  await print(io, flags.output, {
    data: { providers: view },
    lines: look => (view.length > 0 ? statusTree(view, look) : ['nothing was delivered to any node yet']),
    rows: () => statusRows(view),
  })
  return 'yes'
}

export async function why(io: Io, flags: Flags, word: string): Promise<Ending> {
  const api = apiOf(io, flags)
  const nodes = nodesAbout(word, await api.records({ q: word, providerId: flags.provider }))
  const vms = new Set([word, ...nodes.filter(({ nodeName }) => nodeName === word).map(({ instanceId }) => instanceId)])
  const verdicts = await verdictsOf(io, api, [{ port: word }, ...[...vms].map(vm => ({ vm }))])
  const answer = whyOf(nodes, verdicts)
  if (nodes.length === 0 && verdicts.length === 0)
    return unknown(io, `nothing is known of ${word}: no node, VM, port or address is called so`)
  await print(io, flags.output, {
    data: answer,
    lines: look => whyLines(answer, look),
    rows: () => whyRows(answer),
  })
  return 'yes'
}

export async function plan(io: Io, flags: Flags): Promise<Ending> {
  const plans = await planned(io, apiOf(io, flags), flags)
  await print(io, flags.output, {
    data: plans.length === 1 ? plans[0]?.plan : plans,
    lines: ({ paint }) =>
      plans.flatMap(({ name, plan }, at) => [...(at > 0 ? [''] : []), ...planLines(name, plan, paint)]),
  })
  return plans.some(({ plan }) => plan.error) ? 'no' : 'yes'
}

export async function history(io: Io, flags: Flags, nodeName: string): Promise<Ending> {
  const { provider: providerId, limit } = flags
  const api = apiOf(io, flags)
  const at = timeFrom(flags.at, io.now())
  if (at !== undefined) {
    const record = await api.record(nodeName, { providerId, at })
    if (!record) return unknown(io, `${nodeName} had nothing of ours at ${at}`)
    const view = statusOf([record])
    await print(io, flags.output, {
      data: record,
      lines: look => statusTree(view, look),
      rows: () => statusRows(view),
    })
    return 'yes'
  }
  const entries = await api.history(nodeName, { providerId, limit })
  if (entries.length === 0) return unknown(io, `there was never a node called ${nodeName}`)
  await print(io, flags.output, {
    data: entries,
    lines: look => historyLines(entries, look),
    rows: () => historyRows(entries),
  })
  return 'yes'
}

export async function find(io: Io, flags: Flags, word: string): Promise<Ending> {
  const api = apiOf(io, flags)
  const at = timeFrom(flags.at, io.now())
  const limit = flags.limit ?? 50
  const records = at !== undefined || flags.output === 'wide' ? await api.records({ q: word, at }) : []
  const hits = at === undefined ? await api.search(word, limit) : hitsIn(records, word).slice(0, limit)
  if (hits.length === 0) return unknown(io, `nothing begins with ${word}${at === undefined ? '' : ` at ${at}`}`)
  await print(io, flags.output, {
    data: hits,
    lines: ({ paint, wide }) => hitLines(hits, paint, wide ? records : undefined),
    rows: () => [hitColumns, ...hits.map(hit => hitColumns.map(column => hit[column]))],
  })
  return 'yes'
}

export async function check(io: Io, flags: Flags): Promise<Ending> {
  const api = apiOf(io, flags)
  const { provider } = flags
  const [deviations, providers] = await Promise.all([api.deviations({ providerId: provider }), api.providers()])
  const nodes = providers.filter(one => provider === undefined || one.providerId === provider).flatMap(one => one.nodes)
  const nics = nodes.reduce((sum, node) => sum + node.interfaceCount, 0)
  const fine = `${nics} interfaces of ${nodes.length} nodes are as they were asked for`
  await print(io, flags.output, {
    data: deviations,
    lines: look => (deviations.length === 0 ? [look.paint('good', fine)] : deviationLines(deviations, look)),
    rows: () => [
      deviationColumns,
      ...deviations.map(one => {
        const row = deviationRow(one)
        return deviationColumns.map(column => row[column])
      }),
    ],
  })
  return deviations.length > 0 ? 'no' : 'yes'
}

export async function exported(io: Io, flags: Flags): Promise<Ending> {
  const api = apiOf(io, flags)
  const query = { providerId: flags.provider, at: timeFrom(flags.at, io.now()) }
  if (flags.output === undefined || flags.output === 'csv') {
    io.out(await api.csv(query))
    return 'yes'
  }
  const records = await api.records(query)
  await print(io, flags.output, { data: records, lines: ({ paint }) => nicTable(statusOf(records), paint) })
  return 'yes'
}

function apiOf(io: Io, flags: Flags): Api {
  return connectApi(accessFrom(flags, io))
}

/** The inventory answers without the operator too: what is known is shown, and what is not is said. */
async function verdictsOf(io: Io, api: Api, queries: readonly Query[]): Promise<OperatorVerdict[]> {
  try {
    const lists = await Promise.all(queries.map(api.verdicts))
    if (!lists[0]) io.note('no operator answers here, so ports that were not taken are not known; see --operator')
    return lists.flatMap(list => list ?? [])
  } catch (error) {
    if (!(error instanceof CliError)) throw error
    io.note(messageOf(error))
    return []
  }
}

function unknown(io: Io, words: string): Ending {
  io.note(words)
  return 'no'
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
        `the cluster of ${kubeconfig} has no OpenstackConfigs; name the kubeconfig of the management cluster`,
      )
    throw new CliError(`reading the OpenstackConfigs: ${messageOf(error)}`, { cause: error })
  }
}
