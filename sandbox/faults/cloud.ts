/**
 * The faults of the cloud: each is a value in the world's own record of faults, or an act of Keystone.
 */

import type { Cloud } from '../cloud/cloud.ts'
import { manners } from '../cloud/response-faults.ts'
import { type Faults, noFaults, services, type World } from '../cloud/state.ts'
import type { Switch } from './active-faults.ts'
import type { AnswerFault, CloudFault } from './catalogue.ts'

const nothing = async () => {}

export function cloudSwitches(world: World, cloud: Cloud): Record<AnswerFault | CloudFault, Switch> {
  const value =
    <K extends keyof Faults>(key: K, wrong: Faults[K], also: () => void = () => {}): Switch =>
    async () => {
      world.faults[key] = wrong
      also()
      return async () => {
        world.faults[key] = noFaults[key]
      }
    }
  const answers = services.flatMap(service =>
    manners.map((manner): [string, Switch] => [
      `${manner}-${service}`,
      async () => {
        world.faults[manner] = [...world.faults[manner], service]
        return async () => {
          world.faults[manner] = world.faults[manner].filter(each => each !== service)
        }
      },
    ]),
  )
  return {
    ...(Object.fromEntries(answers) as Record<AnswerFault, Switch>),
    'revoked-tokens': async () => {
      cloud.revokeTokens()
      return nothing
    },
    'short-tokens': value('tokenSeconds', 2, () => cloud.revokeTokens()),
    'lost-role': value('roleLost', true),
    'small-pages': value('pageLimit', 2),
    'wrong-clock': value('clockAheadSeconds', 3600),
  }
}
