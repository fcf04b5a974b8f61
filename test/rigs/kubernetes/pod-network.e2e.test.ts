import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { request } from 'undici'
import { eventually } from '../../support/eventually.ts'
import { cniPlugins } from '../cni/rig.ts'
import { pauseImage } from './images.ts'
import {
  type ControlPlane,
  type PodNetwork,
  type RigNode,
  startControlPlane,
  startNode,
  startPodNetwork,
} from './rig.ts'

const within = 60_000
const names = ['w1', 'w2'] as const
const uuidOf = (node: number) => `6f1c2a10-0001-4aaa-8bbb-00000000000${node + 1}`

let cp: ControlPlane
let network: PodNetwork
let nodes: RigNode[] = []

before(async () => {
  cp = await startControlPlane()
  network = await startPodNetwork(cp, await cniPlugins())
  nodes = await Promise.all(names.map((name, node) => startNode(cp, { name, uuid: uuidOf(node), macs: [], network })))
  await create({
    ...{ apiVersion: 'v1', kind: 'Service', metadata: { name: 'web' } },
    spec: { selector: { app: 'web' }, ports: [{ port: 80, targetPort: 8080 }] },
  })
  await network.nameServices()
  for (const name of names) await create(pod(`web-${name}`, name, `echo ${name} >/index.html; httpd -f -p 8080`))
})
after(async () => {
  for (const node of nodes) await node.close()
  await network?.close()
  await cp?.close()
})

const create = (object: object) => cp.exec('kubectl', ['create', '-f', '-'], { input: JSON.stringify(object) })

function pod(name: string, nodeName: string, script: string): object {
  const command = ['/bin/busybox', 'sh', '-c', script]
  return {
    ...{ apiVersion: 'v1', kind: 'Pod', metadata: { name, labels: { app: 'web' } } },
    spec: {
      ...{ nodeName, terminationGracePeriodSeconds: 0 },
      containers: [{ name: 'main', image: pauseImage, imagePullPolicy: 'Never', command }],
    },
  }
}

const calls = 20

/** Which Pods answer requests to the address of the Service. */
async function answersHere(): Promise<string[]> {
  const { stdout } = await cp.exec('kubectl', ['get', 'service', 'web', '--output', 'jsonpath={.spec.clusterIP}'])
  const get = async () => {
    const { body } = await request(`http://${stdout}/`, { reset: true, headersTimeout: 2_000 })
    return (await body.text()).trim()
  }
  return distinct(await Promise.all(Array.from({ length: calls }, get)))
}

/** Which Pods answer requests from the namespace of the Pod on w1 to the Service. */
async function answersInPod(): Promise<string[]> {
  const resolve = 'nslookup web.default.svc.cluster.local | sed -n "s/^Address.*: *//p" | tail -n 1'
  const found = await cp.exec('kubectl', ['exec', 'web-w1', '--', '/bin/busybox', 'sh', '-c', resolve])
  const get = `exec 3<>/dev/tcp/${found.stdout.trim()}/80; printf 'GET / HTTP/1.0\\r\\n\\r\\n' >&3; tail -n 1 <&3`
  const script = `
    pod=$(ip netns list | sed 's/ .*//')
    for call in $(seq ${calls}); do ip netns exec "$pod" timeout 2 bash -c "${get}" || echo failed; done`
  const { stdout } = (await nodes[0]?.exec('sh', ['-c', script])) ?? assert.fail('no node')
  return distinct(stdout.trim().split('\n'))
}

const distinct = (answers: readonly string[]) => [...new Set(answers)].sort()

test('a Service reaches Pods on both nodes, from here and from a Pod that resolves its name', async () => {
  for (const answers of [answersHere, answersInPod])
    await eventually(async () => assert.deepEqual(await answers(), ['w1', 'w2']), { within })
})

test('a Service stops using a deleted Pod', async () => {
  await cp.exec('kubectl', ['delete', 'pod', 'web-w2', '--grace-period=0', '--force'])
  for (const answers of [answersHere, answersInPod])
    await eventually(async () => assert.deepEqual(await answers(), ['w1']), { within })
})
