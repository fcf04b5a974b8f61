/**
 * What a guest says about itself, for the page of booted systems (docs/reference/guests.md).
 */
import { appendFileSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { Shell } from './machine.ts'

export interface BootedGuest {
  /** Kind of the guest, and its firmware. */
  image: string
  system: string
  processor: string
  kernel: string
  /** Names and versions. */
  packages: string[]
  /** Date of the test. */
  on: string
}

const packages = 'systemd netplan.io network-manager selinux-policy-default containerd'

export async function describe(machine: Shell, image: string): Promise<BootedGuest> {
  const lines = await machine.exec(`. /etc/os-release; echo "$PRETTY_NAME"; uname -m; uname -r
    dpkg-query --show --showformat '\${db:Status-Abbrev}\${Package} \${Version}\\n' ${packages} 2>/dev/null | sed -n 's/^ii //p'`)
  const [system = '', processor = '', kernel = '', ...installed] = lines.trim().split('\n')
  return { image, system, processor, kernel, packages: installed, on: new Date().toISOString().slice(0, 10) }
}

/** Read by scripts/guests-page.ts. */
export function storeBooted(guest: BootedGuest): void {
  const directory = join(import.meta.dirname, '../../../dist')
  mkdirSync(directory, { recursive: true })
  appendFileSync(join(directory, 'guests.jsonl'), `${JSON.stringify(guest)}\n`)
}
