/**
 * The chart, the kustomizations and the make targets for people, on a real kube-apiserver.
 *
 * UPDATE=1 writes the golden files anew.
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
import type { Ran } from '../rigs/process.ts'

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
  for (const name of [namespace, 'multinic-operator-system']) await kubectl('create', 'namespace', name)
  await kubectl('apply', '--filename', join(import.meta.dirname, 'prometheus-operator-crds.yaml'))
})
after(async () => {
  await cluster?.close()
  await rm(home, { recursive: true, force: true })
})

function kubectl(...args: string[]): Promise<Ran> {
  return cluster.exec('kubectl', args)
}

/** With what the kubeconfig of the cluster says. */
function make(...args: string[]): Promise<Ran> {
  return cluster.exec('make', ['--silent', '--directory', root, ...args], { check: false })
}

function rendered(values: string | undefined, ...args: string[]): Promise<Ran> {
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
const everything = ['controller', 'operator', 'viola', 'inventory'].flatMap(part => ['--set', `${part}.enabled=true`])
const cases: [name: string, values: string | undefined, args: string[]][] = [
  ['default', undefined, []],
  ...files.map((file): [string, string, string[]] => [file.replace(/^values-|\.yaml$/g, ''), file, []]),
  [
    'token-review',
    undefined,
    [
      ...everything,
      ...['viola.settings.VIOLA_TOKEN_REVIEW=true', 'inventory.settings.INVENTORY_TOKEN_REVIEW=true'].flatMap(value => [
        '--set',
        value,
      ]),
    ],
  ],
  ['everything', undefined, [...everything, '--set', 'namespace.manage=true', '--set', 'networkPolicy.enabled=true']],
]

for (const [name, values, args] of cases) {
  test(`${name}: helm lint has nothing to say, and what is rendered is what it was`, async () => {
    const linted = await helm([
      'lint',
      '--strict',
      chart,
      ...(values ? ['--values', join(chart, values)] : []),
      ...args,
    ])
    assert.equal(linted.code, 0, linted.stdout + linted.stderr)
    const { code, stdout, stderr } = await rendered(values, '--set', 'crds.install=false', ...args)
    assert.equal(code, 0, stderr)
    const file = join(golden, `${name}.yaml`)
    if (environment()['UPDATE']) await writeFile(file, stdout)
    assert.equal(stdout, await readFile(file, 'utf8'), 'UPDATE=1 make e2e ONLY=chart writes it anew')
  })

  test(`${name}: a real API server takes every object`, async () => {
    const { stdout } = await rendered(values, ...args)
    const objects = parseAllDocuments(stdout).filter(document => document.contents !== null)
    assert.ok(objects.length > 5)
    const applied = await cluster.exec('kubectl', ['apply', '--server-side', '--dry-run=server', '--filename', '-'], {
      input: stdout,
    })
    assert.equal(applied.stdout.trim().split('\n').length, objects.length)
    assert.doesNotMatch(applied.stderr, /unknown field|Warning: would violate/)
  })
}

const examples = join(root, 'docs/examples')
/** Those for helm; the file that each is given after. */
const exampleValues = {
  'proxy.yaml': 'mgmt',
  'private-ca.yaml': 'mgmt',
  'registry-mirror.yaml': 'production',
  'air-gapped.yaml': 'production',
}
for (const [example, type] of Object.entries(exampleValues))
  test(`the example ${example} is taken by helm and by a real API server`, async () => {
    const { code, stdout, stderr } = await rendered(`values-${type}.yaml`, '--values', join(examples, example))
    assert.equal(code, 0, stderr)
    await cluster.exec('kubectl', ['apply', '--server-side', '--dry-run=server', '--filename', '-'], { input: stdout })
  })

test('every example for helm is among them', async () => {
  const others = ['pods-ipvlan.yaml', 'pods-macvlan.yaml', 'routing-proxy.yaml']
  const files = (await readdir(examples)).filter(name => name.endsWith('.yaml'))
  assert.deepEqual(files.sort(), [...Object.keys(exampleValues), ...others].sort())
})

const mistakes: Record<string, [args: string[], words: RegExp]> = {
  'a name that does not exist': [['--set', 'controller.replica=2'], /controller.*replica/s],
  'a setting that does not exist': [['--set', 'controller.settings.MAX_UNAVAILABEL=1'], /MAX_UNAVAILABEL/],
  'a replica count that is no number': [['--set', 'controller.replicas=two'], /replicas/],
  'two operators with the embedded inventory': [
    ['--set', 'operator.enabled=true', '--set', 'operator.replicas=2'],
    /operator\.replicas.*inventory\.enabled/s,
  ],
  'two inventories without PostgreSQL': [
    ['--set', 'inventory.enabled=true', '--set', 'inventory.replicas=2'],
    /inventory\.replicas.*inventory\.databaseSecret/s,
  ],
}
for (const [name, [args, words]] of Object.entries(mistakes))
  test(`${name} is refused, and named`, async () => {
    const { code, stderr } = await rendered(undefined, ...args)
    assert.notEqual(code, 0)
    assert.match(stderr, words)
  })

/** The chart of a version whose definition of OpenstackConfigs had no columns. */
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

test('helm installs, upgrades with the definitions and uninstalls; definitions and objects stay', async () => {
  const install = async (from: string, ...more: string[]) => {
    const words = ['upgrade', '--install', 'multinic-agent', from, '--namespace', namespace, ...more]
    const { code, stderr } = await helm(words, cluster.kubeconfig)
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

test('the doctor finds the rights of every part that the chart installed, and the one that is taken away', async () => {
  const install = ['install', 'multinic-agent', chart, '--namespace', namespace, ...everything]
  const { code, stderr } = await helm(install, cluster.kubeconfig)
  assert.equal(code, 0, stderr)
  // No Pod runs here: that is told too, so it ends with 1.
  const asked = () => cluster.exec(join(root, 'bin/multinic'), ['doctor'], { check: false })
  const healthy = (await asked()).stdout
  for (const account of ['multinic-agent', 'multinic-operator', 'viola-api'])
    assert.match(healthy, new RegExp(`● ${account} has its rights`))
  await kubectl('delete', 'clusterrolebinding', `${namespace}-multinic-agent-controller`)
  const { stdout } = await asked()
  assert.match(stdout, /✗ multinic-agent may not list nodes \(cluster\), watch nodes \(cluster\)/)
  assert.match(stdout, /● multinic-operator has its rights/)
  const removed = await helm(['uninstall', 'multinic-agent', '--namespace', namespace], cluster.kubeconfig)
  assert.equal(removed.code, 0, removed.stderr)
})

test('make install, deploy and undeploy do what they say, and undeploy leaves objects alone', async () => {
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

/** It waits for an object whose part is gone. */
async function endingNamespace(patch: string): Promise<void> {
  const sample = await readFile(join(root, 'config/samples/openstackconfig.yaml'), 'utf8')
  const input = sample.replace(`namespace: ${namespace}`, 'namespace: ending')
  await kubectl('create', 'namespace', 'ending')
  await cluster.exec('kubectl', ['apply', '--filename', '-'], { input })
  const object = ['openstackconfig', 'openstackconfig-sample', '--namespace', 'ending']
  await kubectl('patch', ...object, '--type', 'merge', '--patch', patch)
  await kubectl('delete', 'namespace', 'ending', '--wait=false')
}

test('make uninstall refuses while objects exist; forced, it ends although a part that still runs puts its finalizer back', async () => {
  const patch = '{"metadata":{"finalizers":["multinic.example.com/hold"]}}'
  const object = ['openstackconfig', 'openstackconfig-sample', '--namespace', namespace]
  const hold = ['patch', ...object, '--type', 'merge', '--patch', patch]
  await kubectl(...hold)
  const refused = await make('uninstall')
  assert.notEqual(refused.code, 0)
  assert.match(refused.stderr, /1 objects exist.*openstackconfig-sample.*FORCE=1/s)
  await kubectl('get', ...object)
  await endingNamespace(patch)
  let ended = false
  const part = (async () => {
    while (!ended) await cluster.exec('kubectl', hold, { check: false })
  })()
  const forced = await make('uninstall', 'FORCE=1').finally(() => {
    ended = true
  })
  await part
  assert.equal(forced.code, 0, forced.stderr)
  const { stdout } = await kubectl('get', 'customresourcedefinitions', '--output', 'name')
  assert.doesNotMatch(stdout, /multinic/)
})

test('over definitions that make install brought, helm installs the rest, says so and leaves them alone', async () => {
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
