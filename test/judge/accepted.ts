/**
 * Differences that the judge accepts between the commit that it compares with and this tree, each with its reason. Empty it
 * when that commit is no longer compared with.
 */
import type { Accepted } from './compare.ts'

export const accepted: readonly Accepted[] = []
