import assert from 'node:assert/strict'
import { test } from 'node:test'
import { controllerConfig } from './config.ts'
import { amountOf } from './rollout.ts'

test('every setting has a default', () => {
  const config = controllerConfig({})
  assert.equal(config.namespace, 'multinic-system')
  assert.deepEqual(config.agent, {
    image: 'multinic-agent:latest',
    pullPolicy: 'IfNotPresent',
    serviceAccount: 'multinic-agent-job',
    pullSecrets: [],
    environment: {},
    jobTtlSeconds: 600,
  })
  assert.deepEqual(config.rollout, { maxUnavailable: { percent: 10 }, failureBudget: { percent: 20 } })
  assert.equal(config.setsNodeCondition, false)
  assert.deepEqual([config.healthAddr, config.leaderElect], [':8080', false])
})

test('the namespace is CONTROLLER_NAMESPACE, else that of the Pod', () => {
  assert.equal(controllerConfig({ POD_NAMESPACE: 'pod' }).namespace, 'pod')
  assert.equal(controllerConfig({ POD_NAMESPACE: 'pod', CONTROLLER_NAMESPACE: 'set' }).namespace, 'set')
})

test('a TTL is a duration, or a number of seconds as in older charts', () => {
  assert.equal(controllerConfig({ JOB_TTL: '3600' }).agent.jobTtlSeconds, 3_600)
  assert.equal(controllerConfig({ JOB_TTL: '1h' }).agent.jobTtlSeconds, 3_600)
})

test('experience H6: drift is reported once an hour by default, and the checks can be turned off', () => {
  assert.deepEqual(controllerConfig({}).drift, { policy: 'report', intervalMs: 3_600_000 })
  assert.deepEqual(controllerConfig({ DRIFT_INTERVAL: 'off' }).drift, { policy: 'report' })
  const on = { DRIFT_INTERVAL: '30m', DRIFT_POLICY: 'repair' }
  assert.deepEqual(controllerConfig(on).drift, { policy: 'repair', intervalMs: 1_800_000 })
})

test('a setting of the Go agent that has no effect is accepted, named, and does not reach the Jobs', () => {
  const names = ['NETWORK_NOPREFIXROUTE', 'NETWORK_SET_ARP_SYSCTLS', 'NETWORK_SET_RP_FILTER_LOOSE', 'NETWORK_RELOAD']
  for (const name of names) {
    const config = controllerConfig({ [name]: 'false' })
    assert.deepEqual(config.ignored, [name])
    assert.deepEqual(config.agent.environment, {})
  }
  assert.deepEqual(controllerConfig({}).ignored, [])
})

test('all invalid settings are named in one error', () => {
  const env = {
    NIC_WAIT: 'soon',
    NETWORK_PROBE: 'often,multinic2=off',
    MAX_UNAVAILABLE: 'many',
    NETWORK_TAKEOVER: 'often',
    NETWORK_ROUTING_TABLE_BASE: '250',
  }
  assert.throws(
    () => controllerConfig(env),
    ({ message }: Error) => Object.keys(env).every(name => message.includes(name)),
  )
})

const amounts: [amount: string, nodes: number, allowed: number][] = [
  ['10%', 3, 1],
  ['10%', 25, 2],
  ['10%', 1_000, 100],
  ['5', 3, 5],
  ['0', 1_000, 0],
]

for (const [amount, nodes, allowed] of amounts)
  test(`${amount} of ${nodes} nodes is ${allowed}`, () => {
    const { maxUnavailable } = controllerConfig({ MAX_UNAVAILABLE: amount }).rollout
    assert.equal(amountOf(maxUnavailable, nodes, 1), allowed)
  })
