/**
 * Reads what every surface says about a node of a sandbox.
 */
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import type { ProviderView } from '../../src/cli/status.ts'
import type { Why } from '../../src/cli/why.ts'
import type { Deviation, HistoryEntry, HoldersAnswer, InventoryRecord } from '../../src/contract/inventory.ts'
import { nodeConfigs } from '../../src/contract/node-config.ts'
import type { OperatorVerdict } from '../../src/contract/operator-api.ts'
import { languages } from '../../src/contract/reasons/reason.ts'
import { events, nodes } from '../../src/kube/resources.ts'
import { nodeOf } from '../../web/model/nodes.ts'
import { portsOf } from '../../web/model/ports.ts'
import { streamEvents } from '../../web/state/stream.ts'
import type { Run } from '../support/cli.ts'
import type { TestSandbox } from '../system/sandbox.fixture.ts'
import type { Surfaces } from './surfaces.ts'

const namespace = 'multinic-system'

/** In the order in which a state spreads backwards: a surface that is read later may only be newer. */
export async function readSurfaces(system: TestSandbox, multinic: Run, vm: string): Promise<Surfaces> {
  const { urls, biz } = system.sandbox
  const get = async <T>(path: string): Promise<T | undefined> => {
    const { status, body } = await system.call(`${urls['inventory']}/v1/${path}`)
    assert.ok(status === 200 || status === 204 || status === 404, `${path}: ${status}`)
    return status === 200 ? (body as T) : undefined
  }
  const text = async (...args: string[]): Promise<string> => {
    const { out, code, error } = await multinic(...args)
    assert.ok(code === 0 || code === 1, error)
    return out
  }
  const json = async <T>(...args: string[]): Promise<T | undefined> => {
    const out = await text(...args, '-o', 'json')
    return out === '' ? undefined : (JSON.parse(out) as T)
  }
  const ofNode = <T extends { nodeName: string }>(all: T[] | undefined) =>
    (all ?? []).filter(({ nodeName }) => nodeName === vm)
  const inLanguages = await Promise.all(
    languages.map(async language => {
      const status = await text('status', vm, '--lang', language)
      return [language, { status, check: rowsOf(await text('check', '--lang', language), vm) }] as const
    }),
  )
  const status = (await json<{ providers: ProviderView[] }>('status', vm))?.providers[0]?.configs[0]?.nodes[0]
  const why = (await json<Why>('why', vm))?.nodes[0]
  const exported = ofNode(recordsIn(await text('export')))
  const check = ofNode(await json<Deviation[]>('check'))
  const verdicts = await get<{ verdicts: OperatorVerdict[] }>(`operator/verdicts?vm=${await idOf(vm)}`)
  const history = await get<HistoryEntry[]>(`inventory/node-configs/${vm}/history?limit=1`)
  const streamed = history?.[0] && (await streamedEntry(system, history[0].id))
  const deviations = ofNode(await get<Deviation[]>('inventory/deviations'))
  const record = await get<InventoryRecord>(`inventory/node-configs/${vm}`)
  const sandbox = (await system.sandbox.status()).nodes.find(({ name }) => name === vm)
  const columns = await columnsOf(system, vm)
  const config = await biz.kube.get(nodeConfigs, { namespace, name: vm })
  const wanted = config?.spec.interfaces ?? []
  const found = await Promise.all(wanted.map(({ portId = '' }) => json<Surfaces['found']>('find', portId)))
  const holders = await Promise.all(
    wanted.map(({ portId = '' }) => get<HoldersAnswer>(`inventory/holders?q=${portId}`)),
  )
  const current = holders.flatMap(answer => answer?.holders ?? []).filter(({ kind, to }) => kind === 'port' && !to)
  const node = await biz.kube.get(nodes, { name: vm })
  const { items } = await biz.kube.list(events, { namespace })
  const { nics: kernel } = await system.nodeState(vm)
  const dashboard = record && nodeOf(record, deviations)
  return {
    ...{
      vm,
      kernel,
      config,
      columns,
      node,
      record,
      streamed,
      deviations,
      status,
      check,
      why,
      exported,
      dashboard,
      sandbox,
    },
    at: Date.now(),
    events: items.filter(({ involvedObject: { kind, name } }) => kind === nodeConfigs.kind && name === vm),
    newest: history?.[0],
    owners: current.map(one => `${one.value} ${one.nodeName} ${one.interface}`).sort(),
    found: found.flatMap(one => one ?? []),
    texts: Object.fromEntries(inLanguages) as Surfaces['texts'],
    ports: portsOf(verdicts?.verdicts ?? [], dashboard ? [dashboard] : []),
  }

  async function idOf(name: string): Promise<string> {
    return system.sandbox.nodes.get(name)?.server.id ?? name
  }
}

/** Of a CSV without quotes. */
function recordsIn(csv: string): (Surfaces['exported'][number] & { nodeName: string })[] {
  const [header = [], ...rows] = csv.split(/\r?\n/).map(line => line.split(','))
  const cell = (row: string[], column: string) => row[header.indexOf(column)] ?? ''
  return rows.map(row => ({
    nodeName: cell(row, 'nodeName'),
    macAddress: cell(row, 'macAddress'),
    status: cell(row, 'status'),
  }))
}

/** Rows of a table that begin with the node. */
function rowsOf(text: string, vm: string): string {
  return text
    .split('\n')
    .filter(line => line.startsWith(`${vm} `))
    .join('\n')
}

/** What `kubectl get mnnc` prints. */
async function columnsOf({ sandbox: { biz } }: TestSandbox, vm: string): Promise<Record<string, unknown> | undefined> {
  const path = `/apis/multinic.io/v1/namespaces/${namespace}/multinicnodeconfigs?fieldSelector=metadata.name=${vm}`
  const accept = 'application/json;as=Table;v=v1;g=meta.k8s.io'
  const { body } = await biz.kube.raw('GET', path, undefined, { accept })
  const { columnDefinitions, rows } = body as { columnDefinitions: { name: string }[]; rows: { cells: unknown[] }[] }
  const [row] = rows ?? []
  return row && Object.fromEntries(columnDefinitions.map(({ name }, at) => [name, row.cells[at]]))
}

/** The entry as the stream of changes sends it to a client that has all earlier ones. */
async function streamedEntry({ sandbox }: TestSandbox, id: number): Promise<HistoryEntry | undefined> {
  const ended = new AbortController()
  const authorization = `Bearer ${await readFile(sandbox.state.path('operator-token'), 'utf8')}`
  const headers = { authorization, accept: 'text/event-stream', 'last-event-id': String(id - 1) }
  const signal = AbortSignal.any([ended.signal, AbortSignal.timeout(10_000)])
  try {
    const { body, status } = await fetch(`${sandbox.urls['inventory']}/v1/inventory/events`, { headers, signal })
    assert.ok(status === 200 && body, `events: ${status}`)
    for await (const event of streamEvents(body)) if (event.id === String(id)) return JSON.parse(event.data)
    return undefined
  } finally {
    ended.abort()
  }
}
