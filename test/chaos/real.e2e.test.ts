/**
 * Chaos on real parts: etcd, kube-apiserver, kube-controller-manager and kubelets with containerd (../rigs/kubernetes),
 * Keystone, Neutron, Nova and RabbitMQ (../rigs/openstack/rig.ts), and PostgreSQL. SEED and STEPS choose a history.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { availableFaults } from '../../sandbox/faults/unavailable.ts'
import { environment } from '../../src/runtime/env.ts'
import { startPostgres } from '../rigs/postgres/rig.ts'
import { describeStep, historyOf } from './history.ts'
import { runHistory } from './runner.ts'
import { startChaosSetup } from './setup.ts'

/** Revoked tokens, an API server that is down, a reboot, a rollout, a rename, other addresses, gateways and routes. */
const { SEED = '5599', STEPS = '20' } = environment()
const real = { kubernetes: true, kubelets: true, openstack: true }
const vms = ['worker-1', 'worker-2']

test(`chaos on real parts with seed ${SEED}: all guarantees hold throughout, and the system reaches the requested state`, {
  timeout: 20 * 60_000,
}, async () => {
  const history = historyOf(Number(SEED), {
    ...{ steps: Number(STEPS), vms, subnets: ['storage', 'backup'], faults: availableFaults(real) },
  })
  const postgres = await startPostgres()
  try {
    const databaseUrl = await postgres.database('inventory')
    const setup = await startChaosSetup({ nodes: vms.length, real, databaseUrl })
    try {
      const violations = await runHistory(setup, history)
      const steps = history.map(describeStep)
      assert.deepEqual(violations, [], [...violations, `seed ${SEED} after`, ...steps].join('\n'))
    } finally {
      await setup.stop()
    }
  } finally {
    await postgres.close()
  }
})
