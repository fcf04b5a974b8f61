/**
 * The power fails while the agent works: after the boot the guest has the complete old or the complete new configuration, and the
 * next run completes it.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  guestKinds,
  interfaceFor,
  noAutomaticConnections,
  sameState,
  startGuest,
  stateOf,
  waitForBoot,
} from '../rigs/vm/rig.ts'
import { eventually } from '../support/eventually.ts'

const nic = { name: 'port-a', macAddress: 'fa:16:3e:00:00:0a', network: 'net-a', slot: 1 }
const networks = [{ name: 'net-a', addresses: ['192.168.10.1/24', 'fd00:10::1/64'] }]
const requested = interfaceFor(nic, 0, {
  address: '192.168.10.11',
  cidr: '192.168.10.0/24',
  gateway: '192.168.10.1',
  addresses: ['fd00:10::11/64'],
})

const directories = '/etc/netplan /etc/systemd/network /etc/NetworkManager/system-connections'
/** Conditions in the guest. */
const moments = {
  'the journal is written': '[ -e /var/lib/multinic/journal/0001.json ]',
  'the first boot file is written': `find ${directories} -name '[!.]*multinic0*' 2>/dev/null | grep -q .`,
}

for (const kind of guestKinds)
  test(`${kind}: after a power cut during an apply, the guest has the old or the new configuration`, async t => {
    const guest = await startGuest(t, { kind, networks, nics: [nic], files: noAutomaticConnections(kind) })
    const bare = await stateOf(guest)
    const applied = await guest.agent('apply', [requested])
    assert.equal(applied.report?.verdict, 'Configured', applied.log)
    const configured = await stateOf(guest)

    for (const [moment, condition] of Object.entries(moments)) {
      const cleaned = await guest.agent('cleanup', [])
      assert.equal(cleaned.report?.verdict, 'Removed', cleaned.log)
      await sameState(guest, bare)
      const interrupted = guest.agent('apply', [requested]).then(
        ({ log }) => assert.fail(`the agent ended before ${moment}: ${log}`),
        () => {},
      )
      await guest.exec(`until ${condition}; do sleep 0.02; done`)
      await guest.cutPower()
      await interrupted

      await guest.start()
      await waitForBoot(guest)
      await eventually(
        async () => {
          const { files, ...state } = await stateOf(guest)
          // No program reads staged files, and the next run removes them.
          const configuration = { ...state, files: files.filter(line => !line.endsWith('.multinic-new')) }
          assert.ok(
            [bare, configured].some(complete => JSON.stringify(complete) === JSON.stringify(configuration)),
            `${moment}: neither old nor new: ${JSON.stringify(configuration, undefined, 1)}`,
          )
        },
        { within: 90_000, every: 1_000 },
      )
      const completed = await guest.agent('apply', [requested])
      assert.equal(completed.report?.verdict, 'Configured', completed.log)
      await sameState(guest, configured)
    }
  })
