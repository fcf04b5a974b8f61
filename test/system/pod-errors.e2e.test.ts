/**
 * Agents that cannot start or run, with a real API server, Job controller and kubelet: each cause has its own reason, nothing
 * generic is shown before it, and the node is configured once the cause is gone.
 *
 * Each test requests another MTU, so that the node needs a new Job.
 */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { buildImage } from '../../scripts/image.ts'
import { writeArchive } from '../../scripts/oci.ts'
import { type NodeConfig, nodeConfigAnnotations, nodeConfigs } from '../../src/contract/node-config.ts'
import { binary } from '../rigs/kubernetes/binaries.ts'
import { type RigNode, startNode } from '../rigs/kubernetes/rig.ts'
import { eventually } from '../support/eventually.ts'
import { type RealController, startRealController } from '../support/real-controller.ts'

type Harness = Awaited<ReturnType<RealController['install']>>

const namespace = 'multinic-system'
const name = 'w1'
const within = 180_000
const instanceId = '6f1c2a10-0001-4aaa-8bbb-000000000001'
const macAddress = 'fa:16:3e:00:00:11'
const goodSettings = { AGENT_IMAGE: 'multinic-agent:dev', AGENT_IMAGE_PULL_POLICY: 'Never', DRIFT_INTERVAL: 'off' }

let real: RealController
let harness: Harness
let node: RigNode
let controller: Awaited<ReturnType<Harness['startController']>> | undefined
let mtu = 1400

before(async () => {
  real = await startRealController()
  harness = await real.install(namespace)
  const images = [join(real.cp.dir, 'agent.tar'), join(real.cp.dir, 'broken.tar')] as const
  await buildImage('agent', images[0], { compress: false })
  const busybox = '/bin/busybox'
  await writeArchive({
    images: [
      { names: ['rig.local/crash:1'], entrypoint: [busybox, 'sh', '-c', 'echo "no such file: /x"; exit 3'] },
      { names: ['rig.local/hungry:1'], entrypoint: [busybox, 'tail', '/dev/zero'] },
    ],
    files: { [busybox]: { copy: binary('busybox') } },
    out: images[1],
  })
  node = await startNode(real.cp, { name, uuid: instanceId, macs: [macAddress], images })
  await use({})
  await real.kube.create(nodeConfigs, {
    apiVersion: 'multinic.io/v1',
    kind: 'MultiNicNodeConfig',
    metadata: { name, namespace },
    spec: spec(),
  })
  await waitForConfigured()
})

after(async () => {
  await controller?.stop()
  await node?.close()
  await real?.close()
})

/** Restarts the controller with these settings. */
async function use(settings: Record<string, string>): Promise<void> {
  await controller?.stop()
  controller = await harness.startController({ ...goodSettings, ...settings })
}

const spec = (): NodeConfig['spec'] => ({
  nodeName: name,
  instanceId,
  interfaces: [{ id: 0, name: 'multinic0', macAddress, mtu, address: '192.168.10.5', cidr: '192.168.10.0/24' }],
})

/** `state reason: message` of the newest spec. */
async function read(): Promise<string> {
  const config = await harness.configOf(name)
  const { state, observedGeneration, conditions } = config?.status ?? {}
  if (observedGeneration !== config?.metadata.generation) return 'of an older spec'
  const ready = conditions?.find(({ type }) => type === 'Ready')
  return `${state} ${ready?.reason}: ${ready?.message}`
}

async function describe(error: unknown): Promise<never> {
  const { stdout } = await real.cp.exec('kubectl', ['-n', namespace, 'describe', 'jobs,pods'], { check: false })
  throw new Error(stdout.slice(-6_000), { cause: error })
}

const waitForConfigured = () =>
  eventually(
    async () => {
      assert.match(await read(), /^Configured /)
      const { stdout } = await node.exec('ip', ['-o', 'link', 'show', 'multinic0'])
      assert.match(stdout, new RegExp(`mtu ${mtu} `))
    },
    { within, every: 100 },
  ).catch(describe)

/** Requests a change. Returns all texts of the status until one matches. */
async function statusesUntil(expected: RegExp): Promise<string[]> {
  mtu += 1
  await real.kube.patch(nodeConfigs, { namespace, name }, { spec: spec() })
  const seen = new Set<string>()
  await eventually(
    async () => {
      const text = await read()
      seen.add(text)
      assert.match(text, expected)
    },
    { within, every: 50 },
  ).catch(describe)
  return [...seen]
}

interface Case {
  /** Returns what removes the cause. */
  cause(): Promise<() => Promise<unknown>>
  expected: RegExp
  /** Only Kubernetes notices that the cause is gone, after up to a minute: somebody asks for a retry. */
  retry?: true
}

/** Settings of the controller. They are correct after the next restart. */
const settings = (wrong: Record<string, string>) => async () => {
  await use(wrong)
  return () => use({})
}

const object = (manifest: object) => async () => {
  const { stdout } = await real.cp.exec('kubectl', ['create', '-o', 'name', '-f', '-'], {
    input: JSON.stringify(manifest),
  })
  return () => real.cp.exec('kubectl', ['-n', namespace, 'delete', stdout.trim()])
}

/** Nobody listens at its address. */
const webhookOn = (apiGroup: string, resource: string) => ({
  apiVersion: 'admissionregistration.k8s.io/v1',
  kind: 'ValidatingWebhookConfiguration',
  metadata: { name: `broken-${resource}` },
  webhooks: [
    {
      name: `${resource}.broken.example.com`,
      clientConfig: { url: 'https://127.0.0.1:1/' },
      rules: [{ apiGroups: [apiGroup], apiVersions: ['v1'], operations: ['CREATE'], resources: [resource] }],
      sideEffects: 'None',
      admissionReviewVersions: ['v1'],
    },
  ],
})

const cases: Record<string, Case> = {
  'controller M5: an image that cannot be pulled': {
    cause: settings({ AGENT_IMAGE: 'rig.invalid/none:1', AGENT_IMAGE_PULL_POLICY: 'IfNotPresent' }),
    expected: /^InProgress ImagePullFailed: (ErrImagePull|ImagePullBackOff): .*rig\.invalid\/none:1/,
  },
  'controller M5: a setting that Kubernetes does not admit': {
    cause: settings({ AGENT_PRIORITY_CLASS: 'missing' }),
    expected: /^InProgress PodForbidden: .*no PriorityClass with name missing was found/,
  },
  'controller M8: an agent that crashes': {
    cause: settings({ AGENT_IMAGE: 'rig.local/crash:1' }),
    expected: /^InProgress AgentCrashed: the agent crashes \(exit code 3\): no such file: \/x$/,
  },
  'controller M8: an agent that needs too much memory': {
    cause: settings({ AGENT_IMAGE: 'rig.local/hungry:1' }),
    expected: /^InProgress AgentOutOfMemory: the agent was killed \(OOMKilled, exit code 137\)$/,
  },
  'controller M9: a webhook on Pods that fails': {
    cause: object(webhookOn('', 'pods')),
    expected: /^InProgress WebhookFailed: .*failed calling webhook "pods\.broken\.example\.com"/,
    retry: true,
  },
  'controller M9: a webhook on Jobs that fails': {
    cause: object(webhookOn('batch', 'jobs')),
    expected: /^Pending WebhookFailed: .*failed calling webhook "jobs\.broken\.example\.com"/,
  },
  'a quota': {
    cause: object({
      ...{ apiVersion: 'v1', kind: 'ResourceQuota', metadata: { name: 'none', namespace } },
      spec: { hard: { pods: '0' } },
    }),
    expected: /^InProgress QuotaExceeded: .*quota: none/,
    retry: true,
  },
  'a directory that cannot be mounted': {
    cause: async () => {
      await node.exec('mv', ['/etc/sysctl.d', '/etc/sysctl.away'])
      return () => node.exec('mv', ['/etc/sysctl.away', '/etc/sysctl.d'])
    },
    expected: /^InProgress MountFailed: .*\/etc\/sysctl\.d is not a directory/,
    retry: true,
  },
}

const expectedBefore = /^(of an older spec|Configured |InProgress Applying: |Pending PreviousJobRunning: )/

for (const [what, { cause, expected, retry }] of Object.entries(cases))
  test(`${what} has its own reason, and ends with its cause`, async t => {
    const removeCause = await cause()
    const started = Date.now()
    let seen: string[] = []
    try {
      seen = await statusesUntil(expected)
      t.diagnostic(`reported after ${Date.now() - started} ms`)
    } finally {
      await removeCause()
    }
    if (retry)
      await real.kube.patch(
        nodeConfigs,
        { namespace, name },
        { metadata: { annotations: { [nodeConfigAnnotations.retry]: 'now' } } },
      )
    const removed = Date.now()
    await waitForConfigured()
    t.diagnostic(`configured ${Date.now() - removed} ms after the cause was removed`)
    assert.deepEqual(
      seen.slice(0, -1).filter(text => !expectedBefore.test(text)),
      [],
    )
  })
