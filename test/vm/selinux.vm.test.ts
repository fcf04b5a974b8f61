/**
 * SELinux in enforcing mode, with the policy of Debian 13, which has the domain of the agent's Job (spc_t). It is not the policy
 * of RHEL.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Guest } from '../rigs/vm/rig.ts'
import { hotPlugCase } from './hot-plug.ts'

/** What the agent writes, and what its readers make of it. */
const paths = '/etc/netplan /etc/systemd/network /etc/sysctl.d /etc/udev/rules.d /var/lib/multinic'
/** The agent, its files, and the programs that read them. */
const ours = /spc_t|multinic|netplan|networkd|udev|sysctl/
/**
 * Netplan's generator runs before systemd labels /run/systemd/network, so udevd may not read what it writes there, for any NIC with
 * set-name. The agent's rule in /etc/udev/rules.d names the NIC.
 */
const ofGenerator = /comm="systemd-udevd" path="\/run\/systemd\/network\/10-netplan-\w+\.link" .*:init_runtime_t:/

test('selinux: a hot-plugged NIC is the same after a reboot, with the labels of the policy and without a denial', async t => {
  const labels: string[] = []
  const denials: string[][] = []
  await hotPlugCase(t, { kind: 'selinux' }, async guest => {
    assert.equal(await guest.exec('getenforce'), 'Enforcing\n')
    labels.push(await guest.exec(`restorecon -nvR $(ls -d ${paths} 2>/dev/null)`))
    denials.push(await denialsIn(guest))
  })
  assert.deepEqual(labels, ['', '', ''], 'labels that the policy does not want')
  // Debian's own programs are denied something at each boot.
  const [withoutAgent = [], ...withAgent] = denials
  for (const found of withAgent)
    assert.deepEqual(
      found.filter(denial => ours.test(denial) && !ofGenerator.test(denial) && !withoutAgent.includes(denial)),
      [],
    )
})

/** Since the boot, without process IDs, inodes and the like. */
async function denialsIn(guest: Guest): Promise<string[]> {
  const log = await guest.exec('dmesg')
  const denials = log.split('\n').flatMap(line => /avc:\s+denied\s+(.*)/.exec(line)?.[1] ?? [])
  return [...new Set(denials.map(text => text.replace(/ (pid|ino|dev|ioctlcmd)=\S+/g, '')))]
}
