/** Rooms of the operator and the agent: which room imports which, and how many files one holds. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { importsOf, isTest, type Source, sources } from './sources.ts'

interface House {
  /** Each room imports only rooms before it. */
  rooms: readonly string[]
  /** Files of the ground floor that every room may import. */
  shared: readonly string[]
  /** Files of the ground floor of which every room may import types. */
  sharedTypes: readonly string[]
}

const houses: Readonly<Record<string, House>> = {
  operator: {
    rooms: ['plan', 'limits', 'clouds', 'viola', 'events', 'observe', 'deliver', 'record', 'status', 'sync'],
    shared: ['cloud.ts', 'config.ts', 'sync-error.ts', 'viola-error.ts'],
    sharedTypes: [],
  },
  agent: {
    rooms: ['state', 'host', 'backends', 'daemons', 'observe', 'plan', 'apply', 'verify'],
    shared: [],
    sharedTypes: ['config.ts', 'context.ts', 'input.ts', 'paths.ts'],
  },
}

const maxFiles = 15

const productOf = (component: string) => sources(`src/${component}/**/*.ts`).filter(({ path }) => !isTest(path))
const roomOf = (path: string) => /^src\/[^/]+\/([^/]+)\//.exec(path)?.[1]

/** Imports that lead to a room above, and rooms without a place in the order. */
function wrongArrows(component: string, { rooms, shared, sharedTypes }: House, files: readonly Source[]): string[] {
  const inside = `src/${component}/`
  return files.flatMap(({ path, imports }) => {
    const room = roomOf(path)
    if (room === undefined) return []
    if (!rooms.includes(room)) return [`${path}: no rule names its room`]
    return imports
      .filter(({ of, types }) => {
        if (!of.startsWith(inside)) return false
        const target = roomOf(of)
        if (target !== undefined) return rooms.indexOf(target) > rooms.indexOf(room)
        const file = of.slice(inside.length)
        return !shared.includes(file) && !(types && sharedTypes.includes(file))
      })
      .map(({ of }) => `${path} imports ${of}`)
  })
}

for (const [component, house] of Object.entries(houses)) {
  test(`${component}: a room imports only the rooms below it`, () => {
    assert.deepEqual(wrongArrows(component, house, productOf(component)), [])
  })

  test(`${component}: a floor has at most ${maxFiles} files`, () => {
    const floors = Map.groupBy(productOf(component), ({ path }) => path.slice(0, path.lastIndexOf('/')))
    const full = [...floors].filter(([, files]) => files.length > maxFiles)
    assert.deepEqual(
      full.map(([floor, files]) => `${floor}: ${files.length} files`),
      [],
    )
  })
}

test('the check finds a planted arrow upward, and a room without a rule', () => {
  const planted = Object.entries({
    'src/agent/state/change.ts': "import { planRun } from '../plan/plan.ts'\nimport type { Paths } from '../paths.ts'",
    'src/agent/host/host.ts': "import { hostPaths } from '../paths.ts'",
    'src/agent/attic/old.ts': '',
  }).map(([path, text]) => ({ path, text, imports: importsOf(path, text) }))
  assert.deepEqual(wrongArrows('agent', houses['agent'] ?? assert.fail('no rule'), planted), [
    'src/agent/state/change.ts imports src/agent/plan/plan.ts',
    'src/agent/host/host.ts imports src/agent/paths.ts',
    'src/agent/attic/old.ts: no rule names its room',
  ])
})
