/**
 * `make judge`: shows that this tree behaves like the commit SINCE. Exits 1 if there is a difference that accepted.ts does not
 * accept. SINCE=commit, SEEDS=count or list, OPERATIONS=, ONLY=operator or agent, JOBS=.
 */
import { join } from 'node:path'
import { environment } from '../../src/runtime/env.ts'
import { accepted } from './accepted.ts'
import { judge, type Part, treeOf } from './judge.ts'

const { SINCE = 'HEAD~1', SEEDS = '24', OPERATIONS = '300', ONLY, JOBS } = environment()
const root = join(import.meta.dirname, '../..')
const parts: readonly Part[] = ['operator', 'agent']
const seeds = SEEDS.includes(',')
  ? SEEDS.split(',').map(Number)
  : Array.from({ length: Number(SEEDS) }, (_, n) => n + 1)
const operations = Number(OPERATIONS)
const print = (text: string) => void process.stdout.write(`${text}\n`)

await using former = await treeOf(SINCE, root)
print(`this tree compared with ${SINCE}`)
const found = await judge({
  ...{ was: former.dir, is: root, seeds, operations, accepted, print },
  parts: parts.filter(part => !ONLY || part === ONLY),
  ...(JOBS && { jobs: Number(JOBS) }),
})
const used = new Set(found.flatMap(difference => difference.accepted ?? []))
for (const one of accepted) if (!used.has(one)) print(`accepted but not found: ${one.because}`)
print(
  `${seeds.length} seeds × ${operations} operations, ${found.length} differences (${found.filter(one => one.accepted).length} accepted)`,
)
process.exitCode = found.every(one => one.accepted) ? 0 : 1
