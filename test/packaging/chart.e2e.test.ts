/**
 * The chart, the kustomizations and the make targets for users, on a real kube-apiserver.
 *
 * UPDATE=1 rewrites the golden files.
 */
import assert from 'node:assert/strict'
import { cp, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { parseAllDocuments } from 'yaml'
import { environment } from '../../src/runtime/env.ts'
import { type Helm, openHelm } from '../rigs/helm/rig.ts'
import { type ControlPlane, startControlPlane } from '../rigs/kubernetes/rig.ts'
import type { RunResult } from '../rigs/process.ts'

const root = join(import.meta.dirname, '../..')
const chart = join(root, 'deployments/helm')
const golden = join(root, 'test/golden/helm')
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
  await kubectl('apply', '--filename', join(import.meta.dirname, 'prometheus-operator-crds.yaml'))
})
after(async () => {
  await cluster?.close()
  await rm(home, { recursive: true, force: true })
})

function kubectl(...args: string[]): Promise<RunResult> {
  return cluster.exec('kubectl', args)
}

/** Runs make with the kubeconfig of the cluster. */
function make(...args: string[]): Promise<RunResult> {
  return cluster.exec('make', ['--silent', '--directory', root, ...args], { check: false })
}

function render(values: string | undefined, ...args: string[]): Promise<RunResult> {
  const from = values === undefined ? [] : ['--values', join(chart, values)]
  const api = ['policy/v1', 'monitoring.coreos.com/v1'].flatMap(version => ['--api-versions', version])
  return helm([
    'template',
    'multinic-agent',
    chart,
    '--namespace',
    namespace,
    '--kube-version',
    '1.36.0',
    ...api,
    ...from,
    ...args,
  ])
}

const files = (await readdir(chart)).filter(name => /^values-.*\.yaml$/.test(name))
const allEnabled = ['controller', 'operator', 'viola', 'inventory'].flatMap(component => [
  '--set',
  `${component}.enabled=true`,
])
const allOptions = [
  ...['--set', 'viola.settings.VIOLA_PROVIDER_NAME=Seoul 1'],
  ...['--set', 'controller.nodeLabels=true', '--set', 'controller.networkAttachments.enabled=true'],
  ...['--set-json', 'controller.networkAttachments.ipam={"storage":{"type":"whereabouts","range":"10.10.0.128/26"}}'],
]
const cases: [name: string, values: string | undefined, args: string[]][] = [
  ['default', undefined, []],
  ...files.map((file): [string, string, string[]] => [
    file.replace(/^values-|\.yaml$/g, ''),
    file,
    file === 'values-single.yaml' ? ['--set', 'operator.cloud.cloudsYaml=clouds: {}'] : [],
  ]),
  ['everything', undefined, [...allEnabled, '--set', 'namespace.manage=true', ...allOptions]],
  ['egress', undefined, [...allEnabled, '--set', 'networkPolicy.egressCidrs={10.0.0.0/8,192.0.2.1/32}']],
]

for (const [name, values, args] of cases) {
  test(`${name}: helm lint passes, and the output equals the golden file`, async () => {
    const linted = await helm([
      'lint',
      '--strict',
      chart,
      ...(values ? ['--values', join(chart, values)] : []),
      ...args,
    ])
    assert.equal(linted.code, 0, linted.stdout + linted.stderr)
    const { code, stdout, stderr } = await render(values, '--set', 'crds.install=false', ...args)
    assert.equal(code, 0, stderr)
    const file = join(golden, `${name}.yaml`)
    if (environment()['UPDATE']) await writeFile(file, stdout)
    assert.equal(stdout, await readFile(file, 'utf8'), 'UPDATE=1 make e2e ONLY=chart rewrites the file')
  })

  test(`${name}: a real API server accepts every object`, async () => {
    const { stdout } = await render(values, ...args)
    const objects = parseAllDocuments(stdout).filter(document => document.contents !== null)
    assert.ok(objects.length > 5)
    const applied = await cluster.exec('kubectl', ['apply', '--server-side', '--dry-run=server', '--filename', '-'], {
      input: stdout,
    })
    assert.equal(applied.stdout.trim().split('\n').length, objects.length)
    assert.doesNotMatch(applied.stderr, /unknown field|would violate PodSecurity/)
  })
}

const examples = join(root, 'docs/examples')
/** Examples for helm, each with the values file that it extends. */
const exampleValues = {
  'proxy.yaml': 'mgmt',
  'private-ca.yaml': 'mgmt',
  'registry-mirror.yaml': 'production',
  'air-gapped.yaml': 'production',
  'kustomize-operator.yaml': 'production',
}
for (const [example, type] of Object.entries(exampleValues))
  test(`helm and a real API server accept the example ${example}`, async () => {
    const { code, stdout, stderr } = await render(`values-${type}.yaml`, '--values', join(examples, example))
    assert.equal(code, 0, stderr)
    await cluster.exec('kubectl', ['apply', '--server-side', '--dry-run=server', '--filename', '-'], { input: stdout })
  })

test('every example for helm is tested', async () => {
  const others = ['plain-openstack.yaml', 'pods-ipvlan.yaml', 'pods-macvlan.yaml', 'routing-proxy.yaml']
  const files = (await readdir(examples)).filter(name => name.endsWith('.yaml'))
  assert.deepEqual(files.sort(), [...Object.keys(exampleValues), ...others].sort())
})

const mistakes: Record<string, [args: string[], message: RegExp]> = {
  'an unknown value': [['--set', 'controller.replica=2'], /controller.*replica/s],
  'an unknown setting': [['--set', 'controller.settings.MAX_UNAVAILABEL=1'], /MAX_UNAVAILABEL/],
  'a replica count that is not a number': [['--set', 'controller.replicas=two'], /replicas/],
  'two operators with the embedded inventory': [
    ['--set', 'operator.enabled=true', '--set', 'operator.replicas=2'],
    /operator\.replicas.*inventory\.enabled/s,
  ],
  'two inventories without PostgreSQL': [
    ['--set', 'inventory.enabled=true', '--set', 'inventory.replicas=2'],
    /inventory\.replicas.*inventory\.databaseSecret/s,
  ],
  'the name of a clouds.yaml instead of its content': [
    ['--set', 'operator.enabled=true', '--set', 'operator.cloud.cloudsYaml=clouds.yaml'],
    /operator\.cloud\.cloudsYaml.*--set-file/s,
  ],
  'the certificate of a cloud without the cloud': [
    ['--set', 'operator.enabled=true', '--set', 'operator.cloud.cacert=x'],
    /operator\.cloud\.cacert.*operator\.cloud\.cloudsYaml/s,
  ],
  'an operator of its own namespace with all Secrets': [
    ['--set', 'operator.enabled=true,operator.ownNamespaceOnly=true,operator.allSecrets=true'],
    /operator\.ownNamespaceOnly.*operator\.allSecrets/s,
  ],
  'a right to write Secrets that no policy limits': [
    [
      ...['--set', 'operator.enabled=true,operator.settings.RABBITMQ_SECRET_ENABLED=true'],
      ...['--kube-version', '1.29.0'],
    ],
    /operator\.settings\.RABBITMQ_SECRET_ENABLED.*1\.30/s,
  ],
  'an operator that serves its own namespace and others': [
    ['--set', 'operator.enabled=true,operator.ownNamespaceOnly=true,operator.settings.WATCH_NAMESPACES=a'],
    /operator\.ownNamespaceOnly.*WATCH_NAMESPACES/s,
  ],
}
for (const [name, [args, message]] of Object.entries(mistakes))
  test(`helm refuses ${name} and names it`, async () => {
    const { code, stderr } = await render(undefined, ...args)
    assert.notEqual(code, 0)
    assert.match(stderr, message)
  })

/** A chart of an older version, whose CRD of OpenstackConfigs had no printer columns. */
async function olderChart(): Promise<string> {
  const older = join(home, 'older')
  await cp(chart, older, { recursive: true })
  const file = join(older, 'files/crds/multinic.example.com_openstackconfigs.yaml')
  const text = (await readFile(file, 'utf8')).replace(/^ {6}additionalPrinterColumns:\n( {8}.*\n)+/m, '')
  await writeFile(file, text)
  return older
}

async function columns(): Promise<string> {
  const path = 'jsonpath={.spec.versions[*].additionalPrinterColumns[*].name}'
  return (await kubectl('get', 'crd', 'openstackconfigs.multinic.example.com', '--output', path)).stdout
}

test('helm installs, upgrades including the CRDs, and uninstalls; CRDs and objects stay', async () => {
  const install = async (from: string, ...more: string[]) => {
    const args = ['upgrade', '--install', 'multinic-agent', from, '--namespace', namespace, ...more]
    const { code, stderr } = await helm(args, cluster.kubeconfig)
    assert.equal(code, 0, stderr)
  }
  await install(await olderChart())
  assert.equal(await columns(), '')
  await install(chart, '--values', join(chart, 'values-staging.yaml'))
  assert.match(await columns(), /^Ready Reason /)
  await kubectl('apply', '--filename', join(root, 'config/samples/openstackconfig.yaml'))
  const removed = await helm(['uninstall', 'multinic-agent', '--namespace', namespace], cluster.kubeconfig)
  assert.equal(removed.code, 0, removed.stderr)
  const { stdout } = await kubectl('get', 'openstackconfigs', '--namespace', namespace, '--output', 'name')
  assert.match(stdout, /openstackconfig-sample/)
  const left = await kubectl('get', 'deployments,serviceaccounts', '--namespace', namespace, '--output', 'name')
  assert.doesNotMatch(left.stdout, /multinic/)
})

test('the doctor checks the permissions of every installed component and reports a missing one', async () => {
  const install = ['install', 'multinic-agent', chart, '--namespace', namespace, ...allEnabled, ...allOptions]
  const { code, stderr } = await helm(install, cluster.kubeconfig)
  assert.equal(code, 0, stderr)
  // The doctor also reports that no Pod runs, so its exit code is 1.
  const runDoctor = () => cluster.exec(join(root, 'bin/multinic'), ['doctor'], { check: false })
  const healthy = (await runDoctor()).stdout
  for (const account of ['multinic-agent', 'multinic-operator', 'viola-api'])
    assert.match(healthy, new RegExp(`● ${account} has all required rights`))
  assert.match(healthy, /● an admission policy limits multinic-agent to agent Jobs/)
  assert.match(healthy, /● multinic-operator may read no Secret of another component/)
  await kubectl('delete', 'clusterrolebinding', `${namespace}-multinic-agent-controller-node-labels`)
  assert.match((await runDoctor()).stdout, /✗ multinic-agent lacks the right to patch nodes \(cluster\)/)
  await kubectl('delete', 'rolebinding', `${namespace}-multinic-agent-controller-network-attachments`, '-n', 'default')
  assert.match((await runDoctor()).stdout, /✗ multinic-agent lacks .*create network-attachment-definitions/)
  await kubectl('delete', 'clusterrolebinding', `${namespace}-multinic-agent-controller`)
  const { stdout } = await runDoctor()
  assert.match(stdout, /✗ multinic-agent lacks the right to list nodes \(cluster\), watch nodes \(cluster\)/)
  assert.match(stdout, /● multinic-operator has all required rights/)
  await kubectl('delete', 'validatingadmissionpolicybinding', `${namespace}-multinic-agent-jobs`)
  assert.match((await runDoctor()).stdout, /▲ no admission policy limits the Jobs of multinic-agent/)
  await kubectl('delete', 'validatingadmissionpolicy', `${namespace}-multinic-operator-secrets`)
  assert.match((await runDoctor()).stdout, /✗ no admission policy limits the Secrets that multinic-operator writes/)
  const removed = await helm(['uninstall', 'multinic-agent', '--namespace', namespace], cluster.kubeconfig)
  assert.equal(removed.code, 0, removed.stderr)
})

test('make install and deploy install the operator, and undeploy removes it but not the objects', async () => {
  for (const target of [['install'], ['deploy', 'IMG=registry.example/multinic-operator:1.2.3']]) {
    const { code, stderr } = await make(...target)
    assert.equal(code, 0, stderr)
  }
  const operator = ['--namespace', 'multinic-operator-system']
  const image = ['--output', 'jsonpath={.spec.template.spec.containers[*].image}']
  const deployed = await kubectl('get', 'deployment', 'multinic-operator-controller-manager', ...operator, ...image)
  assert.equal(deployed.stdout, 'registry.example/multinic-operator:1.2.3')
  for (const object of ['service/multinic-operator-inventory-service', 'configmap/multinic-operator-operator-config'])
    await kubectl('get', object, ...operator)
  await kubectl('apply', '--kustomize', join(root, 'config/samples'))
  assert.equal((await make('undeploy')).code, 0)
  await kubectl('get', 'openstackconfig', 'openstackconfig-sample', '--namespace', namespace)
  const { stdout } = await kubectl('get', 'deployments', ...operator, '--output', 'name')
  assert.equal(stdout, '')
})

test('the doctor names an operator that may read Secrets of Viola, helm warns, and make deploy gives no such right', async () => {
  const values = [...allEnabled, '--set', 'viola.routingSecret=viola-routing,access.clusterRoles=false']
  const release = async (...more: string[]) => {
    const args = ['upgrade', '--install', 'multinic-agent', chart, '--namespace', namespace, ...values, ...more]
    const { code, stdout, stderr } = await helm(args, cluster.kubeconfig)
    assert.equal(code, 0, stderr)
    return stdout
  }
  const runDoctor = async () => (await cluster.exec(join(root, 'bin/multinic'), ['doctor'], { check: false })).stdout
  assert.doesNotMatch(await release(), /WARNING: (the operator may read|operator\.allSecrets)/)
  assert.match(await runDoctor(), /● multinic-operator may read no Secret of another component/)
  const named = await release('--set', 'operator.secretNames={contrabass-encrypt-key,viola-routing}')
  assert.match(named, /WARNING: the operator may read Secrets of Viola or the inventory: viola-routing\./)
  assert.match(
    await runDoctor(),
    /✗ multinic-operator may read Secrets of other .*multinic-system\/viola-routing \(viola\)/,
  )
  assert.match(await release('--set', 'operator.allSecrets=true'), /WARNING: operator\.allSecrets is on/)
  assert.match(await runDoctor(), /▲ multinic-operator may read every Secret of the cluster/)
  // The operator of make deploy serves multinic-system: Viola must keep its Secrets elsewhere.
  await release('--set', 'operator.enabled=false')
  assert.equal((await make('deploy')).code, 0)
  assert.match(
    await runDoctor(),
    /✗ multinic-operator may read Secrets of other .*multinic-system\/viola-routing \(viola\)/,
  )
  await release('--set', 'operator.enabled=false,viola.routingSecret=')
  assert.match(await runDoctor(), /● multinic-operator may read no Secret of another component/)
  assert.equal((await make('undeploy')).code, 0)
  const removed = await helm(['uninstall', 'multinic-agent', '--namespace', namespace], cluster.kubeconfig)
  assert.equal(removed.code, 0, removed.stderr)
})

/** A namespace whose deletion waits for an object with a finalizer. */
async function createTerminatingNamespace(patch: string): Promise<void> {
  const sample = await readFile(join(root, 'config/samples/openstackconfig.yaml'), 'utf8')
  const input = sample.replace(`namespace: ${namespace}`, 'namespace: ending')
  await kubectl('create', 'namespace', 'ending')
  await cluster.exec('kubectl', ['apply', '--filename', '-'], { input })
  const object = ['openstackconfig', 'openstackconfig-sample', '--namespace', 'ending']
  await kubectl('patch', ...object, '--type', 'merge', '--patch', patch)
  await kubectl('delete', 'namespace', 'ending', '--wait=false')
}

test('make uninstall refuses while objects exist; FORCE=1 succeeds although a running component adds its finalizer again', async () => {
  const patch = '{"metadata":{"finalizers":["multinic.example.com/hold"]}}'
  const object = ['openstackconfig', 'openstackconfig-sample', '--namespace', namespace]
  const hold = ['patch', ...object, '--type', 'merge', '--patch', patch]
  await kubectl(...hold)
  const refused = await make('uninstall')
  assert.notEqual(refused.code, 0)
  assert.match(refused.stderr, /1 objects exist.*openstackconfig-sample.*FORCE=1/s)
  await kubectl('get', ...object)
  await createTerminatingNamespace(patch)
  let ended = false
  const runningComponent = (async () => {
    while (!ended) await cluster.exec('kubectl', hold, { check: false })
  })()
  const forced = await make('uninstall', 'FORCE=1').finally(() => {
    ended = true
  })
  await runningComponent
  assert.equal(forced.code, 0, forced.stderr)
  const { stdout } = await kubectl('get', 'customresourcedefinitions', '--output', 'name')
  assert.doesNotMatch(stdout, /multinic/)
})

test('if make install created the CRDs, helm installs the rest, reports it and does not change the CRDs', async () => {
  assert.equal((await make('install')).code, 0)
  const { code, stdout, stderr } = await helm(
    ['install', 'multinic-agent', chart, '--namespace', namespace],
    cluster.kubeconfig,
  )
  assert.equal(code, 0, stderr)
  assert.match(stdout, /CRDs not changed, .*multinicnodeconfigs\.multinic\.io/s)
  await kubectl('get', 'deployment', 'multinic-agent-controller', '--namespace', namespace)
  const owned = await kubectl('get', 'customresourcedefinitions', '--output', 'jsonpath={..annotations}')
  assert.doesNotMatch(owned.stdout, /meta\.helm\.sh\/release-name":"multinic-agent/)
})
