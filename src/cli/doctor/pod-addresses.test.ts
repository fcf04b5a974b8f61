/** The doctor on Pods with addresses on our NICs: the sandbox's Kubernetes API and an inventory, over real HTTP. */
import assert from 'node:assert/strict'
import { after, before, beforeEach, test } from 'node:test'
import { blocksIn, exitCode, stepsOf } from '../../../test/docs/blocks.ts'
import { findDifference } from '../../../test/docs/output-shape.ts'
import { networkAttachmentCrd } from '../../../test/rigs/cni/rig.ts'
import { type Run, runner } from '../../../test/support/cli.ts'
import { type ControllerCluster, startControllerCluster } from '../../../test/support/controller-cluster.ts'
import { type HttpStub, json, serve } from '../../../test/support/http-stub.ts'
import type { OperatorVerdict } from '../../contract/operator-api.ts'
import { connectKube } from '../../kube/client.ts'
import { crds, networkAttachments, pods } from '../../kube/resources.ts'
import type { KubeObject } from '../../kube/types.ts'
import { aboutPodAddresses, podNetworksIn } from './pod-addresses.ts'

const macAddress = 'fa:16:3e:00:00:00'
const selected = {
  config: 'ns/main',
  vm: 'vm-w1',
  portId: 'port-0',
  reason: 'Selected',
  message: '',
  name: 'multinic0',
}
const pair = (ipAddress: string, mac = macAddress) => ({ ipAddress, macAddress: mac })

let cluster: ControllerCluster
let inventory: HttpStub
let multinic: Run
let verdicts: OperatorVerdict[] | undefined

before(async () => {
  cluster = await startControllerCluster()
  await cluster.addNode('w1')
  await cluster.addConfig('w1', 'vm-w1')
  await cluster.kube.create(crds, networkAttachmentCrd as KubeObject)
  inventory = await serve((_request, response) =>
    verdicts ? json(response, 200, { verdicts }) : void response.writeHead(204).end(),
  )
  multinic = runner({
    KUBECONFIG: cluster.api.kubeconfig,
    MULTINIC_INVENTORY_URL: inventory.url,
  })
})
after(async () => {
  await inventory.close()
  await cluster.close()
})

interface PodOptions {
  status?: unknown
  config?: unknown
  phase?: string
}

let created = 0

/** A Pod on w1 with these entries in its annotation, in a new network with this CNI configuration. */
async function addPod({ status, config = { master: 'multinic0' }, phase = 'Running' }: PodOptions): Promise<void> {
  const { kube } = cluster
  const name = `net-${++created}`
  await kube.create(networkAttachments, {
    ...{
      apiVersion: 'k8s.cni.cncf.io/v1',
      kind: 'NetworkAttachmentDefinition',
      metadata: { namespace: 'default', name },
    },
    spec: { config: typeof config === 'string' ? config : JSON.stringify(config) },
  })
  const networks = [
    { name: 'pods', default: true, ips: ['10.244.0.2'] },
    ...[status].flat().map(one => ({ name: `default/${name}`, ...(one as object) })),
  ]
  await kube.create(pods, {
    ...{ apiVersion: 'v1', kind: 'Pod' },
    metadata: {
      namespace: 'default',
      name: 'reader',
      annotations: { 'k8s.v1.cni.cncf.io/network-status': JSON.stringify(networks) },
    },
    spec: { nodeName: 'w1', containers: [{ name: 'main', image: 'reader' }] },
  })
  await kube.patchStatus(pods, { namespace: 'default', name: 'reader' }, { phase })
}

beforeEach(async () => {
  await cluster.kube
    .raw('DELETE', '/api/v1/namespaces/default/pods/reader', { gracePeriodSeconds: 0 })
    .catch(() => 'none')
  inventory.requests.length = 0
  verdicts = [{ ...selected, portSecurity: { enabled: true, allowedAddressPairs: [] } }]
})

interface Found {
  level: string
  what: string
  remedy?: string
}

/** The findings about Pods. */
async function found(...args: string[]): Promise<Found[]> {
  const { out, error } = await multinic('doctor', '-n', cluster.namespace, '-o', 'json', ...args)
  assert.equal(error, '')
  return (JSON.parse(out) as Found[]).filter(({ what }) => /Pods|port security|NetworkAttachment/.test(what))
}
const ok = 'port security lets 1 addresses of Pods through'

test('a Pod without an allowed address pair is named with the command that adds it', async () => {
  await addPod({ status: { ips: ['10.10.0.130'], mac: macAddress } })
  assert.deepEqual(await found(), [
    {
      level: 'bad',
      what: 'w1 multinic0: port security drops packets of Pods, whose addresses are no allowed address pairs of port port-0: default/reader 10.10.0.130',
      remedy: `if the addresses are right, run openstack port set --allowed-address ip-address=10.10.0.130,mac-address=${macAddress} port-0`,
    },
  ])
  assert.equal(inventory.requests[0]?.query.get('selected'), 'true')
})

test('docs/guides/pods.md shows this output, with its own names of the node and the port', async () => {
  const [step] = blocksIn('docs/guides/pods.md')
    .filter(({ language }) => language === 'console')
    .flatMap(stepsOf)
  await addPod({ status: { ips: ['10.10.0.130'], mac: macAddress } })
  const { code, out } = await multinic('doctor', '-n', cluster.namespace)
  const renamed = out.replaceAll('w1', 'worker-1').replaceAll('port-0', '30d435ef-7c1a-4f0e-9d52-1b8e6a90c3d4')
  assert.equal(findDifference(step?.output ?? '', renamed), undefined)
  assert.equal(code, Number(exitCode.exec(step?.commands ?? '')?.groups?.['code']))
})

const passing: Record<string, [pairs: ReturnType<typeof pair>[], enabled: boolean]> = {
  'its address': [[pair('10.10.0.130')], true],
  'a range': [[pair('10.9.0.0/16'), pair('10.10.0.128/26', macAddress.toUpperCase())], true],
  'port security off': [[], false],
}
for (const [name, [allowedAddressPairs, enabled]] of Object.entries(passing))
  test(`a Pod with ${name} is no finding`, async () => {
    verdicts = [{ ...selected, portSecurity: { enabled, allowedAddressPairs } }]
    await addPod({ status: { ips: ['10.10.0.130'], mac: macAddress } })
    assert.deepEqual(await found(), [{ level: 'ok', what: ok }])
  })

test('a pair counts only with the MAC address of the Pod, and each family by itself', async () => {
  verdicts = [
    { ...selected, portSecurity: { enabled: true, allowedAddressPairs: [pair('10.10.0.130'), pair('0.0.0.0/0')] } },
  ]
  await addPod({
    status: [
      { ips: ['10.10.0.130'], mac: 'fa:16:3e:99:99:99' },
      { ips: ['fd00::130'], mac: macAddress },
    ],
    config: { plugins: [{ type: 'macvlan', master: 'multinic0' }, { type: 'tuning' }] },
  })
  const [one, ...others] = await found()
  assert.deepEqual(others, [])
  assert.match(
    one?.remedy ?? '',
    /ip-address=10\.10\.0\.130,mac-address=fa:16:3e:99:99:99 --allowed-address ip-address=fd00::130,mac-address=fa:16:3e:00:00:00 port-0$/,
  )
})

test('an annotation with anything else than addresses reaches no command', async () => {
  await addPod({
    status: [{ ips: ['$(reboot)', '10.10.0.130 ; reboot', 7, null], mac: '`reboot`' }, null, 'text', { ips: 'x' }],
  })
  assert.deepEqual(await found(), [])
})

for (const config of ['', '[]', 'null', '{"master":"eth0"}', '{"plugins":[null]}', '{"master":"multinic0;"}'])
  test(`a network with the configuration ${config || '(none)'} is not ours, and the inventory is not asked`, async () => {
    await addPod({ status: { ips: ['10.10.0.130'] }, config })
    assert.deepEqual([await found(), inventory.requests.length], [[], 0])
  })

test('a Pod that has ended needs no pair', async () => {
  await addPod({ status: { ips: ['10.10.0.130'] }, phase: 'Succeeded' })
  assert.deepEqual(await found(), [])
})

test('an older cloud, a port without a verdict and an inventory without verdicts are reported', async () => {
  await addPod({ status: { ips: ['10.10.0.130'] } })
  for (const known of [[selected], []]) {
    verdicts = known
    assert.deepEqual(
      (await found()).map(({ level, what }) => `${level} ${what}`),
      ['warn port security is unknown for default/reader 10.10.0.130 (w1 multinic0)'],
    )
  }
  verdicts = undefined
  const [none] = await found()
  assert.equal(
    none?.what,
    'cannot compare 1 addresses of Pods with the allowed address pairs: the inventory has no verdicts of an operator',
  )
  const [closed] = await found('--inventory', 'http://127.0.0.1:1')
  assert.match(closed?.what ?? '', /address pairs: cannot reach the inventory at http:\/\/127\.0\.0\.1:1: [^\n]*$/)
  assert.match(closed?.remedy ?? '', /--inventory URL/)
})

test('Pods and networks that the account may not list are named', async () => {
  const items = [{ metadata: { namespace: 'default', name: 'storage' }, spec: { config: '{"master":"multinic0"}' } }]
  for (const forbidden of ['network-attachment-definitions', 'pods']) {
    const api = await serve(({ path }, response) =>
      path.endsWith(`/${forbidden}`)
        ? json(response, 403, {
            kind: 'Status',
            status: 'Failure',
            reason: 'Forbidden',
            code: 403,
            message: 'forbidden',
          })
        : json(response, 200, { metadata: {}, items }),
    )
    const kube = connectKube({ server: api.url })
    const networks = await podNetworksIn(kube, () => assert.fail('the inventory is not asked'))
    await kube.close()
    await api.close()
    const kind = forbidden === 'pods' ? 'Pods' : 'NetworkAttachmentDefinitions'
    assert.deepEqual(aboutPodAddresses(networks), [
      { level: 'warn', what: `cannot list ${kind}`, remedy: 'use an account that may list them' },
    ])
  }
})
