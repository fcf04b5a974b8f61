/** Migration and upgrade from legacy installations in the sandbox: real NICs in namespaces, real agents, simulated API server. */
import assert from 'node:assert/strict'
import { after, before } from 'node:test'
import { findSubnet } from '../../sandbox/cloud/state.ts'
import { sandboxNamespace } from '../../sandbox/lifecycle/components.ts'
import { type MigrationSetup, testMigration } from './migration.ts'
import { startTestSandbox, type TestSandbox } from './sandbox.fixture.ts'
import { testUpgrade } from './upgrade.ts'

let system: TestSandbox
let setup: MigrationSetup

before(async () => {
  system = await startTestSandbox({ nodes: 4, withConfig: false })
  const { sandbox } = system
  const { api, kube } = sandbox.biz
  const nodes = [...sandbox.nodes.values()].slice(0, 3).map(({ name, server, namespace }) => ({
    name,
    id: server.id,
    netns: namespace,
    nics: ['storage', 'backup'].map(subnet => {
      const { cidr, gatewayIp } = findSubnet(sandbox.cloudState, subnet)
      const [port] = system.attach({ vm: name, subnet })
      const address = port?.fixedIps[0]?.ipAddress
      assert.ok(port && address && gatewayIp)
      return { portId: port.id, macAddress: port.macAddress, address, cidr, gateway: gatewayIp, mtu: 1450 }
    }),
  }))
  setup = {
    ...{ kube, kubeconfig: api.kubeconfig, namespace: sandboxNamespace, nodes, hasPolicies: false },
    stateOf: name => system.nodeState(name),
  }
})
after(() => system?.stop())

testMigration(() => setup)
testUpgrade(() => system, 'worker-4')
