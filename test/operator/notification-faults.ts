/**
 * What may become of notifications between the cloud and the broker: lost, doubled, held back, in another order.
 */
import type { Notification } from '../../sandbox/cloud/notifications.ts'

export interface Meddling {
  intercept: (notification: Notification, send: (notification: Notification) => void) => void
  /** After the end is reached: lets out what was held back. */
  release?: () => void
  /** While it is waited for. */
  during?: () => void
}

/** The same ones every time. */
function losing(share: number): Meddling {
  let count = 0
  return {
    intercept(notification, send) {
      if (((count++ * 37) % 100) / 100 >= share) send(notification)
    },
  }
}

type Held = [notification: Notification, send: (notification: Notification) => void][]

function holding(order: (held: Held) => Held): Meddling & { release: () => void } {
  const held: Held = []
  return {
    intercept: (notification, send) => void held.push([notification, send]),
    release: () => {
      for (const [notification, send] of order(held.splice(0))) send(notification)
    },
  }
}

/** By what it is called; each has a memory of its own. */
export const meddlings: Record<string, () => Meddling> = {
  'none is lost': () => losing(0),
  '1 % is lost': () => losing(0.01),
  '50 % are lost': () => losing(0.5),
  'all are lost': () => losing(1),
  'each comes twice': () => ({
    intercept(notification, send) {
      send(notification)
      send(notification)
    },
  }),
  'they come in the wrong order': () => {
    const held = holding(all => all.toReversed())
    return { ...held, during: held.release }
  },
  'they come when all is over': () => holding(all => all),
}
