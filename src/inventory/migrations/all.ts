/**
 * Every migration by name, in order.
 *
 * A migration only adds: tables, indexes, and columns that may be null. The version before it runs on the same tables during a
 * rolling upgrade and after a return (docs/decisions/0096-versions-side-by-side.md).
 */
import type { Migration } from 'kysely/migration'
import * as firstTables from './0001-first-tables.ts'
import * as timesOfNodes from './0002-times-of-nodes.ts'
import * as reasonNames from './0003-reason-names.ts'
import * as holdings from './0004-holdings.ts'
import * as names from './0005-names.ts'
import * as agentRollout from './0006-agent-rollout.ts'
import * as providerNames from './0007-provider-names.ts'
import * as verdicts from './0008-verdicts.ts'
import * as filters from './0009-filters.ts'
import * as plans from './0010-plans.ts'
import * as audit from './0011-audit.ts'

export const migrations: Record<string, Migration> = {
  '0001-first-tables': firstTables,
  '0002-times-of-nodes': timesOfNodes,
  '0003-reason-names': reasonNames,
  '0004-holdings': holdings,
  '0005-names': names,
  '0006-agent-rollout': agentRollout,
  '0007-provider-names': providerNames,
  '0008-verdicts': verdicts,
  '0009-filters': filters,
  '0010-plans': plans,
  '0011-audit': audit,
}
