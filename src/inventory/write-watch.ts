/**
 * Whether the database accepts writes. A database that is full or read-only still answers reads.
 *
 * After a failed write, a small write is tried until it succeeds: the state is current also while nobody else writes.
 */
import type { Log } from '../telemetry/log.ts'
import { DatabaseUnavailable, type Engine } from './database.ts'
import { takeIds } from './write.ts'

export interface WatchedEngine extends Engine {
  /** Why the last write failed; undefined since one succeeded. */
  writeProblem(): string | undefined
}

export function watchWrites(engine: Engine, log: Log, probeMs = 10_000): WatchedEngine {
  let isClosed = false
  let problem: string | undefined
  let probe: NodeJS.Timeout | undefined

  const transaction: Engine['transaction'] = async work => {
    try {
      return await engine.transaction(work)
    } catch (error) {
      if (error instanceof DatabaseUnavailable) fail(error)
      throw error
    }
  }

  function fail({ why }: DatabaseUnavailable): void {
    if (problem !== why) log.error('inventory database refuses writes', { error: why })
    problem = why
    tryLater()
  }

  function tryLater(): void {
    clearTimeout(probe)
    if (!isClosed) probe = setTimeout(tryWrite, probeMs).unref()
  }

  /** Another transaction proves nothing when it succeeds: one without a change writes nothing. */
  async function tryWrite(): Promise<void> {
    try {
      await transaction(async tx => {
        await engine.lockForWrite(tx)
        await takeIds(tx, 1)
      })
      problem = undefined
      log.info('inventory database accepts writes again')
    } catch (error) {
      // Also another error says that writes fail.
      if (!(error instanceof DatabaseUnavailable)) tryLater()
    }
  }

  return {
    ...engine,
    transaction,
    writeProblem: () => problem,
    async close() {
      isClosed = true
      clearTimeout(probe)
      await engine.close()
    },
  }
}
