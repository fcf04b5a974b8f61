/**
 * Short faults of a soak, one after the other, and the times in which parts may complain of them.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { SoakStage } from './setup.ts'
import type { Shadow } from './verdict.ts'

export const faultNames = [
  'Viola is killed',
  'neutron answers 500',
  'tokens are revoked',
  'the Biz API breaks all connections',
] as const
export type FaultName = (typeof faultNames)[number]

const failingMs = 5_000

export interface Faults {
  readonly shadows: readonly Shadow[]
  /** The next of them, from its beginning to its end. Without a kill when parts are to grow old. */
  next(options: { kills: boolean }): Promise<FaultName>
}

export function createFaults(stage: SoakStage, echoMs: number): Faults {
  const shadows: Shadow[] = []
  let count = 0

  async function play(name: FaultName): Promise<void> {
    const { faults } = stage.world
    switch (name) {
      case 'neutron answers 500':
        faults.failing = ['neutron']
        await sleep(failingMs)
        faults.failing = []
        return
      case 'tokens are revoked':
        return stage.cloud.revokeTokens()
      case 'Viola is killed':
        return stage.parts.viola.killAndRestart()
      case 'the Biz API breaks all connections':
        return stage.biz.api.closeConnections()
    }
  }

  return {
    shadows,
    async next({ kills }) {
      const known = faultNames.filter(each => kills || each !== 'Viola is killed')
      const name = known[count++ % known.length] ?? known[0] ?? faultNames[0]
      const shadow = { from: Date.now(), to: Number.POSITIVE_INFINITY }
      shadows.push(shadow)
      await play(name)
      shadow.to = Date.now() + echoMs
      return name
    },
  }
}
