/** What helm prints about namespaces after an upgrade, on a real kube-apiserver. */
import assert from 'node:assert/strict'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { parseAllDocuments } from 'yaml'
import { type Helm, openHelm } from '../rigs/helm/rig.ts'
import { type ControlPlane, startControlPlane } from '../rigs/kubernetes/rig.ts'

const chart = join(import.meta.dirname, '../../deployments/helm')
const namespace = 'multinic-system'
const operator = ['--set', 'operator.enabled=true']

let home: string
let helm: Helm
let cluster: ControlPlane

before(async () => {
  home = await mkdtemp(join(tmpdir(), 'multinic-helm-'))
  helm = await openHelm(home)
  cluster = await startControlPlane()
  await kubectl('create', 'namespace', namespace)
})
after(async () => {
  await cluster?.close()
  await rm(home, { recursive: true, force: true })
})

const kubectl = (...args: string[]) => cluster.exec('kubectl', args)

test('an upgrade lists the namespaces in use without a rule and prints the rules to add', async () => {
  const upgrade = async (...more: string[]) => {
    const args = ['upgrade', '--install', 'multinic-agent', chart, '--namespace', namespace, ...operator, ...more]
    const { code, stdout, stderr } = await helm(args, cluster.kubeconfig)
    assert.equal(code, 0, stderr)
    return stdout
  }
  const config = (name: string, of: string, settings: object) => ({
    apiVersion: 'multinic.example.com/v1alpha1',
    kind: 'OpenstackConfig',
    metadata: { name, namespace: of },
    spec: {
      ...{ subnetName: 'storage', vmNames: ['worker-1'], settings },
      credentials: { openstackProviderID: `cloud-${name}`, projectID: 'a'.repeat(32) },
    },
  })
  await upgrade()
  for (const name of ['team-a', 'team-b']) await kubectl('create', 'namespace', name)
  for (const object of [
    config('one', 'team-a', { violaEndpoint: 'https://viola.team-a.example.com:8443/api' }),
    config('two', 'team-a', {}),
    config('three', 'team-b', {}),
    config('four', namespace, {}),
  ])
    await cluster.exec('kubectl', ['apply', '--filename', '-'], { input: JSON.stringify(object) })
  const [, printed = ''] = (await upgrade()).split('add them to your values:')
  const file = join(home, 'rules.yaml')
  await writeFile(file, printed.slice(0, printed.search(/\n {2}\S/) + 1 || undefined))
  assert.deepEqual(parseAllDocuments(await readFile(file, 'utf8'))[0]?.toJS().operator.namespaceRules, {
    'team-a': {
      hosts: ['viola.team-a.example.com'],
      openstackProviders: ['cloud-one', 'cloud-two'],
      k8sProviders: ['cloud-one', 'cloud-two'],
      projects: ['a'.repeat(32)],
    },
    'team-b': {
      hosts: [],
      openstackProviders: ['cloud-three'],
      k8sProviders: ['cloud-three'],
      projects: ['a'.repeat(32)],
    },
  })
  assert.doesNotMatch(await upgrade('--values', file), /namespaces without a rule/)
})
