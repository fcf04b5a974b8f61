/**
 * Long work on the main thread in turns of the event loop: requests, such as those to /healthz, are answered between them.
 *
 * Work that is due at the same time gets one turn after the other, so many syncs do not add up to one long stretch.
 */

/** A request may wait for several turns, and garbage collection adds to each. */
const maxTurnMs = 10

let lastTurn: Promise<void> = Promise.resolve()
let turnedAt = 0

/** Resolves in a turn of its own. */
export function nextTurn(): Promise<void> {
  lastTurn = lastTurn.then(
    () =>
      new Promise(resolve =>
        setImmediate(() => {
          turnedAt = performance.now()
          resolve()
        }),
      ),
  )
  return lastTurn
}

/** Await it between pieces of long work. Resolves at once while the turn is short. */
export function giveWay(): Promise<void> | undefined {
  return performance.now() - turnedAt < maxTurnMs ? undefined : nextTurn()
}
