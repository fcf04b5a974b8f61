/**
 * Wakes keys of the controller that runs while this replica is the leader. A wake before that is dropped: the controller
 * starts with all objects.
 */
import type { Controller } from '../../kube/controller.ts'

export interface Waker {
  /** The object needs a full sync. */
  wake: Controller['wake']
  /** The status of its nodes changed, or it waited for a worker: a full sync only if another wake asked for one. */
  wakeForStatus(key: string): void
  /** What the object was woken for since the last call. */
  takeWakes(key: string): { forSync: boolean; forStatus: boolean }
  attach(controller: Controller): void
}

export function createWaker(): Waker {
  let current: Controller | undefined
  const forSync = new Set<string>()
  const forStatus = new Set<string>()
  return {
    wake(key, priority) {
      if (!current) return
      forSync.add(key)
      current.wake(key, priority)
    },
    wakeForStatus(key) {
      if (!current) return
      forStatus.add(key)
      current.wake(key)
    },
    takeWakes: key => ({ forSync: forSync.delete(key), forStatus: forStatus.delete(key) }),
    attach(controller) {
      forSync.clear()
      forStatus.clear()
      current = controller
    },
  }
}
