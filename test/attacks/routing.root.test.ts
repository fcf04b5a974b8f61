/**
 * Attacks on routing: packets with a foreign source keep their way.
 */
import assert from 'node:assert/strict'
import { type Attack, attacks, outcomes } from './attack.ts'

const cases: Attack[] = [
  {
    finding: 'F1',
    name: "a packet from the primary's address to the network of a NIC stays on the primary without our rules for it",
    options: { nics: 3, oneSubnet: true },
    expect: (result, node) => {
      assert.deepEqual(outcomes(result), ['Configured', 'Configured', 'Configured'], result.log)
      assert.match(node.ip('route', 'get', '1.1.1.1', 'from', '10.0.0.10'), /dev ens3/)
    },
  },
]

attacks('routing', cases)
