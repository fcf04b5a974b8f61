/**
 * A take-over, or its end, that is killed: the next run leaves the NIC to its DHCP client, which has its lease again.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { hasNetworkd } from '../../../test/rigs/host/boot.ts'
import { bundled } from '../../../test/rigs/host/bundle.ts'
import { startDhcp } from '../../../test/rigs/host/dhcp.ts'
import { kernelState } from '../../../test/rigs/host/kernel-state.ts'
import {
  hasNetworkManager,
  makeNetworkManagerHost,
  startNetworkManager,
} from '../../../test/rigs/host/network-manager.ts'
import { startLiveNetworkd } from '../../../test/rigs/host/networkd.ts'
import { diskOf, type RigNic, type RigNode, requestedInterface } from '../../../test/rigs/host/node.ts'
import type { AgentInput } from '../../contract/agent-input.ts'
import { dhcpFile, givenBack, leased, withNic } from './take-over.fixture.ts'

/** Runs the agent. Reports whether it was killed after so many steps, because it needs more. */
async function killedAfter(steps: number, node: RigNode, values: Partial<AgentInput>): Promise<boolean> {
  const agent = await bundled('test/rigs/host/killable-agent.ts')
  const request = {
    ...{ version: 1, mode: 'apply', nodeName: 'worker-1', generation: 1, specHash: '' },
    ...{ nodeAddresses: ['10.0.0.10'], interfaces: [], ...values },
  }
  const killable = [process.execPath, agent, node.root, String(steps), 'off', 'new', JSON.stringify(request)]
  const output = await node.execute('sh', '-c', '"$@" || echo killed', 'sh', 'setsid', '--wait', ...killable)
  return output.includes('killed')
}

async function nothingLeft(node: RigNode, nic: RigNic, message: string): Promise<void> {
  await givenBack(node, nic)
  assert.match(node.ip('address', 'show', nic.name), /inet 10\.100\.0\.10\/24 .*dynamic/, message)
  assert.deepEqual(kernelState(node)['rules'], [], message)
  assert.deepEqual(Object.keys(diskOf(node, path => path.includes('multinic0') && !path.includes('backup/'))), [])
}

const needsManager = { skip: !hasNetworkManager && 'needs NetworkManager' }
const clients: Record<string, { skip: string | false; start(node: RigNode): Promise<{ stop(): Promise<void> }> }> = {
  networkd: { skip: !hasNetworkd && 'needs networkd', start: node => startLiveNetworkd(node, dhcpFile) },
  NetworkManager: {
    ...needsManager,
    start: node => {
      makeNetworkManagerHost(node)
      return startNetworkManager(node)
    },
  },
}

for (const [name, { skip, start }] of Object.entries(clients))
  test(`a take-over that is killed after any step is rolled back, and ${name} has its lease again`, { skip }, () =>
    withNic(async (node, nic, end) => {
      end(startDhcp(node, nic))
      end(await start(node))
      await leased(node, nic)
      let killed = 0
      while (await killedAfter(killed, node, { interfaces: [requestedInterface(nic, 0)] })) {
        await nothingLeft(node, nic, `after ${killed} steps`)
        killed++
      }
      assert.ok(killed > 30, `killed ${killed} times`)
      assert.ok(kernelState(node)['links']?.includes('multinic0 up 1450'))
    }),
  )

test(
  'a removal that is killed while NetworkManager gets a connection leaves one connection and its lease',
  needsManager,
  () =>
    withNic(async (node, nic, end) => {
      makeNetworkManagerHost(node)
      end(startDhcp(node, nic))
      const { nmcli, stop } = await startNetworkManager(node)
      end({ stop })
      const connections = () => nmcli('-t', '-f', 'UUID,TYPE,NAME', 'connection').match(/^.*ethernet.*$/gm) ?? []
      const automatic = () => connections().filter(line => !line.includes('multinic0'))
      // As after a reboot with our profile.
      const takeOver = async () => {
        await leased(node, nic)
        const taken = await node.agent({ interfaces: [requestedInterface(nic, 0)] })
        assert.equal(taken.report?.verdict, 'Configured', taken.log)
        for (const line of automatic()) nmcli('connection', 'delete', line.slice(0, line.indexOf(':')))
      }
      const killedWith: number[] = []
      // The steps before are those of every removal.
      for (let steps = 36; ; steps++) {
        await takeOver()
        if (!(await killedAfter(steps, node, { mode: 'cleanup' }))) break
        killedWith.push(automatic().length)
        await nothingLeft(node, nic, `after ${steps} steps`)
        assert.equal(connections().length, 1, `after ${steps} steps`)
      }
      await nothingLeft(node, nic, 'without a kill')
      assert.deepEqual([...new Set(killedWith)], [0, 1], 'no kill right before and after the new connection')
    }),
)
