/**
 * The power fails at random moments of a run, and writes that were not flushed are lost: after the boot the guest has the complete
 * old or the complete new configuration, and the next run completes it. SEED=number repeats the moments of a run.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { environment } from '../../src/runtime/env.ts'
import {
  type Guest,
  interfaceFor,
  noAutomaticConnections,
  sameState,
  startGuest,
  stateOf,
  waitForBoot,
} from '../rigs/vm/rig.ts'
import { differencesOf, type GuestState } from '../rigs/vm/state.ts'
import { eventually } from '../support/eventually.ts'
import { indexesOf } from '../support/random.ts'

const nic = { name: 'port-a', macAddress: 'fa:16:3e:00:00:0a', network: 'net-a', slot: 1 }
const networks = [{ name: 'net-a', addresses: ['192.168.10.1/24', 'fd00:10::1/64'] }]
const requested = interfaceFor(nic, 0, {
  address: '192.168.10.11',
  cidr: '192.168.10.0/24',
  gateway: '192.168.10.1',
  addresses: ['fd00:10::11/64'],
})
const runs = {
  apply: { interfaces: [requested], verdict: 'Configured' },
  cleanup: { interfaces: [], verdict: 'Removed' },
} as const
type Run = keyof typeof runs

/** CI runs the first one. */
const cases = [
  ['netplan', 1],
  ['netplan', 10],
  ['networkmanager', 10],
] as const

for (const [kind, cuts] of cases)
  test(`${kind}: power cuts during an apply and a cleanup (${cuts} each) leave the old or the new configuration`, async t => {
    const seed = Number(environment()['SEED'] ?? Date.now() % 100_000)
    t.diagnostic(`SEED=${seed}`)
    const random = indexesOf(seed)
    const guest = await startGuest(t, { kind, networks, nics: [nic], files: noAutomaticConnections(kind) })
    const bare = await stateOf(guest)
    const cpuOf = { apply: await complete(guest, 'apply'), cleanup: 0 }
    const configured = await stateOf(guest)
    cpuOf.cleanup = await complete(guest, 'cleanup')
    await sameState(guest, bare)

    for (let cut = 0; cut < cuts; cut++)
      for (const run of ['apply', 'cleanup'] as const) {
        const [old, changed] = run === 'apply' ? [bare, configured] : [configured, bare]
        const share = (cut + random()) / cuts
        const hasReported = await cutPowerDuring(guest, run, share * cpuOf[run])
        await guest.start()
        await waitForBoot(guest)
        const found = await eventually(() => oneOf(guest, hasReported ? { changed } : { old, changed }), {
          within: 90_000,
          every: 1_000,
        })
        t.diagnostic(`${run}: power cut after ${Math.round(share * 100)} % of its CPU time: ${found}`)
        if (hasReported) await sameState(guest, changed)
        await complete(guest, run)
        await sameState(guest, changed)
      }
  })

/** Returns the CPU time of the run. */
async function complete(guest: Guest, run: Run): Promise<number> {
  const { interfaces, verdict } = runs[run]
  const before = guest.cpuSeconds()
  const { report, log } = await guest.agent(run, interfaces)
  assert.equal(report?.verdict, verdict, log)
  return guest.cpuSeconds() - before
}

/** Moments are in CPU time: other load on the machine does not move them. Reports whether the run ended before. */
async function cutPowerDuring(guest: Guest, run: Run, cpuSeconds: number): Promise<boolean> {
  const until = guest.cpuSeconds() + cpuSeconds
  let hasReported = false
  const interrupted = guest.agent(run, runs[run].interfaces).then(
    ({ report, log }) => {
      assert.equal(report?.verdict, runs[run].verdict, log)
      hasReported = true
    },
    () => {},
  )
  await eventually(() => assert.ok(hasReported || guest.cpuSeconds() >= until), { within: 15 * 60_000, every: 5 })
  const ended = hasReported
  await guest.cutPower()
  await interrupted
  return ended
}

/** Files that were staged or that have no effect yet may be left. */
async function oneOf(guest: Guest, expected: Readonly<Record<string, GuestState>>): Promise<string> {
  const withoutFiles = ({ files: _, ...state }: GuestState) => state
  const now = withoutFiles(await stateOf(guest))
  const differences = Object.entries(expected).map(
    ([name, state]) => [name, differencesOf(now, withoutFiles(state))] as const,
  )
  const [equal] = differences.find(([, lines]) => lines === '') ?? []
  return (
    equal ?? assert.fail(differences.map(([name, lines]) => `differs from the ${name} state:\n${lines}`).join('\n'))
  )
}
