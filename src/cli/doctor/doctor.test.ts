/** The commands for a cluster, on the sandbox's Kubernetes API over real HTTP. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { type Run, runner } from '../../../test/support/cli.ts'
import { type ControllerCluster, startControllerCluster } from '../../../test/support/controller-cluster.ts'
import { serve } from '../../../test/support/http-stub.ts'
import { openstackConfigs } from '../../contract/openstack-config.ts'

let cluster: ControllerCluster
let multinic: Run

before(async () => {
  cluster = await startControllerCluster()
  await cluster.addNode('w1')
  multinic = runner({ KUBECONFIG: cluster.api.kubeconfig })
  const { kube, namespace } = cluster
  await cluster.addConfig('w1', 'vm-w1')
  await kube.create(openstackConfigs, {
    apiVersion: 'multinic.example.com/v1alpha1',
    kind: 'OpenstackConfig',
    metadata: { namespace, name: 'main' },
    spec: {
      subnetName: 'storage',
      vmNames: ['w1'],
      credentials: { openstackProviderID: 'p', k8sProviderID: 'c', projectID: '0'.repeat(32) },
    },
  })
})
after(async () => {
  await cluster.close()
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

test('the doctor explains a URL with the wrong scheme, and an API that is not there', async () => {
  const stub = await serve((_request, response) => void response.end('ok'))
  const { out } = await multinic('doctor', '-n', 'default', '--url', stub.url.replace('http:', 'https:'))
  await stub.close()
  assert.match(out, /does not respond\n {4}this port speaks HTTP, not HTTPS; use http:\/\//)
  assert.match(out, /this API server does not serve Deployments/)
  assert.doesNotMatch(out, /may list them|kubectl label namespace default/)
})

test('the doctor prints JSON', async () => {
  const { out } = await multinic('doctor', '-n', cluster.namespace, '-o', 'json')
  assert.ok(
    JSON.parse(out).some(({ level, what }: { level: string; what: string }) => level === 'ok' && /1 nodes/.test(what)),
  )
})
