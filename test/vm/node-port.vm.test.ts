/**
 * What a reboot restores before any agent runs: tables, rules and routes, and with them the answers of a NodePort to a client
 * behind the gateway of the NIC, in a cloud with port security.
 */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { run } from '../rigs/process.ts'
import { addPod, answers, type Probe, pings, startProbe, syncProxy } from '../rigs/vm/node-port.ts'
import {
  type Guest,
  type GuestKind,
  interfaceFor,
  primaryAddress,
  sameState,
  startGuest,
  stateOf,
} from '../rigs/vm/rig.ts'
import { eventually } from '../support/eventually.ts'

const nic = { name: 'port-a', macAddress: 'fa:16:3e:00:00:0a', network: 'net-a', slot: 1 }
const own = '192.168.10.11'
const gateway = '192.168.10.1'
const requested = interfaceFor(nic, 0, { address: own, cidr: '192.168.10.0/24', gateway })
const networks = [{ name: 'net-a', addresses: [`${gateway}/24`] }]
const client = '172.16.5.1'
const primaryRouter = '10.0.2.2'
const units = ['multinic-nft.service', 'multinic-primary.service']
const waits = { within: 2 * 60_000, every: 100 }

interface Boot {
  nic: Probe
  pod: Probe
  nodePort: Probe
  stop(): void
}

async function configured(t: TestContext, kind: GuestKind): Promise<Guest> {
  await run('ip', ['address', 'add', `${client}/32`, 'dev', 'lo'])
  t.after(() => run('ip', ['address', 'delete', `${client}/32`, 'dev', 'lo']))
  const guest = await startGuest(t, { kind, networks, nics: [nic], portSecurity: { [nic.name]: [own] } })
  const applied = await guest.agent('apply', [requested])
  assert.equal(applied.report?.verdict, 'Configured', applied.log)
  await addPod(guest)
  assert.ok(await answers(client, own, 10_000), 'the NodePort does not answer at the NIC')
  assert.ok(await answers(primaryRouter, primaryAddress, 10_000), 'the NodePort does not answer at the primary NIC')
  return guest
}

/** Probes from the moment when the power is off. */
async function rebootWithProbes(t: TestContext, guest: Guest): Promise<Boot> {
  await guest.powerOff()
  const boot = {
    nic: startProbe(() => pings(client, own)),
    pod: startProbe(() => answers(primaryRouter, primaryAddress)),
    nodePort: startProbe(() => answers(client, own)),
    stop: () => {
      for (const probe of [boot.nic, boot.pod, boot.nodePort]) probe.stop()
    },
  }
  t.after(boot.stop)
  await guest.start()
  await eventually(
    () => assert.ok(boot.nic.firstAnswer && boot.pod.firstAnswer, 'no answer by the NIC or the Pod'),
    waits,
  )
  return boot
}

function gapOf(t: TestContext, { nic: first, pod, nodePort }: Boot): void {
  const since = (probe: Probe) =>
    `${(((nodePort.firstAnswer ?? Number.NaN) - (probe.firstAnswer ?? 0)) / 1_000).toFixed(1)} s`
  t.diagnostic(
    `first answer of the NodePort at the NIC: ${since(first)} after that of the NIC, ${since(pod)} after that of the Pod`,
  )
}

async function restored(guest: Guest): Promise<void> {
  const shown = await guest.exec(`systemctl show -p Id,ActiveState,Result,ConditionResult ${units.join(' ')}`)
  for (const fact of ['ActiveState=active', 'Result=success', 'ConditionResult=yes'])
    assert.equal(shown.split('\n').filter(line => line === fact).length, units.length, shown)
  const failed = await guest.exec('systemctl list-units --failed --plain --no-legend')
  assert.equal(failed, '')
  assert.equal((await guest.run('systemctl is-system-running')).stdout, 'running\n')
  const priorities = (await guest.exec('ip rule')).split('\n').map(line => Number.parseInt(line, 10))
  for (const priority of [9_998, 9_999, 10_000, 10_010, 10_012, 10_013, 10_014, 10_060, 10_070, 10_090, 10_091, 10_095])
    assert.ok(priorities.includes(priority), `no rule ${priority} in ${priorities}`)
  assert.match(await guest.exec('ip route show table 110'), /^192\.168\.10\.0\/24 via 10\.0\.2\.2 /m)
}

/** When each unit began and had done its work, in seconds of the guest's boot. */
async function unitTimes(guest: Guest): Promise<Record<string, { began: number; done: number }>> {
  const properties = 'Id,InactiveExitTimestampMonotonic,ActiveEnterTimestampMonotonic'
  const text = await guest.exec(`systemctl show -p ${properties} ${units.join(' ')} kubelet.service network-pre.target`)
  const entries = text
    .trim()
    .split('\n\n')
    .map(block => {
      const value = (key: string) => new RegExp(`^${key}=(.*)$`, 'm').exec(block)?.[1] ?? ''
      const seconds = (key: string) => Number(value(key)) / 1e6
      return [
        value('Id'),
        { began: seconds('InactiveExitTimestampMonotonic'), done: seconds('ActiveEnterTimestampMonotonic') },
      ] as const
    })
  return Object.fromEntries(entries)
}

for (const kind of ['netplan', 'networkmanager'] as const)
  test(`${kind}: after a reboot a NodePort answers clients of a NIC before any agent has run, and after a flush of all tables`, async t => {
    const guest = await configured(t, kind)
    const before = await stateOf(guest)
    const boot = await rebootWithProbes(t, guest)
    await eventually(() => assert.ok(boot.nodePort.firstAnswer, 'the NodePort does not answer at the NIC'), waits)
    gapOf(t, boot)
    await sameState(guest, before)
    assert.ok(before.nftables.length > 0)
    await eventually(() => restored(guest), waits)
    const times = await unitTimes(guest)
    t.diagnostic(JSON.stringify(times))
    const { done = Number.NaN } = times['multinic-nft.service'] ?? {}
    for (const later of ['network-pre.target', 'kubelet.service'])
      assert.ok(done <= (times[later]?.began ?? 0), `${later} began before the tables were loaded`)
    for (const action of ['restart nftables', 'reload nftables', 'stop nftables; systemctl start nftables']) {
      await guest.exec(`systemctl ${action}`)
      assert.deepEqual((await stateOf(guest)).nftables, before.nftables, `${action} has flushed the tables`)
    }
    await syncProxy(guest)
    assert.ok(await answers(client, own, 10_000), 'the NodePort does not answer after a restart of nftables')
  })

test('without-nftables: after a reboot a NodePort answers clients of a NIC once the agent has run', async t => {
  const guest = await configured(t, 'without-nftables')
  const boot = await rebootWithProbes(t, guest)
  await guest.exec('systemctl is-system-running --wait')
  const shown = await guest.exec('systemctl show -p ActiveState,Result,ConditionResult multinic-nft.service')
  assert.match(shown, /ActiveState=inactive/)
  assert.match(shown, /ConditionResult=no/)
  assert.equal(boot.nodePort.firstAnswer, undefined, 'the NodePort answered although its table is missing')
  const started = performance.now()
  const applied = await guest.agent('apply', [requested])
  assert.equal(applied.report?.verdict, 'Configured', applied.log)
  await eventually(() => assert.ok(boot.nodePort.firstAnswer, 'the NodePort does not answer at the NIC'), waits)
  gapOf(t, boot)
  t.diagnostic(
    `the agent of the new boot started ${((started - (boot.nic.firstAnswer ?? 0)) / 1_000).toFixed(1)} s after the first answer of the NIC`,
  )
})
