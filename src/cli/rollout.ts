/**
 * `multinic rollout agent` and `multinic rollout status`: run the agent again on the configured nodes, in waves. The request is
 * an annotation on the namespace, so the rollout goes on without the CLI.
 */
import { agentRolloutProgress, type RolloutProgress } from '../contract/agent-rollout.ts'
import { agentRolloutOf, type NodeConfig, nodeConfigAnnotations, nodeConfigs } from '../contract/node-config.ts'
import { readyOf } from '../contract/object.ts'
import { namespaces } from '../kube/resources.ts'
import { type Cluster, type ClusterFlags, withCluster } from './cluster.ts'
import { CliError, type Ending, type Io } from './io.ts'
import { messagesIn } from './messages/messages.ts'
import { printable } from './render/paint.ts'
import { because } from './render/reason.ts'
import { withRequester } from './requested-by.ts'
import { timeoutMsOf, waitFor } from './wait.ts'

export interface RolloutFlags extends ClusterFlags {
  timeout?: string
  cancel?: boolean
  /** False with `--no-wait`. */
  wait?: boolean
}

const annotation = nodeConfigAnnotations.rolloutAgent

export function rolloutAgent(io: Io, flags: RolloutFlags): Promise<Ending> {
  const { rollout } = messagesIn(io.language)
  timeoutMsOf(flags)
  return withCluster(io, flags, async cluster => {
    if (flags.cancel) {
      await request(cluster, null)
      io.out(`${rollout.cancelled}\n`)
      return 'yes'
    }
    const at = new Date().toISOString()
    await request(cluster, at)
    io.note(rollout.requested(at))
    return flags.wait === false ? 'yes' : follow(io, flags, cluster, at)
  })
}

export function rolloutStatus(io: Io, flags: RolloutFlags): Promise<Ending> {
  const { rollout } = messagesIn(io.language)
  return withCluster(io, flags, async cluster => {
    const { kube, namespace } = cluster
    const at = agentRolloutOf((await kube.get(namespaces, { name: namespace })) ?? { metadata: { name: namespace } })
    if (at === undefined) {
      io.note(rollout.none(namespace))
      return 'no'
    }
    const { progress, failed } = await progressOf(cluster, at)
    io.out(`${rollout.requested(printable(at))}\n${linesOf(io, progress, failed).join('\n')}\n`)
    return endingOf(progress) ?? 'yes'
  })
}

async function request({ kube, namespace }: Cluster, value: string | null): Promise<void> {
  const annotations = await withRequester(kube, { [annotation]: value })
  await kube.patch(namespaces, { name: namespace }, { metadata: { annotations } })
}

/** Prints the progress when it changes, until no node is left, or the rollout stops. */
async function follow(io: Io, flags: RolloutFlags, cluster: Cluster, at: string): Promise<Ending> {
  const { rollout } = messagesIn(io.language)
  let shown = ''
  const ending = await waitFor(flags, async () => {
    const { progress, failed } = await progressOf(cluster, at)
    const text = linesOf(io, progress, failed).join('\n')
    const found = endingOf(progress)
    if (found !== undefined) io.out(`${text}\n`)
    else if (text !== shown) io.note(text)
    shown = text
    return found
  })
  if (ending === undefined) throw new CliError(rollout.notEnded)
  return ending
}

async function progressOf({ kube, namespace }: Cluster, at: string) {
  const { items } = await kube.list(nodeConfigs, { namespace })
  const configs = items.filter(({ metadata }) => metadata.deletionTimestamp === undefined)
  const nodes = configs.map(({ status = {} }) => ({ state: status.state, agentRollout: status.agentRollout }))
  const failed = configs.filter(({ status }) => status?.state === 'Failed' && status.agentRollout?.request === at)
  return { progress: agentRolloutProgress(nodes, at), failed }
}

/** Undefined while nodes are running or have their turn before them. */
function endingOf({ running, waiting, failed, reason }: RolloutProgress): Ending | undefined {
  if (reason === 'RolloutStopped') return 'no'
  if (running + waiting > 0) return undefined
  return failed > 0 ? 'no' : 'yes'
}

function linesOf(io: Io, progress: RolloutProgress, failed: readonly NodeConfig[]): string[] {
  const { rollout } = messagesIn(io.language)
  return [
    rollout.progress(progress),
    ...(progress.reason === undefined ? [] : [printable(`  ${because(progress)}`)]),
    ...failed.map(config => printable(`  ${config.metadata.name}  ${because(readyOf(config))}`)),
  ]
}
