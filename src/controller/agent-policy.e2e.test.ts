/**
 * The admission policy for agent Jobs on a real API server: what somebody with the token of the controller can create
 * (attack M10). The servers come from test/rigs/kubernetes/rig.ts.
 */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { root } from '../../test/support/audited-cluster.ts'
import { eventually } from '../../test/support/eventually.ts'
import { firstApply } from '../../test/support/first-apply.ts'
import { type RealController, startRealController } from '../../test/support/real-controller.ts'
import type { Policy } from '../contract/admission.ts'
import { connectKube, type KubeClient } from '../kube/client.ts'
import { loadKubeconfig } from '../kube/config.ts'
import { jobs } from '../kube/resources.ts'
import type { Container, JobObject, NodeObject, PodSpec } from '../kube/types.ts'
import { agentPolicy } from './agent-policy.ts'
import { controllerConfig } from './config.ts'
import { aConfig } from './controller.fixture.ts'
import { agentJob } from './job.ts'

const namespace = 'multinic-system'
const image = 'multinic-agent:latest'
let real: RealController
/** With the token of the controller. */
let kube: KubeClient

before(async () => {
  real = await startRealController()
  const { kubeconfig } = await real.install(namespace)
  await real.cp.exec('kubectl', ['apply', '-f', join(root, 'config/admission/agent-jobs.yaml')])
  kube = connectKube(await loadKubeconfig(kubeconfig))
  // The API server compiles a new policy in the background.
  await eventually(
    async () => assert.notEqual(await create(widened(spec => Object.assign(spec, { hostPID: true }))), ''),
    {
      within: 60_000,
      every: 250,
    },
  )
})

after(async () => {
  await kube?.close()
  await real?.close()
})

const systems = { netplan: 'Ubuntu 24.04 LTS', ifcfg: 'CentOS Linux 7', networkmanager: 'Rocky Linux 9.4' }
let count = 0

/** A Job as the controller creates it. */
function aJob(env: Record<string, string> = {}, osImage = systems.netplan): JobObject {
  const config = aConfig({ name: 'w1', nodeName: 'w1', nics: 2 })
  const node: NodeObject = {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name: 'w1' },
    status: { nodeInfo: { osImage } },
  }
  const request = firstApply({ ...config, metadata: { ...config.metadata, namespace } }, node)
  const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'
  const job = structuredClone(
    agentJob({ ...request, traceparent }, controllerConfig({ AGENT_IMAGE: image, ...env }).agent),
  )
  return { ...job, metadata: { ...job.metadata, name: `job-${++count}` } }
}

/** The refusal of the API server, or an empty text. The Job is not stored. */
async function create(job: JobObject, options: { kube?: KubeClient } = {}): Promise<string> {
  const path = `/apis/batch/v1/namespaces/${namespace}/jobs?dryRun=All`
  try {
    await (options.kube ?? kube).raw('POST', path, job)
    return ''
  } catch (error) {
    return String(error)
  }
}

type Widening = (spec: PodSpec & Record<string, unknown>, agent: Container & Record<string, unknown>) => unknown

function widened(widening: Widening, job = aJob()): JobObject {
  const { spec } = job.spec.template
  const [agent] = spec.containers
  assert.ok(agent)
  widening(spec as PodSpec & Record<string, unknown>, agent as Container & Record<string, unknown>)
  return job
}

const change =
  (values: Record<string, unknown>): Widening =>
  spec =>
    Object.assign(spec, values)
const changeAgent =
  (values: Record<string, unknown>): Widening =>
  (_, agent) =>
    Object.assign(agent, values)
const secure =
  (values: Record<string, unknown>): Widening =>
  (_, agent) =>
    Object.assign(agent.securityContext ?? {}, values)
const secureAll =
  (values: Record<string, unknown>): Widening =>
  spec =>
    Object.assign(spec.securityContext ?? {}, values)
const variable =
  (one: object): Widening =>
  (_, agent) =>
    agent.env?.push(one as { name: string })
const volume =
  (source: object, mount: object = {}): Widening =>
  (spec, agent) => {
    spec.volumes?.push({ name: 'more', ...source })
    agent.volumeMounts?.push({ name: 'more', mountPath: '/more', ...mount })
  }
const mountOf =
  (name: string, values: Record<string, unknown>): Widening =>
  (_, agent) =>
    Object.assign(named(agent.volumeMounts, name), values)
const pathOf =
  (name: string, hostPath: { path: string; type?: string }): Widening =>
  spec =>
    Object.assign(named(spec.volumes, name), { hostPath })

/** A widening of something that the Job does not have would widen nothing. */
function named<T extends { name: string }>(items: readonly T[] | undefined, name: string): T {
  const found = items?.find(one => one.name === name)
  assert.ok(found, `the Job has no ${name}`)
  return found
}

const exec = { exec: { command: ['sh'] } }
const another = { name: 'another', image, securityContext: { privileged: true } }

const widenings: Record<string, [widening: Widening, rule: RegExp]> = {
  'a privileged container': [
    secure({ privileged: true, allowPrivilegeEscalation: true }),
    /no privileges but the capability NET_ADMIN/,
  ],
  'the capability SYS_ADMIN': [
    secure({ capabilities: { drop: ['ALL'], add: ['NET_ADMIN', 'SYS_ADMIN'] } }),
    /capability NET_ADMIN/,
  ],
  'the default capabilities': [secure({ capabilities: { add: ['NET_ADMIN'] } }), /capability NET_ADMIN/],
  'no capabilities section': [secure({ capabilities: undefined }), /capability NET_ADMIN/],
  'privilege escalation': [secure({ allowPrivilegeEscalation: true }), /capability NET_ADMIN/],
  'a writable root file system': [secure({ readOnlyRootFilesystem: false }), /capability NET_ADMIN/],
  'no security context': [changeAgent({ securityContext: undefined }), /capability NET_ADMIN/],
  'an unmasked /proc': [
    (spec, agent) => {
      Object.assign(agent.securityContext ?? {}, { procMount: 'Unmasked' })
      Object.assign(spec, { hostUsers: false, hostNetwork: false })
    },
    /capability NET_ADMIN/,
  ],
  'no seccomp for the container': [secure({ seccompProfile: { type: 'Unconfined' } }), /seccomp, SELinux and AppArmor/],
  'no seccomp for the Pod': [secureAll({ seccompProfile: { type: 'Unconfined' } }), /seccomp, SELinux and AppArmor/],
  'another SELinux type': [
    secureAll({ seLinuxOptions: { type: 'container_init_t' } }),
    /seccomp, SELinux and AppArmor/,
  ],
  'no AppArmor for the Pod': [secureAll({ appArmorProfile: { type: 'Unconfined' } }), /seccomp, SELinux and AppArmor/],
  'no AppArmor for the container': [
    secure({ appArmorProfile: { type: 'Unconfined' } }),
    /seccomp, SELinux and AppArmor/,
  ],
  'sysctls of the Pod': [
    spec => {
      Object.assign(spec, { hostNetwork: false })
      Object.assign(spec.securityContext ?? {}, { sysctls: [{ name: 'kernel.msgmax', value: '1' }] })
    },
    /seccomp, SELinux and AppArmor/,
  ],
  'the process namespace of the host': [change({ hostPID: true }), /no namespace of the host/],
  'the IPC namespace of the host': [change({ hostIPC: true }), /no namespace of the host/],
  'a shared process namespace': [change({ shareProcessNamespace: true }), /no namespace of the host/],
  'another runtime': [change({ runtimeClassName: 'wide' }), /no namespace of the host/],
  'any node': [change({ nodeName: undefined }), /one node by name/],
  'another image': [changeAgent({ image: 'registry.example/attacker:1' }), /image of the policy/],
  'another command': [changeAgent({ command: ['node', '-e', '…'] }), /program of the image/],
  'other arguments': [changeAgent({ args: ['-e', '…'] }), /program of the image/],
  'another working directory': [changeAgent({ workingDir: '/etc' }), /program of the image/],
  'a hook': [changeAgent({ lifecycle: { postStart: exec } }), /program of the image/],
  'a liveness probe': [changeAgent({ livenessProbe: exec }), /program of the image/],
  'a startup probe': [changeAgent({ startupProbe: exec }), /program of the image/],
  'a readiness probe': [changeAgent({ readinessProbe: exec }), /program of the image/],
  'a terminal': [changeAgent({ stdin: true, tty: true }), /program of the image/],
  'another file for the report': [changeAgent({ terminationMessagePath: '/etc/x' }), /program of the image/],
  'code in NODE_OPTIONS': [variable({ name: 'NODE_OPTIONS', value: '--import=data:,' }), /only the variables/],
  'a library in LD_PRELOAD': [variable({ name: 'LD_PRELOAD', value: '/etc/netplan/x.so' }), /only the variables/],
  'a Secret as a variable': [
    variable({ name: 'NETWORK_PROBE', valueFrom: { secretKeyRef: { name: 'x', key: 'y' } } }),
    /only the variables/,
  ],
  'all variables of a Secret': [changeAgent({ envFrom: [{ secretRef: { name: 'x' } }] }), /only the variables/],
  'a second container': [spec => spec.containers.push(another), /one container/],
  'an init container': [change({ initContainers: [another] }), /one container/],
  'another container name': [changeAgent({ name: 'other' }), /one container/],
  'the root of the host': [volume({ hostPath: { path: '/', type: 'Directory' } }), /only the host paths/],
  'another host path under a known name': [
    pathOf('netplan', { path: '/etc', type: 'Directory' }),
    /only the host paths/,
  ],
  'a host path without a type': [pathOf('netplan', { path: '/etc/netplan' }), /only the host paths/],
  'a host path outside of a known one': [
    pathOf('state', { path: '/var/lib/multinic/../kubelet', type: 'Directory' }),
    /must not contain '\.\.'|only the host paths/,
  ],
  'a socket of the host': [pathOf('dbus', { path: '/run/containerd', type: 'Directory' }), /only the host paths/],
  'a Secret as a volume': [volume({ secret: { secretName: 'x' } }), /only the host paths/],
  'a ServiceAccount token as a volume': [
    volume({ projected: { sources: [{ serviceAccountToken: { path: 'token' } }] } }),
    /only the host paths/,
  ],
  'write access to the libraries of the host': [mountOf('lib', { readOnly: false }), /each host path at its place/],
  'write access to the sockets of the host': [mountOf('dbus', { readOnly: undefined }), /each host path at its place/],
  'a host path at another place': [mountOf('state', { mountPath: '/usr/local/bin' }), /each host path at its place/],
  'a part of a host path': [mountOf('state', { subPath: 'x' }), /each host path at its place/],
  'a part of a host path by a variable': [
    mountOf('state', { subPathExpr: '$(NETWORK_PROBE)' }),
    /each host path at its place/,
  ],
  'mounts that reach the host': [
    mountOf('dbus', { mountPropagation: 'HostToContainer' }),
    /each host path at its place/,
  ],
  'an ephemeral container': [change({ ephemeralContainers: [another] }), /ephemeralContainers|one container/],
  'groups of other users': [secureAll({ supplementalGroups: [4] }), /capability NET_ADMIN/],
  'another resolver': [
    change({ dnsPolicy: 'None', dnsConfig: { nameservers: ['192.0.2.1'] } }),
    /names resolved as on the node/,
  ],
  'resolver options': [change({ dnsConfig: { searches: ['attacker.example'] } }), /names resolved as on the node/],
  'other addresses for names': [
    change({ hostAliases: [{ ip: '192.0.2.1', hostnames: ['api.example'] }] }),
    /names resolved as on the node/,
  ],
  'variables of Services': [change({ enableServiceLinks: true }), /only the variables/],
  'another ServiceAccount': [change({ serviceAccountName: 'multinic-agent' }), /ServiceAccount of the agent/],
  'a token in the Pod': [change({ automountServiceAccountToken: true }), /ServiceAccount of the agent/],
  'a token by default': [change({ automountServiceAccountToken: undefined }), /ServiceAccount of the agent/],
  'a critical priority': [change({ priorityClassName: 'system-node-critical' }), /priority class/],
  'a port of the host': [changeAgent({ ports: [{ containerPort: 80, hostPort: 80 }] }), /no ports and no devices/],
  'a device': [
    changeAgent({ resources: { limits: { 'example.com/disk': '1' }, requests: { 'example.com/disk': '1' } } }),
    /no ports and no devices/,
  ],
}
for (const [name, [widening, rule]] of Object.entries(widenings))
  test(`the token of the controller cannot create a Job with ${name}`, async () => {
    assert.match(await create(widened(widening)), rule)
  })

/** Changes the metadata of the Pod. */
const labelled =
  (values: (metadata: { labels?: Record<string, string> }) => object) =>
  ({ spec }: JobObject) =>
    Object.assign(spec.template.metadata ?? {}, values(spec.template.metadata ?? {}))
const owner = { apiVersion: 'v1', kind: 'Node', name: 'w1', uid: 'a-uid', blockOwnerDeletion: true }

const jobWidenings: Record<string, (job: JobObject) => unknown> = {
  'many Pods': job => Object.assign(job.spec, { parallelism: 100, completions: 100 }),
  'no deadline': job => Object.assign(job.spec, { activeDeadlineSeconds: undefined }),
  'a long deadline': job => Object.assign(job.spec, { activeDeadlineSeconds: 86_400 }),
  'annotations for the runtime': labelled(() => ({ annotations: { 'io.kubernetes.cri-o.Devices': '/dev/sda' } })),
  // Such a Pod would get the requests to a Service.
  'labels of another component': labelled(({ labels }) => ({
    labels: { ...labels, 'app.kubernetes.io/name': 'viola-api', 'app.kubernetes.io/component': 'viola' },
  })),
  'a further label': labelled(({ labels }) => ({ labels: { ...labels, app: 'other' } })),
  'finalizers of its Pods': labelled(() => ({ finalizers: ['example.com/keep'] })),
  'an owner whose deletion waits': job => Object.assign(job.metadata, { ownerReferences: [owner] }),
  'a finalizer': job => Object.assign(job.metadata, { finalizers: ['example.com/keep'] }),
  // Its controller would delete Pods of others.
  'Pods that it selects': job =>
    Object.assign(job.spec, {
      manualSelector: true,
      selector: { matchLabels: { 'app.kubernetes.io/name': 'multinic-agent' } },
    }),
  'another Job controller': job => Object.assign(job.spec, { managedBy: 'example.com/elsewhere' }),
}
for (const [name, widening] of Object.entries(jobWidenings))
  test(`the token of the controller cannot create a Job with ${name}`, async () => {
    const job = aJob()
    widening(job)
    assert.match(await create(job), /the controller may only create agent Jobs/)
  })

for (const [backend, osImage] of Object.entries(systems))
  test(`the Job of the controller for a node with ${backend} is accepted`, async () => {
    const everySetting = { NETWORK_PROBE: 'reported', NETWORK_TAKEOVER: 'refuse', AGENT_PULL_SECRETS: 'pull' }
    assert.equal(await create(aJob(everySetting, osImage)), '')
  })

/** Changes variables of the policy as an administrator. */
async function configure(values: Record<string, string>): Promise<void> {
  const { spec, ...policy } = agentPolicy as Policy & { spec: { variables: Variable[] } }
  const variables = spec.variables.map(one =>
    values[one.name] === undefined ? one : { ...one, expression: `'${values[one.name]}'` },
  )
  const input = JSON.stringify({ ...policy, spec: { ...spec, variables } })
  await real.cp.exec('kubectl', ['apply', '-f', '-'], { input })
}

interface Variable {
  name: string
  expression: string
}

test('a changed image, priority class and AppArmor profile of the policy are accepted, older ones refused', async () => {
  const settings = {
    AGENT_IMAGE: 'registry.example/multinic-agent@sha256:0000',
    AGENT_PRIORITY_CLASS: 'system-node-critical',
    AGENT_APPARMOR_PROFILE: 'Unconfined',
  }
  assert.match(await create(aJob(settings)), /image of the policy/)
  await configure({
    image: settings.AGENT_IMAGE,
    priorityClass: settings.AGENT_PRIORITY_CLASS,
    appArmorProfile: settings.AGENT_APPARMOR_PROFILE,
  })
  await eventually(async () => assert.equal(await create(aJob(settings)), ''), { within: 60_000, every: 250 })
  assert.match(await create(aJob()), /image of the policy/)
  await configure({})
  await eventually(async () => assert.equal(await create(aJob()), ''), { within: 60_000, every: 250 })
})

test('the token of the controller can change neither the policy nor a Job, nor the status of a Node', async () => {
  const admission = '/apis/admissionregistration.k8s.io/v1'
  const requests: ['PATCH' | 'DELETE', path: string][] = [
    ['PATCH', `${admission}/validatingadmissionpolicies/multinic-agent-jobs`],
    ['DELETE', `${admission}/validatingadmissionpolicies/multinic-agent-jobs`],
    ['PATCH', `${admission}/validatingadmissionpolicybindings/multinic-agent-jobs`],
    ['DELETE', `${admission}/validatingadmissionpolicybindings/multinic-agent-jobs`],
    ['PATCH', `/apis/batch/v1/namespaces/${namespace}/jobs/x`],
    ['PATCH', '/api/v1/nodes/w1'],
    ['PATCH', '/api/v1/nodes/w1/status'],
  ]
  for (const [method, path] of requests) {
    const sent = kube.raw(method, path, { spec: {} }, { contentType: 'application/merge-patch+json' })
    await assert.rejects(sent, /forbidden/i, `${method} ${path}`)
  }
})

test('the token of the controller can create Pods in no other way', async () => {
  const { template } = aJob().spec
  const metadata = { name: 'other', namespace }
  const workload = { selector: { matchLabels: template.metadata?.labels }, template }
  const requests: [path: string, object: object][] = [
    [`/api/v1/namespaces/${namespace}/pods`, { apiVersion: 'v1', kind: 'Pod', metadata, spec: template.spec }],
    [`/api/v1/namespaces/${namespace}/pods/x/exec?command=sh&stdout=true`, {}],
    [`/api/v1/namespaces/${namespace}/pods/x/attach?stdout=true`, {}],
    [`/api/v1/namespaces/${namespace}/pods/x/binding`, { target: { name: 'w1' } }],
    [`/api/v1/namespaces/${namespace}/serviceaccounts/multinic-agent-job/token`, {}],
    ['/apis/batch/v1/namespaces/default/jobs', { ...aJob(), metadata: { name: 'other', namespace: 'default' } }],
    [`/apis/batch/v1/namespaces/${namespace}/cronjobs`, { metadata, spec: { jobTemplate: { spec: aJob().spec } } }],
    ...['daemonsets', 'deployments', 'statefulsets', 'replicasets'].map((plural): [string, object] => [
      `/apis/apps/v1/namespaces/${namespace}/${plural}`,
      { metadata, spec: workload },
    ]),
  ]
  for (const [path, object] of requests) await assert.rejects(kube.raw('POST', path, object), /forbidden/i, path)
  const ephemeral = `/api/v1/namespaces/${namespace}/pods/x/ephemeralcontainers`
  for (const path of [ephemeral, `/apis/batch/v1/namespaces/${namespace}/jobs/x/status`])
    await assert.rejects(kube.raw('PATCH', path, {}, { contentType: 'application/merge-patch+json' }), /forbidden/i)
})

test('other users are not affected', async () => {
  const job = widened(changeAgent({ image: 'registry.example/other:1', command: ['sh'] }))
  assert.equal(await create(job, { kube: real.kube }), '')
  assert.deepEqual((await real.kube.list(jobs, { namespace })).items, [])
})
