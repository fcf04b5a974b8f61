/**
 * Attacks on removals: a NIC whose removal fails keeps its configuration, and its index.
 */
import assert from 'node:assert/strict'
import { ipWrapper } from '../rigs/host/ip-wrapper.ts'
import { kernelState } from '../rigs/host/kernel-state.ts'
import { diskOf, type RigNode, requestedInterface } from '../rigs/host/node.ts'
import { type Attack, attacks, outcomes } from './attack.ts'

const stateOf = (node: RigNode) => ({
  kernel: kernelState(node),
  files: diskOf(node, path => !path.includes('backup')),
})
const request = (node: RigNode, nic: number) => ({
  interfaces: node.nics.slice(nic, nic + 1).map(each => requestedInterface(each, 0)),
})

/** `instead`: what becomes of every removal of a rule of the first NIC. */
function keepsIndex(name: string, instead: string, reason: string, message: RegExp): Attack {
  let before: unknown
  return {
    finding: 'F19',
    name: `${name}: the NIC that gets its index fails with that reason, and both are as before`,
    options: { nics: 2 },
    prepare: async node => {
      const first = await node.agent(request(node, 0))
      assert.deepEqual(outcomes(first), ['Configured'], first.log)
      before = stateOf(node)
    },
    request: node => request(node, 1),
    env: node => ipWrapper(node, `lines=$(echo "$lines" | sed 's/^rule del from 10.100.0.0.*/${instead}/')`),
    expect: async (result, node) => {
      assert.deepEqual(outcomes(result), [`Failed ${reason}`], result.log)
      assert.match(result.report?.interfaces[0]?.message ?? '', message)
      assert.deepEqual(stateOf(node), before, result.log)
      const again = await node.agent(request(node, 1))
      assert.deepEqual([outcomes(again), again.report?.removed[0]], [['Configured'], 'multinic0'], again.log)
    },
  }
}

attacks('removals', [
  keepsIndex(
    'a removal in which a command fails',
    'link show dev nosuch0 type bond',
    'CommandFailed',
    /^multinic0 still belongs to the NIC fa:16:3e:00:00:01, which cannot be removed: remove rule from 10\.100\.0\.0.*: /,
  ),
  keepsIndex(
    'a removal that has no effect',
    'link show dev lo',
    'VerifyFailed',
    /^multinic0 still belongs to the NIC fa:16:3e:00:00:01, which cannot be removed: still to do: remove rule from 10\.100/,
  ),
])
