/**
 * `multinic retry` and `multinic check --now`: requests to the controller by annotation. Waits until an agent has reported.
 */
import { completeInterfaces } from '../contract/interfaces.ts'
import { type NodeConfig, nodeConfigAnnotations, nodeConfigs } from '../contract/node-config.ts'
import { readyOf } from '../contract/object.ts'
import type { KubeClient } from '../kube/client.ts'
import { type Cluster, type ClusterFlags, withCluster } from './cluster.ts'
import { CliError, type Ending, type Io } from './io.ts'
import { messagesIn } from './messages/messages.ts'
import { nodesWith } from './node-selector.ts'
import { printable } from './render/paint.ts'
import { because } from './render/reason.ts'
import { withRequester } from './requested-by.ts'
import { defaultTimeout, timeoutMsOf, waitFor } from './wait.ts'

export interface RequestFlags extends ClusterFlags {
  timeout?: string
  selector?: string
  /** False with `--no-wait`. */
  wait?: boolean
}

/** Of one node, or of all nodes with the labels. */
export function retry(io: Io, flags: RequestFlags, node?: string, nic?: string): Promise<Ending> {
  const { selector } = flags
  if ((node === undefined) === (selector === undefined))
    throw new CliError('retry needs either the name of a node or --selector LABELS')
  if (selector !== undefined && flags.wait === false)
    throw new CliError('--selector and --no-wait: the nodes would all change at once; leave out --no-wait')
  return request(io, flags, node ?? { selector: selector ?? '' }, 'retry', config => {
    const names = completeInterfaces(config.spec.interfaces).interfaces.map(({ name }) => name)
    if (nic !== undefined && !names.includes(nic))
      throw new CliError(`${node} has no interface ${nic}; its interfaces are ${names.join(', ')}`)
    return nic ?? 'now'
  })
}

export function checkNow(io: Io, flags: RequestFlags, node: string): Promise<Ending> {
  return request(io, flags, node, 'check', config => {
    const { status } = config
    const reason = readyOf(config)?.reason
    if (status?.state !== 'Configured' && reason !== 'Drifted')
      throw new CliError(
        `${node} is ${status?.state ?? 'Pending'} (${reason ?? 'not reported'}): only a Configured or Drifted node is checked; run multinic retry ${node}`,
      )
    return 'now'
  })
}

/**
 * One node after the other, until one fails: the controller runs a requested agent at once, outside of the rollout window.
 * `valueFor` checks the config and returns the value of the annotation.
 */
function request(
  io: Io,
  flags: RequestFlags,
  nodes: string | { selector: string },
  what: 'retry' | 'check',
  valueFor: (config: NodeConfig) => string,
): Promise<Ending> {
  const annotation = nodeConfigAnnotations[what]
  timeoutMsOf(flags)
  return withCluster(io, flags, async cluster => {
    const { kube, namespace } = cluster
    const names = typeof nodes === 'string' ? [nodes] : await namesWith(kube, nodes.selector)
    let ending: Ending = 'no'
    for (const [at, name] of names.entries()) {
      const before = await kube.get(nodeConfigs, { namespace, name })
      if (!before) {
        io.note(messagesIn(io.language).noNodeConfig(name, namespace))
        continue
      }
      const annotations = await withRequester(kube, { [annotation]: valueFor(before) })
      await kube.patch(nodeConfigs, { namespace, name }, { metadata: { annotations } })
      if (flags.wait === false) io.out(`${name}: ${what} requested\n`)
      else if (!(await waitForResult(io, flags, cluster, annotation, before))) {
        const others = names.slice(at + 1)
        if (others.length > 0) io.note(`stopped, because ${name} failed; not retried: ${others.join(', ')}`)
        return 'no'
      }
      ending = 'yes'
    }
    return ending
  })
}

async function namesWith(kube: KubeClient, selector: string): Promise<string[]> {
  return (await nodesWith(kube, selector)).map(({ metadata }) => metadata.name)
}

/** Prints the result of an agent. True if the node is as requested. */
async function waitForResult(
  io: Io,
  flags: RequestFlags,
  { kube, namespace }: Cluster,
  annotation: string,
  before: NodeConfig,
): Promise<boolean> {
  const node = before.metadata.name
  let shown = ''
  let taken = false
  const after = await waitFor(flags, async () => {
    const config = await kube.get(nodeConfigs, { namespace, name: node })
    if (!config) throw new CliError(`${node}: its MultiNicNodeConfig was deleted meanwhile`)
    taken = config.metadata.annotations?.[annotation] === undefined
    if (taken && hasResult(config, before)) return config
    const line = `${headline(config)}${taken ? '' : ': waiting for the controller'}`
    if (line !== shown) io.note(line)
    shown = line
    return undefined
  })
  if (!after)
    throw new CliError(
      `${node}: no result after ${flags.timeout ?? defaultTimeout}; ${taken ? 'the agent is still at work: run multinic why' : 'the controller does not react: run multinic doctor'}`,
    )
  io.out(`${resultLines(after).join('\n')}\n`)
  return after.status?.state === 'Configured' && readyOf(after)?.status === 'True'
}

/** The controller names the Job of a check when the agent has reported, and that of an apply also while it is in progress. */
function hasResult({ status }: NodeConfig, before: NodeConfig): boolean {
  return status?.lastJobName !== before.status?.lastJobName && ['Configured', 'Failed'].includes(status?.state ?? '')
}

function headline(config: NodeConfig): string {
  const { state = 'Pending', nics = '' } = config.status ?? {}
  return printable(`${config.metadata.name}  ${state}  ${nics}  ${because(readyOf(config))}`)
}

function resultLines(config: NodeConfig): string[] {
  const others = (config.status?.interfaceStatuses ?? []).filter(({ status }) => status !== 'Configured')
  return [headline(config), ...others.map(nic => printable(`  ${nic.name ?? ''}  ${nic.status}  ${because(nic)}`))]
}
