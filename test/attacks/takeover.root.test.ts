/**
 * Attacks on the take-over: a NIC that the node needs is never taken, whoever configured it.
 */
import assert from 'node:assert/strict'
import { requestedInterface } from '../rigs/host/node.ts'
import { type Attack, attacks, outcomes } from './attack.ts'

const cases: Attack[] = [
  {
    finding: 'F3',
    name: 'the NIC of the only default route is refused',
    request: node => {
      const [nic] = node.nics
      assert.ok(nic)
      return { interfaces: [requestedInterface(nic, 0, { macAddress: 'fa:16:3e:ff:00:00' })] }
    },
    expect: result => assert.deepEqual(outcomes(result), ['Failed DefaultRoute'], result.log),
  },
]

attacks('take-over', cases)
