/**
 * Every migration by name, in order.
 *
 * A migration only adds: tables, indexes, and columns that may be null. The version before it runs on the same tables during a
 * rolling upgrade and after a return (docs/decisions/0096-versions-side-by-side.md).
 */
import type { Migration } from 'kysely/migration'
import * as initial from './0001-initial.ts'

export const migrations: Record<string, Migration> = {
  '0001-initial': initial,
}
