/**
 * Faults of the message bus: lost, duplicated and reordered notifications, and a broker that is down.
 */
import type { MessageBus } from '../cloud/message-bus.ts'
import type { CloudState, NotificationFault } from '../cloud/state.ts'
import type { FaultInjector } from './active-faults.ts'
import type { BusFaultName } from './catalogue.ts'

export function busInjectors(cloudState: CloudState, bus: MessageBus | undefined): Record<BusFaultName, FaultInjector> {
  const { faults } = cloudState
  const notifications =
    (fault: NotificationFault): FaultInjector =>
    async () => {
      if (!bus) throw new Error('this sandbox has no message bus; start it with --rabbitmq local or --rabbitmq URL')
      faults.notifications = [...faults.notifications, fault]
      return async () => {
        faults.notifications = faults.notifications.filter(each => each !== fault)
      }
    }
  const ownBroker = () => {
    if (!bus?.broker) throw new Error('this sandbox does not run its own broker; start it with --rabbitmq local')
    return bus.broker
  }
  return {
    'lost-notifications': notifications('lost'),
    'duplicated-notifications': notifications('duplicated'),
    'reordered-notifications': notifications('reordered'),
    'lost-broker': async () => {
      const broker = ownBroker()
      await broker.kill()
      return () => broker.start()
    },
    'restarted-broker': async () => {
      const broker = ownBroker()
      await broker.kill()
      await broker.start()
      return async () => {}
    },
  }
}
