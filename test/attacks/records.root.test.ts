/**
 * Attacks by records: one that no agent wrote, or that cannot be read, never harms the node, and is named.
 */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { chmodSync, chownSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import type { RigNode } from '../rigs/host/node.ts'
import { type Attack, attacks, configureAll, outcomes } from './attack.ts'

const recordOf = (node: RigNode, macAddress: string) =>
  node.path(`var/lib/multinic/nics/${macAddress.replaceAll(':', '')}.json`)

function writeRecord(node: RigNode, macAddress: string, values: object): void {
  const path = recordOf(node, macAddress)
  mkdirSync(dirname(path), { recursive: true })
  const former = { name: 'ens3', mtu: 1500, up: false, sysctls: {} }
  writeFileSync(
    path,
    JSON.stringify({ version: 1, id: 5, mac: macAddress, table: 105, addresses: [], former, ...values }),
  )
}

const primary = 'fa:16:3e:ff:00:00'
const absent = 'fa:16:3e:00:00:77'
const named = (log: string) => assert.match(log, /cannot read a record.*nics\/fa163e/)

/** Kept as it was: the primary with its address and route, and the base rules. */
const intact = (node: RigNode) => {
  assert.match(node.ip('address', 'show', 'dev', 'ens3'), /state UP[\s\S]*10\.0\.0\.10\/24/)
  assert.match(node.ip('route', 'show', 'default'), /via 10\.0\.0\.1 dev ens3/)
  assert.match(node.ip('rule'), /^0:\s+from all lookup local[\s\S]*32766:\s+from all lookup main/)
}

const hostile: Record<string, [macAddress: string, values: object]> = {
  'with the main table and the address of the primary': [primary, { table: 254, addresses: ['10.0.0.10/24'] }],
  'with rules in the main table and the address of the primary': [
    primary,
    { addresses: ['10.0.0.10/24'], rules: ['from 10.0.0.10/32 lookup 254 priority 10105'] },
  ],
  'whose rules are the base rules': [
    absent,
    { rules: ['lookup 254 priority 32766', 'lookup 255 priority 0', 'lookup 253 priority 32767'] },
  ],
}

const broken: Record<string, (path: string) => void> = {
  'that is a loop of symbolic links': path => symlinkSync(path, path),
  'that is a named pipe': path => void execFileSync('mkfifo', [path]),
  'that the agent may not read': path => {
    writeFileSync(path, '{}')
    chownSync(path, 1000, 1000)
    chmodSync(path, 0o600)
  },
}

const cases: Attack[] = [
  ...Object.entries(hostile).map(
    ([what, [macAddress, values]]): Attack => ({
      finding: 'F8',
      name: `a record ${what} takes nothing from the node`,
      prepare: node => writeRecord(node, macAddress, values),
      expect: (result, node) => {
        intact(node)
        assert.deepEqual(outcomes(result), ['Configured'], result.log)
      },
    }),
  ),
  {
    finding: 'F8',
    name: 'a record that is not believed is named in the log',
    prepare: node => writeRecord(node, primary, { table: 254 }),
    expect: ({ log }) => named(log),
  },
  ...Object.entries(broken).flatMap(([what, make]): Attack[] => [
    {
      finding: 'F7',
      name: `a record ${what} refuses its NIC alone`,
      options: { nics: 2 },
      prepare: node => {
        const path = recordOf(node, node.nics[0]?.macAddress ?? '')
        mkdirSync(dirname(path), { recursive: true })
        make(path)
      },
      expect: (result, node) => {
        assert.deepEqual(outcomes(result), ['Failed ForeignFile', 'Configured'], result.log)
        assert.match(result.report?.interfaces[0]?.message ?? '', /nics\/fa163e000001\.json/)
        assert.match(node.ip('-o', 'link'), /ens4/)
      },
    },
    {
      finding: 'F7',
      name: `a record ${what} of a NIC that is not requested is reported, and the others are configured`,
      prepare: node => {
        const path = recordOf(node, absent)
        mkdirSync(dirname(path), { recursive: true })
        make(path)
      },
      expect: result => {
        assert.deepEqual(outcomes(result), ['Configured'], result.log)
        assert.equal(result.report?.verdict, 'Failed', result.log)
        assert.match(result.report?.message ?? '', /cannot remove: .*nics\/fa163e000077\.json/)
      },
    },
  ]),
  {
    finding: 'L4',
    name: 'a foreign device that has the MAC address of a removed NIC stays as it is',
    prepare: async node => {
      await configureAll(node)
      const [nic] = node.nics
      node.unplug(0)
      node.ip(
        'link',
        'add',
        'alien',
        'address',
        nic?.macAddress ?? '',
        'mtu',
        '1400',
        'type',
        'veth',
        'peer',
        'name',
        'alien-peer',
      )
    },
    request: () => ({ mode: 'cleanup', interfaces: [] }),
    ours: () => [],
    changesForeign: true,
    expect: (result, node) => {
      assert.equal(result.report?.verdict, 'Removed', result.log)
      assert.match(node.ip('-o', 'link', 'show', 'alien'), /mtu 1400 /)
      assert.doesNotMatch(node.ip('rule'), /10\.100\./)
    },
    cleanup: false,
  },
]

attacks('records', cases)
