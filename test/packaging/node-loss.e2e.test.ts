/**
 * Each of three nodes with two replicas of every component loses power in turn, while ports are attached and detached: its
 * kubelet, containerd, kube-proxy and all containers end at once, and no packet leaves it any more. The measured times are
 * diagnostics of the tests.
 *
 * Kubernetes has its defaults. It declares a node unreachable 50 s after its last sign of life (node-monitor-grace-period), and
 * takes its Pods out of the Services then. It would move them after 300 s more (tolerationSeconds); each node is back earlier.
 */
import assert from 'node:assert/strict'
import { after, before, type TestContext, test } from 'node:test'
import { leases } from '../../src/kube/resources.ts'
import type { PodObject } from '../../src/kube/types.ts'
import { eventually } from '../support/eventually.ts'
import { biz, type Machine } from './replicas.fixture.ts'
import type { Nic } from './replicas-player.ts'
import { components, limits, seconds, startTrial, type Trial } from './replicas-trial.ts'

let trial: Trial

before(async () => {
  trial = await startTrial()
})
after(() => trial?.close())

test('a node loses power while its agent runs, and comes back', async t => {
  const [first, second] = trial.site.machines
  for (const victim of [first, second]) await losesPower(t, victim ?? assert.fail('no node'), 'running agent')
})

test('a port of a node changes while the node is off', async t => {
  await losesPower(t, trial.site.machines[2] ?? assert.fail('no node'), 'change while off')
})

test('every port was configured once, and the history has every change', t => trial.assertNothingLost(t))

async function losesPower(
  t: TestContext,
  victim: Machine,
  change: 'running agent' | 'change while off',
): Promise<void> {
  const { site, player, recovers, watch, assertConfiguredOnce } = trial
  const { node } = victim
  player.avoid(victim)
  await player.nextChange()
  const name = `power loss of ${node.name} (${await componentsOn(victim)}), ${change}`
  const changing = change === 'running agent' ? await beginAgent(victim) : undefined
  await assertConfiguredOnce(victim, changing)
  await recovers(t, name, limits.node, async () => {
    await node.powerOff()
    if (!changing) player.begin(victim)
  })
  const onAt = performance.now()
  await node.powerOn(() => watch(victim))
  await site.soon(() => player.assertConfigured(victim))
  t.diagnostic(`${name}: its NICs are configured ${seconds(performance.now() - onAt)} s after power on`)
  await site.allReady()
  player.avoid(undefined)
}

/** The components on a node, and which of them lead. */
async function componentsOn({ node }: Machine): Promise<string> {
  const found = await Promise.all(
    components.map(async ([component, namespace]) => {
      const pod = (await trial.podsOf(component, namespace)).find(({ spec }) => spec.nodeName === node.name)
      if (!pod) return []
      const { items } = await trial.site.kube.list(leases, { namespace })
      const leads = items.some(({ spec }) => spec?.holderIdentity?.startsWith(pod.metadata.name))
      return leads ? `leading ${component}` : component
    }),
  )
  return found.flat().join(', ')
}

/** Begins a change of a port of the node, and waits until its agent runs. */
async function beginAgent(machine: Machine): Promise<Nic> {
  const startedAgents = async () => {
    const found = await trial.podsOf('agent', biz)
    const isStarted = ({ spec, status }: PodObject) =>
      spec.nodeName === machine.node.name && status?.phase !== 'Pending'
    return found.filter(isStarted).map(({ metadata }) => metadata.uid)
  }
  const earlier = await startedAgents()
  const nic = trial.player.begin(machine)
  const assertNew = async () =>
    assert.ok(
      (await startedAgents()).some(uid => !earlier.includes(uid)),
      'no agent',
    )
  await eventually(assertNew, { within: 60_000 })
  return nic
}
