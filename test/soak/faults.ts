/**
 * Faults of a soak: first every replica is killed once, then short faults follow in turn. They leave a time window in which
 * components may log warnings about them.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { sandboxNamespace as namespace } from '../../sandbox/lifecycle/components.ts'
import { leases } from '../../src/kube/resources.ts'
import { type Electing, type ReplicaName, replicasOf } from './names.ts'
import type { SoakSetup } from './setup.ts'
import type { FaultWindow } from './verdict.ts'

/** A leader or standby is a replica when its turn comes. The standby is first: otherwise the second kill would hit the same replica. */
export const kills = [
  'standby of the operator',
  'standby of the controller',
  'viola-0',
  'inventory-0',
  'leader of the operator',
  'leader of the controller',
  'viola-1',
  'inventory-1',
] as const
export type Kill = (typeof kills)[number]

export const nameOfKill = (kill: Kill): string => `${kill} is killed`

export const shortFaults = [
  'PostgreSQL is killed',
  'neutron answers 500',
  'tokens are revoked',
  'the Biz API closes all connections',
] as const
export type ShortFault = (typeof shortFaults)[number]

const failingMs = 5_000

export interface Faults {
  readonly faultWindows: readonly FaultWindow[]
  /** What ran, in order. */
  readonly names: readonly string[]
  /** Kills the next replica. Returns its name, or undefined after the last. */
  kill(): Promise<string | undefined>
  /** Runs the next short fault to its end. Without `repeats`, returns undefined after each ran once. */
  fail(options: { repeats: boolean }): Promise<string | undefined>
}

export function createFaults(setup: SoakSetup, recoveryMs: number): Faults {
  const faultWindows: FaultWindow[] = []
  const names: string[] = []
  let [killed, failed] = [0, 0]

  async function run(name: string, work: () => Promise<unknown>): Promise<string> {
    const faultWindow = { from: Date.now(), to: Number.POSITIVE_INFINITY }
    faultWindows.push(faultWindow)
    names.push(name)
    await work()
    faultWindow.to = Date.now() + recoveryMs
    return name
  }

  async function runShort(name: ShortFault): Promise<void> {
    const { faults } = setup.cloudState
    switch (name) {
      case 'PostgreSQL is killed':
        return setup.database.killAndRestart()
      case 'neutron answers 500':
        faults.failing = ['neutron']
        await sleep(failingMs)
        faults.failing = []
        return
      case 'tokens are revoked':
        return setup.cloud.revokeTokens()
      case 'the Biz API closes all connections':
        return setup.biz.api.closeConnections()
    }
  }

  return {
    faultWindows,
    names,
    async kill() {
      const name = kills[killed++]
      if (name === undefined) return undefined
      const replica = await replicaFor(setup, name)
      return run(nameOfKill(name), () => setup.replicas[replica].killAndRestart())
    },
    async fail({ repeats }) {
      if (!repeats && failed >= shortFaults.length) return undefined
      const name = shortFaults[failed++ % shortFaults.length] ?? shortFaults[0]
      return run(name, () => runShort(name))
    },
  }
}

/** The replica to kill. */
async function replicaFor(setup: SoakSetup, kill: Kill): Promise<ReplicaName> {
  const [, role, component] = /^(leader|standby) of the (operator|controller)$/.exec(kill) ?? []
  if (!role) return kill as ReplicaName
  const { kube } = component === 'operator' ? setup.management : setup.biz
  const lease = await kube.get(leases, { namespace, name: `multinic-${component}` })
  const [first, second] = replicasOf(component as Electing) as [ReplicaName, ReplicaName]
  const leader = lease?.spec?.holderIdentity?.startsWith(first) ? first : second
  return (role === 'leader') === (leader === first) ? first : second
}
