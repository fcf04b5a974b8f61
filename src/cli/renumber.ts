/**
 * `multinic renumber`: shows interfaces that have another index than their subnet, and asks the operator to move them. The
 * operator moves one at a time and needs no command that keeps running.
 */
import { type OpenstackConfig, openstackConfigAnnotations, openstackConfigs } from '../contract/openstack-config.ts'
import { maxMoves, type RenumberRequest, renumberRequestId } from '../contract/renumber.ts'
import type { KubeClient } from '../kube/client.ts'
import { keyOf, parseKey } from '../kube/keys.ts'
import { messageOf } from '../runtime/errors.ts'
import { type AccessFlags, accessFrom } from './access.ts'
import { connectApi } from './api.ts'
import { type ClusterFlags, withCluster } from './cluster.ts'
import { CliError, type Ending, type Io } from './io.ts'
import { messagesIn } from './messages/messages.ts'
import { vmSelection } from './node-selector.ts'
import { type Format, print } from './output.ts'
import { type CheckedNode, podNetworks, unchecked } from './pod-networks.ts'
import { printable } from './render/paint.ts'
import { type Move, renumberLines, type ShownMove } from './render/renumber-text.ts'
import { withRequester } from './requested-by.ts'
import { defaultTimeout, timeoutMsOf, waitFor } from './wait.ts'

export interface RenumberFlags extends AccessFlags, ClusterFlags {
  output?: Format
  plan?: boolean
  apply?: boolean
  cancel?: boolean
  config?: string
  node?: string[]
  subnet?: string
  selector?: string
  bizKubeconfig?: string
  bizContext?: string
  skipPodCheck?: boolean
  yes?: boolean
  timeout?: string
  /** False with `--no-wait`. */
  wait?: boolean
}

export function renumber(io: Io, flags: RenumberFlags): Promise<Ending> {
  timeoutMsOf(flags)
  return withCluster(io, flags, async ({ kube }) => {
    const configs = await configsIn(kube, flags)
    if (flags.cancel) return cancel(io, kube, configs)
    const moves = await movesOf(io, flags, configs)
    const requests = configs.flatMap(config =>
      config.status?.renumber ? [{ config: keyOf(config), ...config.status.renumber }] : [],
    )
    await print(io, flags.output, {
      data: { moves, requests },
      lines: options => renumberLines(moves, requests, options),
    })
    return flags.apply ? apply(io, flags, kube, configs, moves) : 'yes'
  })
}

async function configsIn(kube: KubeClient, { config, namespace }: RenumberFlags): Promise<OpenstackConfig[]> {
  const { items } = await kube.list(openstackConfigs, namespace === undefined ? {} : { namespace })
  const found = items.filter(item => config === undefined || [keyOf(item), item.metadata.name].includes(config))
  if (found.length === 0)
    throw new CliError(`no OpenstackConfig${config === undefined ? '' : ` ${config}`} in the cluster of the kubeconfig`)
  return found
}

async function movesOf(io: Io, flags: RenumberFlags, configs: readonly OpenstackConfig[]): Promise<ShownMove[]> {
  const api = connectApi(accessFrom(flags, io))
  const isSelected = flags.selector === undefined ? () => true : await vmSelection(io, bizFlags(flags), flags.selector)
  const found: { config: string; instanceId: string; move: Move }[] = []
  for (const config of configs.filter(({ spec }) => spec.subnets?.some(({ index }) => index !== undefined))) {
    const { status: _, metadata, ...rest } = config
    const { managedFields: __, ...kept } = metadata as typeof metadata & { managedFields?: unknown }
    const { moves = [], nodes, verdicts: ___, error } = await api.plan({ ...rest, metadata: kept })
    if (error) io.note(printable(`${keyOf(config)}: ${error.reason}: ${error.message}`))
    const vms = new Map(nodes.map(({ nodeName, instanceId }) => [nodeName, instanceId]))
    for (const move of moves) {
      const instanceId = vms.get(move.nodeName) ?? ''
      if (flags.node && !flags.node.includes(move.nodeName)) continue
      if (flags.subnet !== undefined && move.subnetName !== flags.subnet) continue
      if (isSelected(instanceId)) found.push({ config: keyOf(config), instanceId, move })
    }
  }
  const users = await usersOf(
    io,
    flags,
    found.map(({ instanceId, move: { nodeName } }) => ({ nodeName, instanceId })),
  )
  return found.map(({ config, move }): ShownMove => {
    const { usersOf, notChecked } = users.get(move.nodeName) ?? unchecked('')
    const names = [move.from, ...(move.exchange ? [move.exchange.from] : [])]
    const usedBy = [...new Set(names.flatMap(usersOf))]
    return { config, ...move, usedBy, ...(notChecked !== undefined && { podsNotChecked: notChecked }) }
  })
}

/** The cluster of the nodes is the one of the objects, unless a flag says otherwise. */
function bizFlags({ kubeconfig, context, bizKubeconfig, bizContext }: RenumberFlags): ClusterFlags {
  const ofBiz = bizContext ?? (bizKubeconfig === undefined ? context : undefined)
  const file = bizKubeconfig ?? kubeconfig
  return { ...(file !== undefined && { kubeconfig: file }), ...(ofBiz !== undefined && { context: ofBiz }) }
}

async function usersOf(
  io: Io,
  flags: RenumberFlags,
  vms: readonly { nodeName: string; instanceId: string }[],
): Promise<Map<string, CheckedNode>> {
  const unique = [...new Map(vms.map(vm => [vm.nodeName, vm])).values()]
  if (unique.length === 0) return new Map()
  try {
    return await withCluster(io, bizFlags(flags), ({ kube }) => podNetworks(kube, unique))
  } catch (error) {
    return new Map(unique.map(({ nodeName }) => [nodeName, unchecked(messageOf(error))]))
  }
}

async function apply(
  io: Io,
  flags: RenumberFlags,
  kube: KubeClient,
  configs: readonly OpenstackConfig[],
  moves: readonly ShownMove[],
): Promise<Ending> {
  const texts = messagesIn(io.language).renumber
  const refused = moves.filter(({ blocked, usedBy }) => blocked !== undefined || usedBy.length > 0)
  const possible = moves.filter(move => !refused.includes(move))
  const ending = refused.length > 0 ? 'no' : 'yes'
  if (refused.length > 0) io.note(texts.refused(refused.length))
  if (possible.length === 0) return ending
  if (!flags.skipPodCheck && possible.some(({ podsNotChecked }) => podsNotChecked !== undefined))
    throw new CliError(
      'the Pods of some nodes were not checked: name the cluster of the nodes with --biz-kubeconfig FILE and --biz-context NAME, or pass --skip-pod-check if no Pod uses these interfaces',
    )
  const asked = [...Map.groupBy(possible, ({ config }) => config)].map(([key, own]) => {
    const config = configs.find(one => keyOf(one) === key)
    if (config && isInProgress(config))
      throw new CliError(
        `${key}: a request is in progress: ${config.status?.renumber?.message ?? 'not started'}; wait for it, or run multinic renumber --cancel`,
      )
    if (own.length > maxMoves) io.note(texts.limited(key, maxMoves, own.length))
    return { key, moves: own.slice(0, maxMoves) }
  })
  if (!flags.yes && !(await io.confirm?.(texts.confirm(asked.reduce((sum, one) => sum + one.moves.length, 0)))))
    throw new CliError('not confirmed, nothing was changed; without a terminal, pass --yes')
  for (const { key, moves: own } of asked) {
    const request: RenumberRequest = {
      requestedAt: io.now().toISOString(),
      moves: own.map(({ nodeName, portId, to }) => ({ nodeName, portId, to })),
    }
    const annotation = JSON.stringify(request)
    await annotate(kube, key, annotation)
    if (flags.wait === false) io.out(`${texts.requested(key, own.length)}\n`)
    else if (!(await waitForResult(io, flags, kube, key, renumberRequestId(annotation)))) return 'no'
  }
  return ending
}

function isInProgress({ metadata, status }: OpenstackConfig): boolean {
  const annotation = metadata.annotations?.[openstackConfigAnnotations.renumber]
  const isNew = annotation !== undefined && renumberRequestId(annotation) !== status?.renumber?.request
  return isNew || status?.renumber?.state === 'InProgress'
}

async function annotate(kube: KubeClient, key: string, value: string | null): Promise<void> {
  const annotations = await withRequester(kube, { [openstackConfigAnnotations.renumber]: value })
  await kube.patch(openstackConfigs, parseKey(key), { metadata: { annotations } })
}

/** Prints the progress. True if every interface has its index. */
async function waitForResult(
  io: Io,
  flags: RenumberFlags,
  kube: KubeClient,
  key: string,
  request: string,
): Promise<boolean> {
  let shown = ''
  let taken = false
  const end = await waitFor(flags, async () => {
    const found = (await kube.get(openstackConfigs, parseKey(key)))?.status?.renumber
    taken = found?.request === request
    if (!found || !taken) return undefined
    const line = printable(`${key}  ${found.state}: ${found.message ?? ''}`)
    if (found.state !== 'InProgress') return { found, line }
    if (line !== shown) io.note(line)
    shown = line
    return undefined
  })
  if (!end)
    throw new CliError(
      `${key}: no result after ${flags.timeout ?? defaultTimeout}; ${taken ? 'the operator continues: run multinic renumber to see its progress' : 'the operator does not react: run multinic doctor'}`,
    )
  io.out(`${end.line}\n`)
  return end.found.state === 'Done' && end.found.done === end.found.total
}

async function cancel(io: Io, kube: KubeClient, configs: readonly OpenstackConfig[]): Promise<Ending> {
  const texts = messagesIn(io.language).renumber
  const asked = configs.filter(
    ({ metadata }) => metadata.annotations?.[openstackConfigAnnotations.renumber] !== undefined,
  )
  if (asked.length === 0) io.note(texts.noRequest)
  for (const config of asked) {
    await annotate(kube, keyOf(config), null)
    io.out(`${texts.cancelled(keyOf(config))}\n`)
  }
  return asked.length > 0 ? 'yes' : 'no'
}
