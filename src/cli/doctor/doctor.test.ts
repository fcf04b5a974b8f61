/** The commands for a cluster, on the sandbox's Kubernetes API over real HTTP. */
import assert from 'node:assert/strict'
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { type Run, runner } from '../../../test/support/cli.ts'
import { type ControllerCluster, startControllerCluster } from '../../../test/support/controller-cluster.ts'
import { openstackConfigs } from '../../contract/openstack-config.ts'
import { pods, secrets } from '../../kube/resources.ts'
import type { PodObject } from '../../kube/types.ts'

const canary = 'zebra-7f3a-canary'
let dir: string
let cluster: ControllerCluster
let multinic: Run

before(async () => {
  dir = await mkdtemp(join(tmpdir(), 'multinic-doctor-'))
  cluster = await startControllerCluster()
  await cluster.addNode('w1')
  multinic = runner({ KUBECONFIG: cluster.api.kubeconfig })
  const { kube, namespace } = cluster
  const labels = { 'app.kubernetes.io/part-of': 'multinic' }
  const env = [
    { name: 'CONTRABASS_ENCRYPT_KEY', value: canary },
    { name: 'VIOLA_TOKEN_FILE', value: '/etc/token' },
  ]
  await kube.create(pods, {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { namespace, name: 'controller', labels },
    spec: { containers: [{ name: 'controller', image: 'x', env }] },
  } as Parameters<typeof kube.create<PodObject>>[1])
  await kube.create(secrets, {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { namespace, name: 'viola-token' },
    data: { token: Buffer.from(canary).toString('base64') },
  })
  await kube.create(openstackConfigs, {
    apiVersion: 'multinic.example.com/v1alpha1',
    kind: 'OpenstackConfig',
    metadata: {
      namespace,
      name: 'main',
      annotations: { 'kubectl.kubernetes.io/last-applied-configuration': `{"key":"${canary}"}` },
    },
    spec: {
      subnetName: 'storage',
      vmNames: ['w1'],
      credentials: { openstackProviderID: 'p', k8sProviderID: 'c', projectID: '0'.repeat(32) },
      settings: { contrabassEncryptKey: canary.slice(0, 16) },
    },
  })
})
after(async () => {
  await cluster.close()
  await rm(dir, { recursive: true })
})

test('the doctor reports what is right, what is wrong and what to do, and exits with 1', async () => {
  const { code, out } = await multinic('doctor', '--namespace', cluster.namespace, '--url', 'http://127.0.0.1:9')
  assert.equal(code, 1)
  assert.match(out, /● Kubernetes 1\.\d+ responds/)
  assert.match(out, /● CRD multinicnodeconfigs\.multinic\.io serves v1, v1alpha1/)
  assert.match(out, /▲ namespace \S+ has no Pod Security label.*\n {4}run kubectl label namespace/)
  assert.match(out, /▲ OpenstackConfig \S+\/main has not been synced yet/)
  assert.match(out, /✗ http:\/\/127\.0\.0\.1:9 does not respond/)
})

test('the doctor prints JSON', async () => {
  const { out } = await multinic('doctor', '-n', cluster.namespace, '-o', 'json')
  assert.ok(
    JSON.parse(out).some(({ level, what }: { level: string; what: string }) => level === 'ok' && /1 nodes/.test(what)),
  )
})

test('a support bundle contains objects and no secret', async () => {
  const directory = join(dir, 'bundle')
  const { code, out } = await multinic('support-bundle', '-n', cluster.namespace, '-d', directory)
  assert.equal(code, 0)
  assert.match(out, /Review it before you share it/)
  const files = await readdir(directory)
  const texts = await Promise.all(files.map(file => readFile(join(directory, file), 'utf8')))
  for (const name of ['openstackconfigs.json', 'nodes.json', 'pods.json', 'version.json'])
    assert.ok(files.includes(name), name)
  const all = texts.join('\n')
  for (const hidden of [canary, canary.slice(0, 16), Buffer.from(canary).toString('base64')])
    assert.ok(!all.includes(hidden), hidden)
  assert.match(all, /"VIOLA_TOKEN_FILE",\s*"value": "\/etc\/token"/)
})

test('an existing directory is refused', async () => {
  const { code, error } = await multinic('support-bundle', '-d', dir)
  assert.equal(code, 2)
  assert.match(error, /--directory: .*does not exist yet/)
})
