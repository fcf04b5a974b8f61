/**
 * Every migration by name, in order. Forward only: there is no way back but a backup.
 */
import type { Migration } from 'kysely/migration'
import * as firstTables from './0001-first-tables.ts'
import * as timesOfNodes from './0002-times-of-nodes.ts'

export const migrations: Record<string, Migration> = {
  '0001-first-tables': firstTables,
  '0002-times-of-nodes': timesOfNodes,
}
