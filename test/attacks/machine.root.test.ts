/**
 * Attacks by the machine: a kernel without IPv6, and hardware without DMI.
 */
import assert from 'node:assert/strict'
import { rmSync } from 'node:fs'
import { type RigNode, requestedInterface } from '../rigs/host/node.ts'
import { type Attack, attacks, ipWrapper, outcomes, requestAll } from './attack.ts'

/** The answer of such a kernel to every IPv6 request. */
const withoutIPv6 = (node: RigNode) =>
  ipWrapper(
    node,
    'case "$*" in -6*) echo "RTNETLINK answers: Address family not supported by protocol" >&2; exit 2 ;; esac',
  )
const instanceId = '11111111-2222-3333-4444-555555555555'
const withoutDmi = (node: RigNode) =>
  ['sys/class/dmi', 'host/product_uuid'].forEach(path => void rmSync(node.path(path), { recursive: true }))

const cases: Attack[] = [
  {
    finding: 'F14',
    name: 'a kernel without IPv6 gets its IPv4 NICs, and IPv6 addresses are refused',
    options: { nics: 2, ipv6: false },
    env: withoutIPv6,
    request: node => ({
      interfaces: node.nics.map((nic, index) =>
        requestedInterface(nic, index, index === 1 ? { addresses: [nic.address6] } : {}),
      ),
    }),
    expect: result => {
      assert.deepEqual(outcomes(result), ['Configured', 'Failed IPv6Disabled'], result.log)
      assert.match(result.report?.interfaces[1]?.message ?? '', /cannot configure fd00:1::10\/64: the kernel/)
    },
  },
  {
    finding: 'DMI',
    name: 'a machine without DMI is identified by the boot ID that its Node reported',
    prepare: withoutDmi,
    request: node => ({ ...requestAll(node), instanceId, bootID: 'boot-1' }),
    expect: result => assert.deepEqual(outcomes(result), ['Configured'], result.log),
  },
  {
    finding: 'DMI',
    name: 'a machine without DMI and with another boot ID is not changed',
    prepare: withoutDmi,
    request: node => ({ ...requestAll(node), instanceId, bootID: 'boot-of-another-machine' }),
    expect: result => assert.equal(result.report?.reason, 'WrongMachine', result.log),
  },
  {
    finding: 'DMI',
    name: 'a machine without DMI is not changed for a controller that does not send the boot ID',
    prepare: withoutDmi,
    request: node => ({ ...requestAll(node), instanceId }),
    expect: result => assert.equal(result.report?.reason, 'WrongMachine', result.log),
  },
  {
    finding: 'F14',
    name: 'the mounts of an older controller suffice',
    prepare: node =>
      ['host/proc/sys', 'host/run', 'host/lib', 'etc/udev', 'sys'].forEach(
        path => void rmSync(node.path(path), { recursive: true }),
      ),
    expect: result => assert.deepEqual(outcomes(result), ['Configured'], result.log),
  },
]

attacks('machine', cases)
