/**
 * Wakes keys of the controller that runs while this replica is the leader. A wake before that is dropped: the controller
 * starts with all objects.
 */
import type { Controller } from '../kube/controller.ts'

export interface Waker {
  wake: Controller['wake']
  attach(controller: Controller): void
}

export function createWaker(): Waker {
  let current: Controller | undefined
  return {
    wake: (key, priority) => current?.wake(key, priority),
    attach(controller) {
      current = controller
    },
  }
}
