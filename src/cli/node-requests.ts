/**
 * `multinic retry` and `multinic check --now`: requests to the controller by annotation. Waits until an agent has reported.
 */
import { completeInterfaces } from '../contract/interfaces.ts'
import { type NodeConfig, nodeConfigAnnotations, nodeConfigs } from '../contract/node-config.ts'
import { readyOf } from '../contract/object.ts'
import { type ClusterFlags, withCluster } from './cluster.ts'
import { CliError, type Ending, type Io } from './io.ts'
import { messagesIn } from './messages/messages.ts'
import { harmless } from './render/paint.ts'
import { defaultTimeout, timeoutMsOf, waitFor } from './wait.ts'

export interface RequestFlags extends ClusterFlags {
  timeout?: string
  /** False with `--no-wait`. */
  wait?: boolean
}

export function retry(io: Io, flags: RequestFlags, node: string, nic?: string): Promise<Ending> {
  return request(io, flags, node, 'retry', config => {
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

/** `valueFor` checks the config and returns the value of the annotation. */
function request(
  io: Io,
  flags: RequestFlags,
  node: string,
  what: 'retry' | 'check',
  valueFor: (config: NodeConfig) => string,
): Promise<Ending> {
  const annotation = nodeConfigAnnotations[what]
  timeoutMsOf(flags)
  return withCluster(io, flags, async ({ kube, namespace }) => {
    const key = { namespace, name: node }
    const before = await kube.get(nodeConfigs, key)
    if (!before) {
      io.note(messagesIn(io.language).noNodeConfig(node, namespace))
      return 'no'
    }
    const annotations = { [annotation]: valueFor(before) }
    await kube.patch(nodeConfigs, key, { metadata: { annotations } })
    if (flags.wait === false) {
      io.out(`${node}: ${what} requested\n`)
      return 'yes'
    }
    let shown = ''
    let taken = false
    const after = await waitFor(flags, async () => {
      const config = await kube.get(nodeConfigs, key)
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
    return after.status?.state === 'Configured' && readyOf(after)?.status === 'True' ? 'yes' : 'no'
  })
}

/** The controller names the Job of a check when the agent has reported, and that of an apply also while it is in progress. */
function hasResult({ status }: NodeConfig, before: NodeConfig): boolean {
  return status?.lastJobName !== before.status?.lastJobName && ['Configured', 'Failed'].includes(status?.state ?? '')
}

function headline(config: NodeConfig): string {
  const { state = 'Pending', nics = '' } = config.status ?? {}
  const { reason = '', message = '' } = readyOf(config) ?? {}
  return harmless(`${config.metadata.name}  ${state}  ${nics}  ${reason}${message && `: ${message}`}`)
}

function resultLines(config: NodeConfig): string[] {
  const others = (config.status?.interfaceStatuses ?? []).filter(({ status }) => status !== 'Configured')
  const line = ({ name = '', status, reason = '', message = '' }: (typeof others)[number]) =>
    harmless(`  ${name}  ${status}  ${reason}${message && `: ${message}`}`)
  return [headline(config), ...others.map(line)]
}
