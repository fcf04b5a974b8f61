/**
 * Attacks on ownership: what others put on the node stays, whatever number or name it has.
 */
import assert from 'node:assert/strict'
import { type Attack, attacks, configureAll, outcomes } from './attack.ts'

const cases: Attack[] = [
  {
    finding: 'F7',
    name: 'a foreign rule far from our priorities stays',
    prepare: node => void node.ip('rule', 'add', 'from', '192.168.7.7', 'lookup', '500', 'priority', '500'),
    expect: result => assert.deepEqual(outcomes(result), ['Configured'], result.log),
  },
  {
    finding: 'F7',
    name: 'a routing table with a foreign route is refused',
    prepare: node => void node.ip('route', 'add', '172.16.0.0/16', 'via', '10.0.0.1', 'table', '100'),
    expect: result => assert.deepEqual(outcomes(result), ['Failed RoutingTableInUse'], result.log),
  },
  {
    finding: 'F4',
    name: 'a device that is named if<ifindex> of the NIC is not renamed in its place',
    prepare: node => {
      const { ifindex } = (JSON.parse(node.ip('-j', 'link', 'show', 'ens4')) as { ifindex: number }[])[0] ?? {}
      node.ip('link', 'add', `if${ifindex}`, 'type', 'bridge')
    },
    expect: result => assert.deepEqual(outcomes(result), ['Failed InterfaceNameInUse'], result.log),
  },
  {
    finding: 'L2',
    name: 'a journal and a record that are not JSON do not stop the node',
    prepare: async node => {
      await configureAll(node)
      node.exec('sh', '-c', `mkdir ${node.path('var/lib/multinic/journal')}`)
      node.exec('sh', '-c', `echo '{' > ${node.path('var/lib/multinic/journal/0001.json')}`)
      node.exec('sh', '-c', `echo '{' > ${node.path('var/lib/multinic/nics/aaaaaaaaaaaa.json')}`)
    },
    expect: result => assert.deepEqual(outcomes(result), ['Configured'], result.log),
  },
]

attacks('ownership', cases)
