/**
 * Drops, duplicates or reorders notifications on their way to the bus while a fault is active.
 */
import type { Notification, NotificationsOptions } from './notifications.ts'
import type { NotificationFault } from './state.ts'

const reorderDelayMs = 300

export function applyNotificationFaults(
  activeFaults: () => NotificationFault[],
): NonNullable<NotificationsOptions['intercept']> {
  const delayed: Notification[] = []
  return (notification, send) => {
    const faults = activeFaults()
    if (faults.includes('lost')) return
    const copies = faults.includes('duplicated') ? [notification, notification] : [notification]
    if (!faults.includes('reordered')) {
      for (const copy of copies) send(copy)
      return
    }
    if (delayed.length === 0)
      setTimeout(() => {
        for (const each of delayed.splice(0).reverse()) send(each)
      }, reorderDelayMs)
    delayed.push(...copies)
  }
}
