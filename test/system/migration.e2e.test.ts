/**
 * The migration with real servers (rigs/kubernetes/rig.ts): kube-apiserver with admission policies, the Job controller, three
 * kubelets, and the controller with the permissions of config/rbac.
 */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { buildImage } from '../../scripts/image.ts'
import { nodeConfigs } from '../../src/contract/node-config.ts'
import { crds } from '../../src/kube/resources.ts'
import { type RigNode, startNode } from '../rigs/kubernetes/rig.ts'
import { type Daemon, run } from '../rigs/process.ts'
import { eventually } from '../support/eventually.ts'
import { type RealController, startRealController } from '../support/real-controller.ts'
import { goConfig, goDefinition, goStatus } from './go-crd.ts'
import { type MigratingNode, type MigrationSetup, testMigration } from './migration.ts'

const namespace = 'multinic-system'
const root = join(import.meta.dirname, '../..')
const within = 90_000
let real: RealController
let controller: Daemon
let machines: RigNode[]
let setup: MigrationSetup

const machineOptions = [1, 2, 3].map(number => ({
  name: `w${number}`,
  uuid: `6f1c2a10-0001-4aaa-8bbb-00000000000${number}`,
  macs: [0, 1].map(nic => `fa:16:3e:00:0${number}:1${nic}`),
}))

before(async () => {
  real = await startRealController()
  const { kubeconfig } = await real.install(namespace)
  const image = join(real.cp.dir, 'agent.tar')
  await buildImage('agent', image, { compress: false })
  machines = await Promise.all(machineOptions.map(node => startNode(real.cp, { ...node, images: [image] })))
  const nodes = await Promise.all(machines.map(addGateways))
  controller = real.startProcess('controller', {
    KUBECONFIG: kubeconfig,
    AGENT_IMAGE: 'multinic-agent:dev',
    AGENT_IMAGE_PULL_POLICY: 'Never',
    MAX_UNAVAILABLE: '100%',
  })
  setup = {
    ...{ kube: real.kube, kubeconfig: real.cp.kubeconfig, namespace, nodes, hasPolicies: true },
    stateOf: name => stateOf(machines.find(machine => machine.name === name)),
  }
})

after(async () => {
  await controller?.stop()
  for (const machine of machines ?? []) await machine.close()
  await real?.close()
})

/** Configures the other end of each NIC as its gateway. */
async function addGateways(machine: RigNode, index: number): Promise<MigratingNode> {
  const { name, uuid: id, macs } = machineOptions[index] ?? assert.fail(`no options for machine ${index}`)
  const nics = macs.map((macAddress, nic) => ({
    ...{ macAddress, portId: `port-${name}-${nic}`, mtu: 1450 },
    ...{
      address: `192.168.${10 + nic}.${10 + index}`,
      cidr: `192.168.${10 + nic}.0/24`,
      gateway: `192.168.${10 + nic}.1`,
    },
  }))
  for (const [nic, { gateway }] of nics.entries()) {
    const port = `p${nic + 1}`
    await run('ip', ['-n', machine.fabric, 'address', 'add', `${gateway}/24`, 'dev', port])
    await run('ip', ['-n', machine.fabric, 'link', 'set', port, 'up'])
  }
  return { name, id, netns: machine.netns, nics }
}

const files =
  'cd /etc && find netplan systemd/network sysctl.d -type f -not -path "*/backup/*" | sort | xargs -r sha256sum'

async function stateOf(machine: RigNode | undefined): Promise<Record<string, string>> {
  assert.ok(machine)
  const outputOf = async (...[command = '', ...args]: string[]) => (await machine.exec(command, args)).stdout
  return {
    links: await outputOf('ip', '-4', '-o', 'address'),
    devices: await outputOf('ip', '-o', 'link'),
    rules: await outputOf('ip', '-4', 'rule'),
    routes: await outputOf('ip', '-4', 'route', 'show', 'table', 'all'),
    files: await outputOf('sh', '-c', files),
  }
}

testMigration(() => setup)

test('objects stored with the CRD of the Go implementation are adopted after our CRD is installed', async () => {
  const [node] = setup.nodes
  assert.ok(node)
  const nics = node.nics.map((nic, id) => ({ ...nic, id: 1 - id, name: `multinic${1 - id}` }))
  const version = 'v1alpha1'
  const key = { namespace, name: node.name }
  await real.cp.exec('kubectl', ['delete', 'crd', goDefinition.metadata.name])
  await real.kube.create(crds, goDefinition)
  const config = goConfig(node.name, namespace, node.id, 'biz-1', nics)
  const manager = { fieldManager: 'kubectl-client-side-apply' }
  await eventually(() => real.kube.apply({ ...nodeConfigs, version }, config, manager), { within, every: 200 })
  await real.kube.patchStatus({ ...nodeConfigs, version }, key, goStatus(nics, 'multinic-agent-w1-g1'))
  await real.cp.exec('kubectl', ['apply', '-f', join(root, 'config/crd/bases')])
  await eventually(
    async () => {
      const { spec, status } = (await real.kube.get(nodeConfigs, key)) ?? {}
      assert.equal(`${status?.state} ${status?.nics} ${status?.bootID !== undefined}`, 'Configured 2/2 true')
      assert.deepEqual(
        spec?.interfaces.map(nic => `${nic.name} ${nic.macAddress}`),
        nics.map(nic => `${nic.name} ${nic.macAddress}`),
      )
    },
    { within, every: 250 },
  )
})
