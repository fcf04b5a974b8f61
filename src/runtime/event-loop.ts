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

/** Runs steps to their result. */
export async function inTurns<T>(steps: Steps<T>): Promise<T> {
  for (;;) {
    const step = steps.next()
    if (step.done) return step.value
    // To await nothing costs more than most steps.
    const turn = giveWay()
    if (turn) await turn
  }
}

/** Work that may pause at each `yield`: a pure function that takes long is written as one. */
export type Steps<T> = Generator<void, T>

/** `flatMap` with a step after each item. */
export function* flatMapSteps<A, B>(items: Iterable<A>, map: (item: A) => readonly B[]): Steps<B[]> {
  const all: B[] = []
  for (const item of items) {
    for (const one of map(item)) all.push(one)
    yield
  }
  return all
}
