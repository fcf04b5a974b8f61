/**
 * Attacks on boot files: a foreign file that configures the NIC is never overwritten.
 */
import assert from 'node:assert/strict'
import { type Attack, attacks, outcomes } from './attack.ts'

const cases: Attack[] = [
  {
    finding: 'F11',
    name: 'a foreign .network file by MAC address is refused by its name',
    options: {
      files: {
        '/etc/systemd/network/01-custom.network':
          '[Match]\nMACAddress=fa:16:3e:00:00:01\n\n[Network]\nAddress=192.0.2.1/24\n',
      },
    },
    expect: result => {
      assert.deepEqual(outcomes(result), ['Failed ForeignFile'], result.log)
      assert.match(result.report?.message ?? '', /01-custom\.network/)
    },
  },
]

attacks('boot files', cases)
