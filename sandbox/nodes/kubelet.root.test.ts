import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { connectKube, type KubeClient } from '../../src/kube/client.ts'
import { loadKubeconfig } from '../../src/kube/config.ts'
import { events, nodes, pods } from '../../src/kube/resources.ts'
import type { Container, PodObject, PodSpec } from '../../src/kube/types.ts'
import { silent } from '../../src/telemetry/log.ts'
import { eventually } from '../../test/support/eventually.ts'
import { addPort, addServer, addSubnet, createCloudState } from '../cloud/state.ts'
import { type KubeApi, startKubeApi } from '../kube/server.ts'
import { makeStateDir, type StateDir, stateDir, stopAndRemove } from '../lifecycle/state-dir.ts'
import { createFabric } from './fabric.ts'
import { type Kubelet, startKubelet } from './kubelet.ts'
import { createNode, type SandboxNode } from './node.ts'

const heartbeatMs = 1_000

let state: StateDir
let api: KubeApi
let kube: KubeClient
let node: SandboxNode
let kubelet: Kubelet

before(async () => {
  state = stateDir(await mkdtemp(join(tmpdir(), 'multinic-kubelet-')))
  await makeStateDir(state)
  api = await startKubeApi({ name: 'biz', dir: state.dir, log: silent })
  kube = connectKube(await loadKubeconfig(api.kubeconfig), { log: silent })
  const cloudState = createCloudState()
  const fabric = await createFabric(state)
  const home = addSubnet(cloudState, { name: 'nodes', cidr: '10.0.0.0/24', mtu: 1500 })
  await fabric.addSubnet({ ...home, mtu: 1500 })
  const server = addServer(cloudState, 'worker-1')
  const primary = addPort(cloudState, { server, subnet: home })
  node = await createNode({ state, cloudState, fabric, server, primary, nicDelayMs: () => 0, log: silent })
  const image = { entrypoint: ['/bin/sh', '-c'], mounts: [] }
  const backoff = { firstMs: 50, maxMs: 200 }
  kubelet = await startKubelet({ kube, node, image, dir: state.path('pods'), log: silent, backoff, heartbeatMs })
  api.setPodLogs((namespace, name, previous) => {
    const file = kubelet.logFile(namespace, name, previous)
    return file && readFileSync(file, 'utf8')
  })
})

after(async () => {
  await kubelet.stop()
  await kube.close()
  await api.close()
  await stopAndRemove(state)
})

let count = 0

/** Runs a Pod with a shell command on the node. */
async function run(script: string, container: Partial<Container> = {}, spec: Partial<PodSpec> = {}): Promise<string> {
  const name = `pod-${++count}`
  await kube.create(pods, {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace: 'default', labels: { app: 'test' } },
    spec: {
      nodeName: node.name,
      restartPolicy: 'OnFailure',
      containers: [{ name: 'agent', image: 'multinic-agent:dev', args: [script], ...container }],
      ...spec,
    },
  })
  return name
}

async function pod(name: string): Promise<PodObject> {
  return (await kube.get(pods, { namespace: 'default', name })) ?? assert.fail(`${name} is gone`)
}

async function whenPhase(name: string, phase: string): Promise<PodObject> {
  return eventually(async () => {
    const found = await pod(name)
    assert.equal(found.status?.phase, phase, JSON.stringify(found.status))
    return found
  })
}

function ended(of: PodObject) {
  return of.status?.containerStatuses?.[0]?.state?.terminated
}

test('the Node has the ids of its machine and is Ready', async () => {
  const found = await kube.get(nodes, { name: 'worker-1' })
  assert.equal(found?.status?.nodeInfo?.systemUUID, node.server.id)
  assert.equal(found?.status?.nodeInfo?.bootID, node.bootID)
  const { gitVersion } = (await kube.raw('GET', '/version')).body as { gitVersion: string }
  assert.partialDeepStrictEqual(found?.status?.nodeInfo, { kubeletVersion: gitVersion })
  assert.deepEqual(found?.status?.addresses?.[0], { type: 'InternalIP', address: '10.0.0.10' })
  assert.equal(found?.status?.conditions?.find(each => each.type === 'Ready')?.status, 'True')
})

test('a container sees only its node: NICs, hostname, volumes, identity, and a read-only root', async () => {
  const name = await run(
    [
      'hostname; ls /sys/class/net; cat /host/product_uuid',
      'touch /etc/netplan/90-x.yaml; touch /x 2>/dev/null || echo read-only',
      'echo "$NAME of $NODE at $IP"; echo fine > /dev/termination-log',
    ].join('\n'),
    {
      env: [
        { name: 'NAME', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } },
        { name: 'NODE', valueFrom: { fieldRef: { fieldPath: 'spec.nodeName' } } },
        { name: 'IP', valueFrom: { fieldRef: { fieldPath: 'status.hostIP' } } },
      ],
      volumeMounts: [
        { name: 'netplan', mountPath: '/etc/netplan' },
        { name: 'uuid', mountPath: '/host/product_uuid', readOnly: true },
      ],
    },
    {
      volumes: [
        { name: 'netplan', hostPath: { path: '/etc/netplan', type: 'Directory' } },
        { name: 'uuid', hostPath: { path: '/sys/class/dmi/id/product_uuid', type: 'File' } },
      ],
    },
  )
  const done = await whenPhase(name, 'Succeeded')
  assert.equal(ended(done)?.message, 'fine\n')
  const { body } = await kube.raw('GET', `/api/v1/namespaces/default/pods/${name}/log`, undefined, {
    accept: 'text/plain',
  })
  assert.equal(body, `worker-1\nens3\nlo\n${node.server.id}\nread-only\n${name} of worker-1 at 10.0.0.10\n`)
  assert.equal(readFileSync(join(node.root, 'etc/netplan/90-x.yaml'), 'utf8'), '')
})

test('a container has exactly the requested capabilities', async () => {
  const name = await run('grep CapEff /proc/self/status > /dev/termination-log', {
    securityContext: { capabilities: { drop: ['ALL'], add: ['NET_ADMIN'] } },
  })
  assert.equal(ended(await whenPhase(name, 'Succeeded'))?.message, 'CapEff:\t0000000000001000\n')
})

test('a failed container is restarted, and its termination message comes from its log', async () => {
  const name = await run('echo broken; exit 3', { terminationMessagePolicy: 'FallbackToLogsOnError' })
  const restarted = await eventually(async () => {
    const found = await pod(name)
    assert.ok((found.status?.containerStatuses?.[0]?.restartCount ?? 0) >= 2, JSON.stringify(found.status))
    return found
  })
  const last = restarted.status?.containerStatuses?.[0]?.lastState?.terminated
  assert.deepEqual([last?.exitCode, last?.message], [3, 'broken\n'])
  await kube.delete(pods, { namespace: 'default', name })
  await eventually(async () => assert.equal(await kube.get(pods, { namespace: 'default', name }), undefined))
})

test('a container that fails with restartPolicy Never fails the Pod', async () => {
  const name = await run('exit 1', {}, { restartPolicy: 'Never' })
  assert.equal(ended(await whenPhase(name, 'Failed'))?.exitCode, 1)
})

test('a deleted Pod gets SIGTERM and is removed after its container has exited', async () => {
  const name = await run("trap 'sleep 0.2; exit 0' TERM; echo ready; while :; do sleep 0.05; done")
  await eventually(() => assert.equal(readFileSync(kubelet.logFile('default', name, false) ?? '', 'utf8'), 'ready\n'))
  await kube.delete(pods, { namespace: 'default', name })
  assert.ok((await pod(name)).metadata.deletionTimestamp)
  await eventually(async () => assert.equal(await kube.get(pods, { namespace: 'default', name }), undefined))
})

test('a missing hostPath directory is reported in an Event and mounted once it exists', async () => {
  const name = await run(
    'ls /data > /dev/termination-log',
    { volumeMounts: [{ name: 'data', mountPath: '/data' }] },
    { volumes: [{ name: 'data', hostPath: { path: '/srv/data', type: 'Directory' } }] },
  )
  await eventually(async () => {
    const { items } = await kube.list(events, { namespace: 'default' })
    const messages = items.filter(event => event.reason === 'FailedMount').map(event => event.message)
    assert.deepEqual(messages, [
      'MountVolume.SetUp failed for volume "data" : hostPath type check failed: /srv/data is not a directory',
    ])
  })
  assert.equal((await pod(name)).status?.containerStatuses?.[0]?.state?.waiting?.reason, 'ContainerCreating')
  await mkdir(join(node.root, 'srv/data/here'), { recursive: true })
  assert.equal(ended(await whenPhase(name, 'Succeeded'))?.message, 'here\n')
  await rm(join(node.root, 'srv'), { recursive: true })
})

test('a reboot kills containers, changes the boot id, and starts them again', async () => {
  const name = await run('test "$(cat /count 2>/dev/null)" || sleep 60', {}, {})
  await whenPhase(name, 'Running')
  const before = node.bootID
  await kubelet.reboot()
  const found = await kube.get(nodes, { name: 'worker-1' })
  assert.notEqual(found?.status?.nodeInfo?.bootID, before)
  await eventually(async () => {
    const status = (await pod(name)).status?.containerStatuses?.[0]
    assert.deepEqual([status?.restartCount, status?.lastState?.terminated?.exitCode], [1, 137])
    assert.ok(status?.state?.running)
  })
})

test('a node that boots while the API server is unreachable reports the boot later', async () => {
  const before = node.bootID
  api.faults.unreachable = true
  const rebooted = kubelet.reboot()
  await eventually(() => assert.notEqual(node.bootID, before))
  api.faults.unreachable = false
  await rebooted
  const { status } = (await kube.get(nodes, { name: 'worker-1' })) ?? {}
  assert.equal(status?.nodeInfo?.bootID, node.bootID)
  assert.equal(status?.conditions?.find(({ type }) => type === 'Ready')?.status, 'True')
})

test('a node that the cluster declared unreachable is Ready after its next heartbeat', async () => {
  const { status } = (await kube.get(nodes, { name: 'worker-1' })) ?? {}
  const conditions = status?.conditions?.map(each => (each.type === 'Ready' ? { ...each, status: 'Unknown' } : each))
  await kube.patchStatus(nodes, { name: 'worker-1' }, { ...status, conditions })
  api.faults.unreachable = true
  const until = performance.now() + 3 * heartbeatMs
  await eventually(() => assert.ok(performance.now() > until))
  api.faults.unreachable = false
  await eventually(
    async () => {
      const found = await kube.get(nodes, { name: 'worker-1' })
      assert.equal(found?.status?.conditions?.find(({ type }) => type === 'Ready')?.status, 'True')
    },
    { within: 10 * heartbeatMs },
  )
})

test('a Pod runs to completion within 150 ms, or as fast as a busy machine starts three processes', async () => {
  const took: number[] = []
  const starts: number[] = []
  for (let i = 0; i < 5; i++) {
    const from = performance.now()
    await whenPhase(await run('true'), 'Succeeded')
    const done = performance.now()
    execFileSync(process.execPath, ['-e', '0'])
    took.push(done - from)
    starts.push(performance.now() - done)
  }
  assert.ok(Math.min(...took) < Math.max(150, 3 * Math.min(...starts)), `took ${took.map(Math.round)} ms`)
})
