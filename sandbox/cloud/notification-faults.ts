/**
 * What becomes of notifications between the cloud and its bus while a fault says so: lost, sent twice, in another order.
 */

import type { Notification, NotificationsOptions } from './notifications.ts'
import type { NoticeFault } from './state.ts'

/** How long notifications are held back before they go, the last one first. */
const heldMs = 300

export function meddling(faults: () => NoticeFault[]): NonNullable<NotificationsOptions['meddle']> {
  const held: Notification[] = []
  return (notification, send) => {
    const now = faults()
    if (now.includes('lost')) return
    const copies = now.includes('duplicated') ? [notification, notification] : [notification]
    if (!now.includes('reordered')) {
      for (const copy of copies) send(copy)
      return
    }
    if (held.length === 0)
      setTimeout(() => {
        for (const each of held.splice(0).reverse()) send(each)
      }, heldMs)
    held.push(...copies)
  }
}
