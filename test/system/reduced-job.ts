/**
 * Runs the Job of the agent on a real kubelet without one of its permissions or mounts, and returns the outcome as text.
 *
 * The controller ignores these Jobs, because they do not have its labels.
 */
import assert from 'node:assert/strict'
import type { AgentReport } from '../../src/contract/agent-report.ts'
import { type Backend, backendLabel } from '../../src/contract/backend.ts'
import type { NodeConfig } from '../../src/contract/node-config.ts'
import { controllerConfig } from '../../src/controller/config.ts'
import { agentJob } from '../../src/controller/job.ts'
import type { KubeClient } from '../../src/kube/client.ts'
import { events, jobs, nodes, pods } from '../../src/kube/resources.ts'
import type { Container, PodObject, PodSpec } from '../../src/kube/types.ts'
import { eventually } from '../support/eventually.ts'
import { firstApply } from '../support/first-apply.ts'
import type { RealController } from '../support/real-controller.ts'

/** Removes something from the Job. */
export type Reduction = (spec: PodSpec, agent: Container) => void

const { agent: settings } = controllerConfig({
  AGENT_IMAGE: 'multinic-agent:dev',
  AGENT_IMAGE_PULL_POLICY: 'Never',
  NIC_WAIT: '1s',
})

export const withoutMount =
  (...names: string[]): Reduction =>
  (spec, agent) => {
    spec.volumes = spec.volumes?.filter(({ name }) => !names.includes(name)) ?? []
    agent.volumeMounts = agent.volumeMounts?.filter(({ name }) => !names.includes(name)) ?? []
  }

export const readOnly =
  (name: string): Reduction =>
  (_, agent) => {
    agent.volumeMounts =
      agent.volumeMounts?.map(mount => (mount.name === name ? { ...mount, readOnly: true } : mount)) ?? []
  }

let count = 0

/** Runs the Job once and returns its report, its error, or the reason why its Pod does not run. */
export async function runWithout(
  real: RealController,
  config: NodeConfig,
  { reduction, backend = 'netplan' }: { reduction: Reduction; backend?: Backend | undefined },
  within: number,
): Promise<string> {
  const { cp, kube } = real
  const { namespace = '' } = config.metadata
  const found = await kube.get(nodes, { name: config.spec.nodeName })
  assert.ok(found)
  const labels = { ...found.metadata.labels, [backendLabel]: backend }
  const node = { ...found, metadata: { ...found.metadata, labels } }
  const { apiVersion, kind, spec } = structuredClone(agentJob(firstApply(config, node), settings))
  const [agent] = spec.template.spec.containers
  assert.ok(agent)
  reduction(spec.template.spec, agent)
  const key = { namespace, name: `reduced-${++count}` }
  const template = { spec: spec.template.spec }
  await kube.create(jobs, { apiVersion, kind, metadata: key, spec: { ...spec, template } })
  const own = async () => (await kube.list(pods, { namespace, labelSelector: `job-name=${key.name}` })).items
  try {
    return await eventually(
      async () => {
        const [pod] = await own()
        const outcome = pod && (await outcomeOf(kube, pod))
        assert.ok(outcome, `${key.name} has not ended`)
        return outcome
      },
      { within, every: 200 },
    )
  } finally {
    await kube.delete(jobs, key, { propagation: 'Orphan' })
    // Without force, the kubelet waits for containers that never started.
    const selector = ['-n', namespace, '-l', `job-name=${key.name}`]
    await cp.exec('kubectl', ['delete', 'pods', ...selector, '--grace-period=0', '--force'])
    await eventually(async () => assert.equal((await own()).length, 0), { within, every: 200 })
  }
}

async function outcomeOf(kube: KubeClient, { metadata, status }: PodObject): Promise<string | undefined> {
  const disrupted = status?.conditions?.find(({ type }) => type === 'DisruptionTarget')
  if (disrupted) return `${disrupted.reason}: ${disrupted.message}`
  const [agent] = status?.containerStatuses ?? []
  const { exitCode, message } = agent?.state?.terminated ?? agent?.lastState?.terminated ?? {}
  if (exitCode !== undefined) return exitCode === 0 ? reportText(message ?? '') : `exit ${exitCode}: ${message}`
  if (status?.phase === 'Failed') return `${status.reason}: ${status.message}`
  const warnings = await kube.list(events, {
    ...(metadata.namespace && { namespace: metadata.namespace }),
    fieldSelector: `involvedObject.uid=${metadata.uid},type=Warning`,
  })
  return warnings.items.map(event => `${event.reason}: ${event.message}`)[0]
}

function reportText(report: string): string {
  const { verdict, message, interfaces } = JSON.parse(report) as AgentReport
  return [verdict, message, ...interfaces.map(nic => `${nic.name} ${nic.reason} ${nic.message ?? ''}`)].join('; ')
}
