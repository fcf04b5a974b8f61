/** The soak runs what the chart ships for production. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { shippedFor } from './chart.ts'
import { kills } from './faults.ts'
import { componentNames, componentOf, electing, replicaCount, replicaNames, replicasOf } from './names.ts'

test('the soak has as many replicas of each component as the chart', () => {
  for (const name of componentNames) {
    const { replicas, memoryMib } = shippedFor(name)
    assert.equal(replicas, replicaCount, name)
    assert.equal(replicasOf(name).length, replicas, name)
    assert.ok(memoryMib >= 128, `${name} has a limit of ${memoryMib} MiB`)
  }
  assert.equal(shippedFor('controller').settings['FAILURE_BUDGET'], '5%')
})

test('a replica knows its component', () => {
  assert.deepEqual(
    replicaNames.map(componentOf),
    componentNames.flatMap(name => [name, name]),
  )
})

test('every replica is killed once: by its name, or as leader and as standby', () => {
  const byRole = electing.flatMap(name => [`leader of the ${name}`, `standby of the ${name}`])
  const byName = replicaNames.filter(name => !electing.some(component => component === componentOf(name)))
  assert.deepEqual(kills.toSorted(), [...byRole, ...byName].sort())
  for (const name of electing)
    assert.ok(
      kills.indexOf(`standby of the ${name}`) < kills.indexOf(`leader of the ${name}`),
      'after the kill of a leader, it is the standby',
    )
})
