/**
 * Checks of `multinic doctor`: nodes whose config stays unapplied until a person acts. Pure.
 */

import { interfaceName } from '../../contract/interfaces.ts'
import type { NodeConfig } from '../../contract/node-config.ts'
import { readyOf } from '../../contract/object.ts'
import { observationOf } from '../../contract/observation.ts'
import { classOf, reasonText } from '../../contract/reasons/catalogue.ts'
import { waysIn } from '../../contract/routing-messages.ts'
import { because } from '../render/reason.ts'
import { bad, type Finding, ok, some, warn } from './finding.ts'

/** The controller writes a status within seconds. */
const maxUnprocessedMs = 60_000

export function aboutConfigs(configs: readonly NodeConfig[] | undefined, now: Date): Finding[] {
  if (configs === undefined) return []
  const unprocessed = configs.flatMap(config => aboutUnprocessed(config, now))
  const stuck = configs.filter(isStuck)
  const others = [...aboutWays(configs), ...aboutUnverified(configs, now)]
  if (stuck.length + unprocessed.length === 0) return [ok(`${configs.length} node configs, none is stuck`), ...others]
  // Many nodes often have one cause.
  const byCause = new Map<string, NodeConfig[]>()
  for (const config of stuck) byCause.set(causeOf(config), [...(byCause.get(causeOf(config)) ?? []), config])
  return [...unprocessed, ...[...byCause].map(([cause, same]) => aboutCause(cause, same)), ...others]
}

/** Failed, or waiting for something that the catalogue does not call progress. */
function isStuck(config: NodeConfig): boolean {
  const { state } = config.status ?? {}
  const reason = readyOf(config)?.reason ?? ''
  if (state === 'Failed') return true
  return state !== undefined && state !== 'Configured' && ['warning', 'attention'].includes(classOf(reason) ?? '')
}

function aboutCause(cause: string, [first, ...others]: NodeConfig[]): Finding {
  const names = [first, ...others].flatMap(config => config?.spec.nodeName ?? [])
  const { remedy = '' } = reasonText((first && readyOf(first)?.reason) ?? '') ?? {}
  const isDeleted = first?.metadata.deletionTimestamp !== undefined
  const retry = isDeleted ? [] : [`Then run multinic retry ${others.length === 0 ? names[0] : 'NODE'}.`]
  const subject = others.length === 0 ? `node ${names[0]} is` : `nodes ${some(names)} are`
  return bad(`${subject} ${cause}`, [remedy, ...retry].filter(Boolean).join(' '))
}

/** Packets that leave by another device than expected, or not at all. Interfaces of many nodes often have one cause. */
function aboutWays(configs: readonly NodeConfig[]): Finding[] {
  const ways = configs.flatMap(({ spec, status }) =>
    (status?.interfaceStatuses ?? []).flatMap(({ id = 0, name = interfaceName(id), message = '', ...nic }) => {
      const [way] = waysIn(message)
      return way ? [{ ...way, isFailed: nic.status !== 'Configured', nic: `${spec.nodeName} ${name}` }] : []
    }),
  )
  const first = ways.find(({ isFailed }) => isFailed) ?? ways[0]
  if (!first) return []
  const { nic, text, to, isFailed } = first
  const others = ways.filter(way => way !== first).map(way => way.nic)
  const also = others.length === 0 ? '' : `; packets of ${some(others)} take another way too`
  return [
    { level: isFailed ? 'bad' : 'warn', what: `${nic}: ${text}${also}`, remedy: `run multinic why ${nic} --to ${to}` },
  ]
}

/** The checks for drift are late or off: nobody knows whether the nodes still are as they were. */
function aboutUnverified(configs: readonly NodeConfig[], now: Date): Finding[] {
  const unverified = configs.flatMap(({ spec, status }) => {
    const { checkIntervalSeconds, interfaceStatuses = [] } = status ?? {}
    const times = interfaceStatuses.flatMap(
      nic => observationOf({ ...nic, checkIntervalSeconds }, now).notVerifiedSince ?? [],
    )
    const [oldest] = times.sort()
    return oldest === undefined ? [] : [{ nodeName: spec.nodeName, oldest }]
  })
  const [first] = unverified.map(({ oldest }) => oldest).sort()
  if (first === undefined) return []
  const names = unverified.map(({ nodeName }) => nodeName)
  const what = `${names.length === 1 ? 'node' : 'nodes'} ${some(names)}: not verified since ${first}`
  const remedy = 'run multinic check --now NODE; check DRIFT_INTERVAL and that the controller runs'
  return [warn(what, remedy)]
}

function aboutUnprocessed({ spec, status, metadata }: NodeConfig, now: Date): Finding[] {
  const since = now.getTime() - Date.parse(metadata.creationTimestamp ?? '')
  if (status?.state !== undefined || !(since > maxUnprocessedMs)) return []
  const what = `node ${spec.nodeName} has a config that no controller has processed for ${Math.round(since / 60_000)} min`
  return [bad(what, 'check that the controller runs in this cluster and is the leader')]
}

function causeOf(config: NodeConfig): string {
  return `${config.status?.state}: ${because({ reason: 'no reason', ...readyOf(config) })}`
}
