/**
 * Attacks with the real token of each component on a real kube-apiserver with RBAC and the admission policies: the chart with all
 * components, and the operator of make deploy beside it. docs/reference/token-attacks.json has the results.
 *
 * UPDATE=1 rewrites it. Writes are dry runs: authorization and admission are the same, and no attack spoils the next one.
 */
import assert from 'node:assert/strict'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { Agent, request } from 'undici'
import { openstackConfigs } from '../../src/contract/openstack-config.ts'
import { controllerConfig } from '../../src/controller/config.ts'
import { aConfig } from '../../src/controller/controller.fixture.ts'
import { agentJob } from '../../src/controller/job.ts'
import { connectKube, type KubeClient } from '../../src/kube/client.ts'
import { loadKubeconfig } from '../../src/kube/config.ts'
import { secrets } from '../../src/kube/resources.ts'
import type { JobObject } from '../../src/kube/types.ts'
import { createBusSecrets } from '../../src/operator/clouds/bus-secrets.ts'
import { environment } from '../../src/runtime/env.ts'
import { silent } from '../../src/telemetry/log.ts'
import { openHelm } from '../rigs/helm/rig.ts'
import { kubeconfigText } from '../rigs/kubernetes/control-plane.ts'
import { type ControlPlane, startControlPlane } from '../rigs/kubernetes/rig.ts'
import { run } from '../rigs/process.ts'
import { eventually } from '../support/eventually.ts'
import { firstApply } from '../support/first-apply.ts'
import { type Call, namespaces } from './token-attack-calls.ts'
import { attacks, type Component, components, namespaceOf } from './token-attacks.ts'

const root = join(import.meta.dirname, '../..')
const resultsFile = join(root, 'docs/reference/token-attacks.json')
const accounts: Record<Component, string> = {
  operator: 'multinic-operator',
  operatorDeployed: 'multinic-operator',
  viola: 'viola-api',
  inventory: 'multinic-inventory',
  controller: 'multinic-agent',
  agent: 'multinic-agent-job',
}

let home: string
let cluster: ControlPlane
let agent: Agent
const tokens = new Map<Component, string>()

before(async () => {
  home = await mkdtemp(join(tmpdir(), 'multinic-tokens-'))
  cluster = await startControlPlane()
  agent = new Agent({ connect: { ca: await readFile(cluster.authority.cert) } })
  await kubectl('apply', '--server-side', '--kustomize', join(root, 'config/crd'))
  await kubectl('wait', '--for=condition=Established', '--timeout=60s', 'crd', '--all')
  await kubectl('apply', '--server-side', '--kustomize', join(root, 'config/default'))
  for (const name of [namespaces.release, namespaces.ruled, namespaces.foreign])
    await kubectl('create', 'namespace', name)
  await installChart()
  await createVictims()
  for (const component of components) {
    const { stdout } = await kubectl('-n', namespaceOf(component), 'create', 'token', accounts[component])
    tokens.set(component, stdout.trim())
  }
  await eventually(policiesApply, { within: 60_000, every: 250 })
})
after(async () => {
  await agent?.close()
  await cluster?.close()
  await rm(home, { recursive: true, force: true })
})

function kubectl(...args: string[]) {
  return cluster.exec('kubectl', args)
}

const create = (...objects: object[]) =>
  cluster.exec('kubectl', ['create', '--filename', '-'], {
    input: JSON.stringify({ apiVersion: 'v1', kind: 'List', items: objects }),
  })

async function installChart(): Promise<void> {
  const values = {
    crds: { install: false },
    // make deploy creates them.
    access: { clusterRoles: false },
    controller: { nodeLabels: true, settings: { NODE_CONDITION: 'true' } },
    operator: {
      enabled: true,
      namespaceRules: { [namespaces.ruled]: { openstackProviders: ['*'], k8sProviders: ['*'], projects: ['*'] } },
    },
    viola: { enabled: true, routingSecret: 'viola-routing' },
    inventory: { enabled: true },
  }
  const file = join(home, 'values.json')
  await writeFile(file, JSON.stringify(values))
  const helm = await openHelm(home)
  const chart = join(root, 'deployments/helm')
  const args = ['install', 'multinic', chart, '--namespace', namespaces.release, '--values', file]
  const { code, stderr } = await helm(args, cluster.kubeconfig)
  assert.equal(code, 0, stderr)
}

/** The objects that the attacks aim at. */
async function createVictims(): Promise<void> {
  const secretNames = ['victim', 'viola-routing', 'multinic-cloud', 'rabbitmq-foreign']
  const owned = (namespace: string) => {
    const container = { name: 'victim', image: 'victim' }
    const object = (apiVersion: string, kind: string, spec: object) => ({
      ...{ apiVersion, kind, metadata: { name: 'victim', namespace } },
      spec,
    })
    return [
      ...secretNames.map(name => ({ apiVersion: 'v1', kind: 'Secret', metadata: { name, namespace } })),
      object('v1', 'Pod', { containers: [container] }),
      object('batch/v1', 'Job', {
        suspend: true,
        template: { spec: { containers: [container], restartPolicy: 'Never' } },
      }),
      object('coordination.k8s.io/v1', 'Lease', {}),
    ]
  }
  const spaces = ['kube-system', ...Object.values(namespaces)]
  for (const space of spaces)
    await eventually(() => kubectl('-n', space, 'get', 'serviceaccount/default', 'configmap/kube-root-ca.crt'))
  const interfaces = [{ id: 0, name: 'multinic0', macAddress: 'fa:16:3e:00:00:01' }]
  await create(
    ...spaces.flatMap(owned),
    { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'powerful', namespace: 'kube-system' } },
    {
      ...{ apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'ClusterRoleBinding', metadata: { name: 'powerful' } },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'cluster-admin' },
      subjects: [{ kind: 'ServiceAccount', name: 'powerful', namespace: 'kube-system' }],
    },
    { apiVersion: 'v1', kind: 'Node', metadata: { name: 'w1' } },
    ...[namespaces.release, namespaces.foreign].map(namespace => ({
      apiVersion: 'multinic.io/v1',
      kind: 'MultiNicNodeConfig',
      metadata: { name: 'w1', namespace },
      spec: { nodeName: 'w1', interfaces },
    })),
    openstackConfig(namespaces.foreign, 'main'),
    await certificateRequest(),
  )
}

function openstackConfig(namespace: string, name: string): object {
  return {
    apiVersion: 'multinic.example.com/v1alpha1',
    kind: 'OpenstackConfig',
    metadata: { name, namespace },
    spec: { subnetName: 'a', vmNames: ['w1'], credentials: { openstackProviderID: 'p', projectID: 'a'.repeat(32) } },
  }
}

async function connect(kubeconfig: string): Promise<KubeClient> {
  return connectKube(await loadKubeconfig(kubeconfig))
}

async function certificateRequest(): Promise<object> {
  const options = [
    '-newkey',
    'rsa:2048',
    '-nodes',
    '-keyout',
    join(home, 'key.pem'),
    '-subj',
    '/O=cluster-operators/CN=x',
  ]
  const { stdout } = await run('openssl', ['req', '-new', ...options])
  return {
    apiVersion: 'certificates.k8s.io/v1',
    kind: 'CertificateSigningRequest',
    metadata: { name: 'attack' },
    spec: {
      request: Buffer.from(stdout).toString('base64'),
      signerName: 'kubernetes.io/kube-apiserver-client',
      usages: ['client auth'],
    },
  }
}

/** The API server compiles new policies in the background. */
async function policiesApply(): Promise<void> {
  const limited: [Component, string][] = [
    ['operator', 'other-secret'],
    ['operatorDeployed', 'other-secret'],
    ['operator', 'configmaps'],
    ['operatorDeployed', 'configmaps'],
    ['controller', 'jobs'],
    ['controller', 'nodes'],
  ]
  for (const [component, id] of limited) {
    const attack = attacks.find(one => one.id === id) ?? assert.fail(id)
    for (const call of attack.calls(namespaceOf(component), accounts[component]))
      assert.equal(await isAllowed(component, call), false, `${component}: ${call.method} ${call.path}`)
  }
}

/** The status and the text of the answer. */
async function send(token: string, { method, path, body, contentType, headers }: Call): Promise<[number, string]> {
  const url = new URL(path, cluster.server)
  if (method !== 'GET') url.searchParams.set('dryRun', 'All')
  const type = contentType ?? (method === 'PATCH' ? 'application/merge-patch+json' : 'application/json')
  const response = await request(url, {
    method,
    dispatcher: agent,
    headers: { authorization: `Bearer ${token}`, 'content-type': type, ...headers },
    ...(body && { body: JSON.stringify(body) }),
  })
  return [response.statusCode, await response.body.text()]
}

async function isAllowed(component: Component, call: Call): Promise<boolean> {
  const [status, text] = await send(tokens.get(component) ?? '', call)
  assert.ok(status < 300 || status === 403, `${component} ${call.method} ${call.path}: ${text}`)
  return status < 300
}

const results: Record<string, Component[]> = {}

for (const { id, about, allowed, calls } of attacks)
  test(`with the tokens of the components: ${about.en}`, async () => {
    const succeeded: string[] = []
    for (const component of components)
      for (const call of calls(namespaceOf(component), accounts[component]))
        if (await isAllowed(component, call)) succeeded.push(`${component}: ${call.method} ${call.path}`)
    const able = components.filter(component => succeeded.some(one => one.startsWith(`${component}: `)))
    results[id] = able
    assert.deepEqual(able, [...allowed], succeeded.join('\n'))
  })

test('an administrator can do all of it: no attack is refused because it is malformed', async () => {
  const { stdout } = await kubectl('config', 'view', '--raw', '--output', 'jsonpath={.users[0].user.token}')
  // Pods without a node cannot be entered.
  const entered = attacks.filter(one => one.id !== 'exec')
  const calls = entered.flatMap(one => components.flatMap(by => one.calls(namespaceOf(by), accounts[by])))
  for (const call of new Set(calls.map(one => JSON.stringify(one)))) {
    const [status, text] = await send(stdout, JSON.parse(call))
    // The Lease has another version by now.
    assert.ok(status < 300 || status === 409, `${call}: ${text}`)
  }
})

test('only the controller can create an agent Job, and only in its namespace', async () => {
  const { release } = namespaces
  const { stdout } = await kubectl('-n', release, 'get', 'deployment/multinic-agent-controller', '--output', 'json')
  const variables = (JSON.parse(stdout) as JobObject).spec.template.spec.containers[0]?.env ?? []
  const settings = controllerConfig(Object.fromEntries(variables.map(({ name, value }) => [name, value]))).agent
  const config = aConfig({ name: 'w1', nodeName: 'w1', nics: 1 })
  const node = { apiVersion: 'v1', kind: 'Node', metadata: { name: 'w1' } }
  for (const component of components)
    for (const namespace of [release, namespaces.foreign, 'kube-system']) {
      const body = agentJob(firstApply({ ...config, metadata: { ...config.metadata, namespace } }, node), settings)
      const call: Call = { method: 'POST', path: `/apis/batch/v1/namespaces/${namespace}/jobs`, body }
      assert.equal(await isAllowed(component, call), component === 'controller' && namespace === release, component)
    }
})

test('the policy admits what the operator writes: the Secret of a message bus, and its next password', async () => {
  const kubeconfig = join(home, 'operator.kubeconfig')
  const token = tokens.get('operator') ?? ''
  await writeFile(kubeconfig, kubeconfigText(cluster.server, cluster.authority.cert, { token }), { mode: 0o600 })
  const [admin, kube] = await Promise.all([cluster.kubeconfig, kubeconfig].map(async path => connect(path)))
  assert.ok(admin && kube)
  const dataOf = async (namespace: string, name: string) => (await admin.get(secrets, { namespace, name }))?.data
  try {
    for (const namespace of [namespaces.release, namespaces.ruled]) {
      const write = async (name: string, password: string) => {
        const config = await admin.get(openstackConfigs, { namespace, name })
        assert.ok(config)
        const bus = { urls: ['amqp://bus'], user: 'x', password }
        await createBusSecrets(kube).update(config, bus, silent)
      }
      for (const name of ['main', 'foreign']) await create(openstackConfig(namespace, name))
      for (const password of ['first', 'second']) {
        await write('main', password)
        const written = (await dataOf(namespace, 'rabbitmq-main'))?.['RABBITMQ_PASSWORD'] ?? ''
        assert.equal(Buffer.from(written, 'base64').toString(), password)
      }
      await write('foreign', 'first')
      assert.equal(await dataOf(namespace, 'rabbitmq-foreign'), undefined)
    }
  } finally {
    await Promise.all([admin.close(), kube.close()])
  }
})

test('the documents have these results', async () => {
  const lines = Object.entries(results).map(([id, able]) => `  "${id}": ${JSON.stringify(able).replaceAll(',', ', ')}`)
  if (environment()['UPDATE']) await writeFile(resultsFile, `{\n${lines.join(',\n')}\n}\n`)
  const stored = JSON.parse(await readFile(resultsFile, 'utf8'))
  assert.deepEqual(results, stored, 'UPDATE=1 make e2e ONLY=tokens rewrites the file')
})
