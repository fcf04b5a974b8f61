/**
 * The Job of the controller with its real Pod on a real kubelet and containerd, in a guest with cgroup version 2.
 */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { buildImage } from '../../scripts/image.ts'
import { nodeConfigs } from '../../src/contract/node-config.ts'
import { jobs, nodes, pods } from '../../src/kube/resources.ts'
import { run } from '../rigs/process.ts'
import { addKubelet, startKubelet } from '../rigs/vm/kubelet.ts'
import { interfaceFor, primaryAddress, startGuest, systemUUID } from '../rigs/vm/rig.ts'
import { eventually } from '../support/eventually.ts'
import { startRealController } from '../support/real-controller.ts'

const namespace = 'multinic-system'
const name = 'node-1'
const waits = { within: 15 * 60_000, every: 200 }
const nic = { name: 'port-a', macAddress: 'fa:16:3e:00:00:0a', network: 'net-a', slot: 1 }
const requested = interfaceFor(nic, 0, {
  address: '192.168.10.11',
  cidr: '192.168.10.0/24',
  gateway: '192.168.10.1',
  mtu: 1450,
})

test('the agent’s Job runs on a kubelet with cgroup version 2, configures a NIC and cleans it up', async t => {
  const real = await startRealController()
  t.after(() => real.close())
  const { cp, kube } = real
  const image = join(cp.dir, 'agent.tar')
  await buildImage('agent', image, { compress: false })
  const payload = (root: string) => addKubelet(root, cp, { name, address: primaryAddress, images: [image] })
  const networks = [{ name: 'net-a', addresses: ['192.168.10.1/24'] }]
  const guest = await startGuest(t, { kind: 'kubelet', networks, payload })
  assert.equal(await guest.exec('stat -f -c %T /sys/fs/cgroup'), 'cgroup2fs\n')
  await startKubelet(guest, cp, name)
  const { nodeInfo } = (await kube.get(nodes, { name }))?.status ?? {}
  assert.equal(nodeInfo?.systemUUID, systemUUID)
  t.diagnostic(`${nodeInfo?.osImage}, kernel ${nodeInfo?.kernelVersion}`)

  const { kubeconfig } = await real.install(namespace)
  const controller = real.startProcess('controller', {
    KUBECONFIG: kubeconfig,
    AGENT_IMAGE: 'multinic-agent:dev',
    AGENT_IMAGE_PULL_POLICY: 'Never',
  })
  t.after(() => controller.stop())
  await guest.plug(nic)
  const spec = { nodeName: name, instanceId: systemUUID, interfaces: [requested] }
  await kube.create(nodeConfigs, {
    apiVersion: 'multinic.io/v1',
    kind: 'MultiNicNodeConfig',
    metadata: { name, namespace },
    spec,
  })
  await eventually(async () => assert.equal((await kube.list(jobs, { namespace })).items.length, 1), waits)
  const seen = performance.now()
  await eventually(async () => {
    const { status } = (await kube.get(nodeConfigs, { namespace, name })) ?? {}
    const { stdout } = await cp.exec('kubectl', ['-n', namespace, 'get', 'events,pods'], { check: false })
    assert.equal(status?.state, 'Configured', `${JSON.stringify(status)}\n${stdout}\n${await controller.tail()}`)
  }, waits)
  t.diagnostic(`Job to status: ${((performance.now() - seen) / 1000).toFixed(1)} s, emulated`)
  const [pod = assert.fail('no Pod')] = (await kube.list(pods, { namespace })).items
  assert.equal(pod.status?.containerStatuses?.[0]?.restartCount, 0, JSON.stringify(pod.status))
  const { stdout: shown } = await guest.run('ip address show dev multinic0')
  for (const fact of [nic.macAddress, '192.168.10.11/24', 'mtu 1450']) assert.ok(shown.includes(fact), shown)
  await guest.exec('ping -c 1 -W 10 -I 192.168.10.11 192.168.10.1')
  await run('ping', ['-c', '1', '-W', '10', '192.168.10.11'])

  await kube.delete(nodeConfigs, { namespace, name })
  await eventually(async () => assert.equal(await kube.get(nodeConfigs, { namespace, name }), undefined), waits)
  assert.equal((await guest.run('ip address | grep 192.168.10; ls /etc/netplan | grep multinic')).stdout, '')
})
