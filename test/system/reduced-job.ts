/**
 * The agent's Job with one thing less than the controller gives it, on a real kubelet: what comes of it, in words.
 *
 * The controller does not see these Jobs: they do not have its labels.
 */
import assert from 'node:assert/strict'
import type { AgentReport } from '../../src/contract/agent-report.ts'
import type { NodeConfig } from '../../src/contract/node-config.ts'
import { controllerConfig } from '../../src/controller/config.ts'
import { agentJob } from '../../src/controller/job.ts'
import type { KubeClient } from '../../src/kube/client.ts'
import { events, jobs, nodes, pods } from '../../src/kube/resources.ts'
import type { Container, PodObject, PodSpec } from '../../src/kube/types.ts'
import { eventually } from '../support/eventually.ts'
import { firstApply } from '../support/first-apply.ts'
import type { RealController } from '../support/real-controller.ts'

/** What is taken away, and how. */
export type Lack = (spec: PodSpec, agent: Container) => void

const { agent: settings } = controllerConfig({
  AGENT_IMAGE: 'multinic-agent:dev',
  AGENT_IMAGE_PULL_POLICY: 'Never',
  NIC_WAIT: '1s',
})

export const withoutMount =
  (name: string): Lack =>
  (spec, agent) => {
    spec.volumes = spec.volumes?.filter(volume => volume.name !== name) ?? []
    agent.volumeMounts = agent.volumeMounts?.filter(mount => mount.name !== name) ?? []
  }

export const readOnly =
  (name: string): Lack =>
  (_, agent) => {
    agent.volumeMounts =
      agent.volumeMounts?.map(mount => (mount.name === name ? { ...mount, readOnly: true } : mount)) ?? []
  }

let made = 0

/** Runs it once, and says how it ended: its report, the end of its log, or what keeps its Pod from running. */
export async function runWithout(
  real: RealController,
  config: NodeConfig,
  lack: Lack,
  within: number,
): Promise<string> {
  const { cp, kube } = real
  const { namespace = '' } = config.metadata
  const node = await kube.get(nodes, { name: config.spec.nodeName })
  assert.ok(node)
  const { apiVersion, kind, spec } = structuredClone(agentJob(firstApply(config, node), settings))
  const [agent] = spec.template.spec.containers
  assert.ok(agent)
  lack(spec.template.spec, agent)
  const key = { namespace, name: `lesser-${++made}` }
  const template = { spec: spec.template.spec }
  await kube.create(jobs, { apiVersion, kind, metadata: key, spec: { ...spec, template } })
  const own = async () => (await kube.list(pods, { namespace, labelSelector: `job-name=${key.name}` })).items
  try {
    return await eventually(
      async () => {
        const [pod] = await own()
        const ending = pod && (await endingOf(kube, pod))
        assert.ok(ending, `${key.name} has not ended`)
        return ending
      },
      { within, every: 200 },
    )
  } finally {
    await kube.delete(jobs, key, { propagation: 'Orphan' })
    // A kubelet waits for what never started; an agent that ended has nothing to be waited for.
    const chosen = ['-n', namespace, '-l', `job-name=${key.name}`]
    await cp.exec('kubectl', ['delete', 'pods', ...chosen, '--grace-period=0', '--force'])
    await eventually(async () => assert.equal((await own()).length, 0), { within, every: 200 })
  }
}

async function endingOf(kube: KubeClient, { metadata, status }: PodObject): Promise<string | undefined> {
  const disrupted = status?.conditions?.find(({ type }) => type === 'DisruptionTarget')
  if (disrupted) return `${disrupted.reason}: ${disrupted.message}`
  const [agent] = status?.containerStatuses ?? []
  const { exitCode, message } = agent?.state?.terminated ?? agent?.lastState?.terminated ?? {}
  if (exitCode !== undefined) return exitCode === 0 ? inWords(message ?? '') : `exit ${exitCode}: ${message}`
  if (status?.phase === 'Failed') return `${status.reason}: ${status.message}`
  const told = await kube.list(events, {
    ...(metadata.namespace && { namespace: metadata.namespace }),
    fieldSelector: `involvedObject.uid=${metadata.uid},type=Warning`,
  })
  return told.items.map(({ reason, message: said }) => `${reason}: ${said}`)[0]
}

function inWords(report: string): string {
  const { verdict, message, interfaces } = JSON.parse(report) as AgentReport
  return [verdict, message, ...interfaces.map(nic => `${nic.name} ${nic.reason} ${nic.message ?? ''}`)].join('; ')
}
