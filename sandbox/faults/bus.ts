/**
 * The faults of the message bus: what becomes of notifications, and a broker that goes away.
 */
import type { SandboxBus } from '../cloud/message-bus.ts'
import type { NoticeFault, World } from '../cloud/state.ts'
import type { Switch } from './active-faults.ts'
import type { BusFault } from './catalogue.ts'

const nothing = async () => {}

export function busSwitches(world: World, bus: SandboxBus | undefined): Record<BusFault, Switch> {
  const notices =
    (fault: NoticeFault): Switch =>
    async () => {
      if (!bus) throw new Error('this sandbox has no message bus: start it with --rabbitmq local, or with an address')
      world.faults.notices = [...world.faults.notices, fault]
      return async () => {
        world.faults.notices = world.faults.notices.filter(each => each !== fault)
      }
    }
  const broker = () => {
    if (!bus?.broker) throw new Error('this sandbox has no broker of its own: start it with --rabbitmq local')
    return bus.broker
  }
  return {
    'lost-notices': notices('lost'),
    'duplicated-notices': notices('duplicated'),
    'reordered-notices': notices('reordered'),
    'lost-broker': async () => {
      const own = broker()
      await own.kill()
      return () => own.start()
    },
    'restarted-broker': async () => {
      const own = broker()
      await own.kill()
      await own.start()
      return nothing
    },
  }
}
