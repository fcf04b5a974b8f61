/**
 * Attacks that were made on the components, what the first attempt did, and the test that repeats each of them.
 * `make generate` makes docs/reference/attacks.md of it.
 */

import { apiAttacks } from './apis.ts'
import { cloudAttacks } from './cloud.ts'
import { clusterAttacks } from './cluster.ts'
import type { AttackSection } from './section.ts'

export const attackSections: readonly AttackSection[] = [...cloudAttacks, ...clusterAttacks, ...apiAttacks]
