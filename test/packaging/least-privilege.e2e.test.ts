/**
 * What an installation by the chart or by the kustomizations gives to its Pods, on a real kube-apiserver: admission of Jobs, Pod
 * Security, Services and permissions.
 */
import assert from 'node:assert/strict'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { parseAllDocuments } from 'yaml'
import { type AgentSettings, controllerConfig } from '../../src/controller/config.ts'
import { aConfig } from '../../src/controller/controller.fixture.ts'
import { agentJob } from '../../src/controller/job.ts'
import type { JobObject } from '../../src/kube/types.ts'
import { type Helm, openHelm } from '../rigs/helm/rig.ts'
import { type ControlPlane, startControlPlane } from '../rigs/kubernetes/rig.ts'
import { eventually } from '../support/eventually.ts'
import { firstApply } from '../support/first-apply.ts'

const root = join(import.meta.dirname, '../..')
const chart = join(root, 'deployments/helm')
const namespace = 'multinic-system'

let home: string
let helm: Helm
let cluster: ControlPlane

before(async () => {
  home = await mkdtemp(join(tmpdir(), 'multinic-helm-'))
  helm = await openHelm(home)
  cluster = await startControlPlane()
  for (const name of [namespace, 'multinic-operator-system']) {
    await kubectl('create', 'namespace', name)
    // The API server then answers with a warning to every Deployment whose Pods need more.
    await kubectl('label', 'namespace', name, 'pod-security.kubernetes.io/warn=restricted')
  }
  await kubectl('apply', '--filename', join(root, 'config/crd/bases'))
})
after(async () => {
  await cluster?.close()
  await rm(home, { recursive: true, force: true })
})

function kubectl(...args: string[]) {
  return cluster.exec('kubectl', args)
}

async function render(...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await helm([
    'template',
    'multinic-agent',
    chart,
    '--namespace',
    namespace,
    '--kube-version',
    '1.36.0',
    '--api-versions',
    'monitoring.coreos.com/v1',
    ...args,
  ])
  assert.equal(code, 0, stderr)
  return stdout
}

/** Asks the API server as the controller of the chart. Returns its refusal. */
async function createAsController(job: JobObject): Promise<string> {
  const as = `--as=system:serviceaccount:${namespace}:multinic-agent`
  const args = ['create', as, '--dry-run=server', '--filename', '-']
  const { code, stderr } = await cluster.exec('kubectl', args, { input: JSON.stringify(job), check: false })
  // A Pod of the agent is more than restricted, so there is a warning.
  return code === 0 ? '' : stderr
}

/** The agent settings of the installed controller. */
async function agentSettings(): Promise<AgentSettings> {
  const { stdout } = await kubectl(
    '-n',
    namespace,
    'get',
    'deployment',
    'multinic-agent-controller',
    '--output',
    'json',
  )
  const { spec } = JSON.parse(stdout) as JobObject
  const variables = spec.template.spec.containers[0]?.env ?? []
  return controllerConfig(Object.fromEntries(variables.map(({ name, value }) => [name, value]))).agent
}

test('controller M10: the chart admits the agent Jobs of its own settings and no others of the controller, after each change', async () => {
  const config = aConfig({ name: 'w1', nodeName: 'w1', nics: 1 })
  const node = { apiVersion: 'v1', kind: 'Node', metadata: { name: 'w1' } }
  const request = firstApply({ ...config, metadata: { ...config.metadata, namespace } }, node)
  const set = (...values: string[]) => values.flatMap(value => ['--set', value])
  const releases = {
    default: [],
    'another image': set('agent.image.tag=1.2.3', 'agent.priorityClassName=system-node-critical'),
    'another profile': set('controller.settings.AGENT_APPARMOR_PROFILE=Unconfined', 'global.imagePullSecrets={pull}'),
  }
  const install = async (values: string[]) => {
    const args = ['upgrade', '--install', 'multinic-agent', chart, '--namespace', namespace, ...values]
    const { code, stderr } = await helm(args, cluster.kubeconfig)
    assert.equal(code, 0, stderr)
  }
  const uninstall = () => helm(['uninstall', 'multinic-agent', '--namespace', namespace], cluster.kubeconfig)
  for (const [name, values] of Object.entries(releases)) {
    await install(values)
    const agent = await agentSettings()
    const foreign = agentJob(request, { ...agent, image: 'registry.example/attacker:1' })
    await eventually(
      async () => {
        assert.match(await createAsController(foreign), /image of the policy/, name)
        assert.equal(await createAsController(agentJob(request, agent)), '', name)
      },
      { within: 60_000, every: 500 },
    )
    // With parameters in a ConfigMap, a new release after an uninstall would never work: kubernetes/kubernetes#130887.
    await uninstall()
  }
})

test('every Pod of the kustomizations meets Pod Security restricted', async () => {
  for (const args of [
    ['--kustomize', join(root, 'config/default')],
    ['--kustomize', join(root, 'config/viola')],
    ['--filename', join(root, 'config/test/viola-test-api.yaml')],
  ]) {
    const applied = await kubectl('apply', '--server-side', '--dry-run=server', ...args)
    assert.match(applied.stdout, /deployment\.apps/)
    assert.doesNotMatch(applied.stderr, /would violate PodSecurity/)
  }
})

test('a port that nobody calls has a Service only where Prometheus scrapes it', async () => {
  const services = async (...args: string[]) => {
    const stdout = await render(...args)
    const objects = parseAllDocuments(stdout).map(
      one => one.toJS() as { kind: string; metadata: { name: string } } | null,
    )
    return objects.flatMap(one => (one?.kind === 'Service' ? [one.metadata.name] : [])).sort()
  }
  const enable = (...values: string[]) => values.flatMap(value => ['--set', `${value}=true`])
  assert.deepEqual(await services(), [])
  assert.deepEqual(await services(...enable('operator.enabled', 'viola.enabled')), ['multinic-inventory', 'viola-api'])
  assert.deepEqual(await services(...enable('monitoring.serviceMonitor')), ['multinic-agent-controller'])
  assert.deepEqual(await services(...enable('operator.enabled', 'inventory.enabled')), [
    'multinic-inventory',
    'multinic-operator',
  ])
})

interface Rendered {
  kind: string
  metadata: { name: string; namespace?: string }
  rules?: { resources: string[]; verbs: string[] }[]
  spec?: { template?: { spec: { tolerations?: { key?: string; operator?: string; effect?: string }[] } } }
}
const objectsIn = (text: string) => parseAllDocuments(text).flatMap(one => (one.toJS() as Rendered | null) ?? [])

test('only a controller that labels Nodes may patch them', async () => {
  for (const isOn of [true, false]) {
    const objects = objectsIn(await render('--set', `controller.nodeLabels=${isOn}`))
    const granted = objects.flatMap(({ rules = [] }) => rules).filter(({ resources }) => resources.includes('nodes'))
    assert.equal(
      granted.some(({ verbs }) => verbs.includes('patch')),
      isOn,
    )
  }
})

test('only a controller that keeps NetworkAttachmentDefinitions may write them, and only in their namespaces', async () => {
  const rolesWith = async (...args: string[]) =>
    objectsIn(await render(...args))
      .filter(({ rules = [] }) => rules.some(({ resources }) => resources.includes('network-attachment-definitions')))
      .map(({ kind, metadata }) => `${kind} ${metadata.namespace}`)
  const prefix = 'controller.networkAttachments'
  assert.deepEqual(await rolesWith(), [])
  assert.deepEqual(await rolesWith('--set', `${prefix}.enabled=true,${prefix}.namespaces={a,b}`), ['Role a', 'Role b'])
})

test('every Pod of the chart and of the kustomizations tolerates the taint of a node that is not ready', async () => {
  const all = ['controller', 'operator', 'viola', 'inventory'].flatMap(one => ['--set', `${one}.enabled=true`])
  const chartObjects = await render(...all, '--set-json', 'controller.tolerations=[{"key":"own","operator":"Exists"}]')
  const { stdout: operator } = await kubectl('kustomize', join(root, 'config/default'))
  const viola = await readFile(join(root, 'config/test/viola-test-api.yaml'), 'utf8')
  const pods = [chartObjects, operator, viola].flatMap(objectsIn).flatMap(({ spec }) => spec?.template?.spec ?? [])
  assert.equal(pods.length, 6)
  const expected = { key: 'multinic.io/not-ready', operator: 'Exists', effect: 'NoSchedule' }
  for (const { tolerations = [] } of pods) assert.deepEqual(tolerations[0], expected)
  assert.equal(pods.filter(({ tolerations }) => tolerations?.some(({ key }) => key === 'own')).length, 1)
})

test('only a controller that sets the condition of Nodes may change their status', async () => {
  for (const [setting, expected] of Object.entries({ true: /nodes\/status/, false: /^((?!nodes\/status).)*$/s })) {
    assert.match(await render('--set', `controller.settings.NODE_CONDITION=${setting}`), expected)
  }
})

/** The right that an option adds, and the policy that limits it. */
const limitedRights = {
  'controller.settings.NODE_CONDITION=true': ['patch nodes/status', 'multinic-agent-node-condition'],
  'controller.nodeLabels=true': ['patch nodes', 'multinic-agent-node-labels'],
  'operator.enabled=true': ['create secrets', 'multinic-operator-secrets'],
} as const

for (const [option, [right, policy]] of Object.entries(limitedRights))
  test(`helm template with ${option} renders the right and its policy, or neither, by the version of Kubernetes`, async () => {
    for (const [version, expected] of Object.entries({ '1.30.0': true, '1.36.2+k3s1': true, '1.29.9': false })) {
      // The last --kube-version counts. No cluster says which APIs it has.
      const objects = objectsIn(await render('--set', option, '--kube-version', version))
      const policies = objects.flatMap(({ kind, metadata }) =>
        kind === 'ValidatingAdmissionPolicyBinding' ? [metadata.name] : [],
      )
      assert.equal(rightsIn(objects).includes(right), expected, version)
      assert.equal(policies.includes(`${namespace}-${policy}`), expected, version)
      assert.equal(policies.includes(`${namespace}-multinic-agent-jobs`), expected, version)
    }
  })

function rightsIn(objects: readonly Rendered[]): string[] {
  const rules = objects.flatMap(object => object.rules ?? [])
  return rules.flatMap(({ resources, verbs }) => resources.flatMap(one => verbs.map(verb => `${verb} ${one}`)))
}
