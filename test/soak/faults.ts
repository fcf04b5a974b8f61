/**
 * Short faults of a soak, one after the other, and the periods in which components may log warnings about them.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { SoakSetup } from './setup.ts'
import type { FaultWindow } from './verdict.ts'

export const faultNames = [
  'Viola is killed',
  'neutron answers 500',
  'tokens are revoked',
  'the Biz API closes all connections',
] as const
export type FaultName = (typeof faultNames)[number]

const failingMs = 5_000

export interface Faults {
  readonly faultWindows: readonly FaultWindow[]
  /** Runs the next fault to its end. Without `kills` no component is killed, so that all grow old. */
  next(options: { kills: boolean }): Promise<FaultName>
}

export function createFaults(setup: SoakSetup, recoveryMs: number): Faults {
  const faultWindows: FaultWindow[] = []
  let count = 0

  async function run(name: FaultName): Promise<void> {
    const { faults } = setup.cloudState
    switch (name) {
      case 'neutron answers 500':
        faults.failing = ['neutron']
        await sleep(failingMs)
        faults.failing = []
        return
      case 'tokens are revoked':
        return setup.cloud.revokeTokens()
      case 'Viola is killed':
        return setup.components.viola.killAndRestart()
      case 'the Biz API closes all connections':
        return setup.biz.api.closeConnections()
    }
  }

  return {
    faultWindows,
    async next({ kills }) {
      const possible = faultNames.filter(name => kills || name !== 'Viola is killed')
      const name = possible[count++ % possible.length] ?? possible[0] ?? faultNames[0]
      const faultWindow = { from: Date.now(), to: Number.POSITIVE_INFINITY }
      faultWindows.push(faultWindow)
      await run(name)
      faultWindow.to = Date.now() + recoveryMs
      return name
    },
  }
}
