/**
 * The profile for one cluster (values-single.yaml) on a real kube-apiserver: its Secret, its notes, the rights of the operator,
 * and what helm uninstall leaves. No Pod runs here; test/docs/quick-start.e2e.test.ts runs them.
 */
import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { type Helm, openHelm } from '../rigs/helm/rig.ts'
import { type ControlPlane, startControlPlane } from '../rigs/kubernetes/rig.ts'
import { eventually } from '../support/eventually.ts'
import { definitionObjects, newObjects, objectsIn } from '../support/objects-in.ts'

const root = join(import.meta.dirname, '../..')
const chart = join(root, 'deployments/helm')
const namespace = 'multinic-system'

let home: string
let helm: Helm
let cluster: ControlPlane
let earlier: string[]

before(async () => {
  home = await mkdtemp(join(tmpdir(), 'multinic-single-'))
  helm = await openHelm(home)
  cluster = await startControlPlane()
  await kubectl('create', 'namespace', namespace)
  await eventually(() => kubectl('-n', namespace, 'get', 'serviceaccount/default', 'configmap/kube-root-ca.crt'))
  earlier = await objectsIn(cluster)
})
after(async () => {
  await cluster?.close()
  await rm(home, { recursive: true, force: true })
})

async function kubectl(...args: string[]): Promise<string> {
  return (await cluster.exec('kubectl', args)).stdout
}

async function release(command: 'install' | 'upgrade', ...more: string[]): Promise<string> {
  const profile = ['--namespace', namespace, '--values', join(chart, 'values-single.yaml')]
  const { code, stdout, stderr } = await helm([command, 'multinic', chart, ...profile, ...more], cluster.kubeconfig)
  assert.equal(code, 0, stderr)
  return stdout
}

/** Options for a file with this content. */
async function setFile(value: 'cloudsYaml' | 'cacert', content: string): Promise<string[]> {
  const file = join(home, value)
  await writeFile(file, content)
  return ['--set-file', `operator.cloud.${value}=${file}`]
}

async function secret(): Promise<Record<string, string>> {
  const { data } = JSON.parse(await kubectl('-n', namespace, 'get', 'secret', 'multinic-cloud', '--output', 'json'))
  return Object.fromEntries(
    Object.entries<string>(data).map(([key, value]) => [key, Buffer.from(value, 'base64').toString()]),
  )
}

const cloudsYaml = (password: string) => `clouds:\n  mine:\n    auth: { password: "${password}" } # , = {}\n`

test('the release has the Secret with the file as it is, and the object of the notes is valid', async () => {
  const notes = await release('install', ...(await setFile('cloudsYaml', cloudsYaml('first'))))
  assert.deepEqual(await secret(), { 'clouds.yaml': cloudsYaml('first') })
  const object = notes.match(/<<'EOF'\n(.*)\nEOF\n/s)?.[1] ?? assert.fail(notes)
  const applied = await cluster.exec('kubectl', ['apply', '--dry-run=server', '--filename', '-'], { input: object })
  assert.match(applied.stdout, /openstackconfig\.multinic\.example\.com\/main created/)
  assert.match(object, /cloudSecretRef: \{ name: multinic-cloud \}/)
  const [all, wrong] = ['clusterNodes: true', 'clusterNodes: false']
  const input = object.replace(all, wrong)
  assert.notEqual(input, object)
  const refused = cluster.exec('kubectl', ['apply', '--dry-run=server', '--filename', '-'], { input })
  await assert.rejects(refused, /one of namePattern, metadata, tags and clusterNodes is required/)
  assert.doesNotMatch(notes, /has no clouds\.yaml/)
})

test('an upgrade without the file keeps the Secret, also what somebody changed in it', async () => {
  await release('upgrade')
  assert.deepEqual(await secret(), { 'clouds.yaml': cloudsYaml('first') })
  const rotated = Buffer.from(cloudsYaml('rotated')).toString('base64')
  const patch = JSON.stringify({ data: { 'clouds.yaml': rotated } })
  await kubectl('-n', namespace, 'patch', 'secret', 'multinic-cloud', '--type', 'merge', '--patch', patch)
  await release('upgrade', ...(await setFile('cacert', 'a certificate')))
  assert.deepEqual(await secret(), { 'clouds.yaml': cloudsYaml('rotated'), cacert: 'a certificate' })
  await release('upgrade', ...(await setFile('cloudsYaml', cloudsYaml('second'))))
  assert.deepEqual(await secret(), { 'clouds.yaml': cloudsYaml('second') })
})

test('the operator may read its own Secrets by name, none of other namespaces, and that is all it needs', async () => {
  const may = async (verb: string, resource: string, of: string) => {
    const as = `--as=system:serviceaccount:${namespace}:multinic-operator`
    const args = ['auth', 'can-i', verb, resource, '--namespace', of, as]
    return (await cluster.exec('kubectl', args, { check: false })).stdout.trim().split(' ')[0]
  }
  const configs = 'openstackconfigs.multinic.example.com'
  for (const resource of [configs, 'secrets/multinic-cloud', 'secrets/contrabass-encrypt-key']) {
    assert.equal(await may('list', resource, namespace), 'yes', resource)
    assert.equal(await may('list', resource, 'kube-system'), 'no', resource)
  }
  // Helm keeps its releases in Secrets, with all values.
  for (const resource of ['secrets', 'secrets/sh.helm.release.v1.multinic.v1', 'secrets/viola-tls'])
    assert.equal(await may('list', resource, namespace), 'no', resource)
  // The doctor also reports that no Pod runs, so its exit code is 1.
  const runDoctor = () => cluster.exec(join(root, 'bin/multinic'), ['doctor'], { check: false })
  const { stdout } = await runDoctor()
  for (const account of ['multinic-agent', 'multinic-operator', 'viola-api'])
    assert.match(stdout, new RegExp(`● ${account} has all required rights`))
  await kubectl('-n', namespace, 'delete', 'rolebinding', 'multinic-operator')
  assert.match((await runDoctor()).stdout, /✗ multinic-operator lacks the right to get openstackconfigs, /)
  await release('upgrade')
})

test('helm uninstall leaves the CRDs and nothing else', async () => {
  const { code, stderr } = await helm(['uninstall', 'multinic', '--namespace', namespace, '--wait'], cluster.kubeconfig)
  assert.equal(code, 0, stderr)
  await eventually(async () => assert.deepEqual(newObjects(await objectsIn(cluster), earlier), definitionObjects), {
    within: 60_000,
  })
})

test('without a file the release has no Secret, and the notes say how to create it', async () => {
  const notes = await release('install')
  await assert.rejects(secret(), /not found/)
  const create = `kubectl -n ${namespace} create secret generic multinic-cloud --from-file=clouds.yaml`
  assert.ok(notes.includes(create), notes)
})
