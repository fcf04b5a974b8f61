/**
 * Faults of notifications between the cloud and the broker: lost, duplicated, delayed, reordered.
 */
import type { Notification } from '../../sandbox/cloud/notifications.ts'

export interface NotificationFault {
  intercept: (notification: Notification, send: (notification: Notification) => void) => void
  /** Sends the delayed notifications after the test has reached its end state. */
  release?: () => void
  /** Called repeatedly while the test waits. */
  during?: () => void
}

/** Loses the same notifications in every run. */
function lose(share: number): NotificationFault {
  let count = 0
  return {
    intercept(notification, send) {
      if (((count++ * 37) % 100) / 100 >= share) send(notification)
    },
  }
}

type Delayed = [notification: Notification, send: (notification: Notification) => void][]

function delay(order: (delayed: Delayed) => Delayed): NotificationFault & { release: () => void } {
  const delayed: Delayed = []
  return {
    intercept: (notification, send) => void delayed.push([notification, send]),
    release: () => {
      for (const [notification, send] of order(delayed.splice(0))) send(notification)
    },
  }
}

/** By test name. Each call returns a fault with its own state. */
export const notificationFaults: Record<string, () => NotificationFault> = {
  'none is lost': () => lose(0),
  '1 % are lost': () => lose(0.01),
  '50 % are lost': () => lose(0.5),
  'all are lost': () => lose(1),
  'each is duplicated': () => ({
    intercept(notification, send) {
      send(notification)
      send(notification)
    },
  }),
  'they arrive in reverse order': () => {
    const delayed = delay(all => all.toReversed())
    return { ...delayed, during: delayed.release }
  },
  'they arrive at the end': () => delay(all => all),
}
