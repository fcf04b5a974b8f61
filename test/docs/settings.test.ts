/** Tables of settings that stand in guides say what the generated pages say: the same names, the same defaults. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { parseSettings } from '../../src/agent/config.ts'
import { root } from './blocks.ts'

type Defaults = Map<string, string>

/** Rows whose first cell names variables; the default is in the cell before the last. */
function settingsIn(page: string): Defaults {
  const text = readFileSync(join(root, page), 'utf8')
  const rows = [...text.matchAll(/^\| (`[A-Z].*) \|$/gm)].map(([, row = '']) => row.split(' | '))
  return new Map(
    rows.flatMap(cells =>
      [...(cells[0] ?? '').matchAll(/`([A-Z][A-Z0-9_]+)`/g)].map(
        ([, name = '']) => [name, cells.at(-2) ?? ''] as const,
      ),
    ),
  )
}

/** A value is between backticks, everything else is said in words of the language. */
const literalIn = (cell: string | undefined) => /^`.*`$/.exec(cell ?? '')?.[0]

/** What nobody sets. */
const ofKubernetes = (name: string) => name.startsWith('KUBERNETES_')
const viola = settingsIn('docs/reference/viola-settings.md')
const controller = settingsIn('docs/reference/controller-settings.md')
const ofAgent = (name: string) => /^(NETWORK_|NIC_WAIT$|PREFLIGHT_)/.test(name)
const sorted = (names: Iterable<string>) => [...names].sort()

for (const ending of ['md', 'ko.md']) {
  test(`docs/guides/viola.${ending} has every setting with its default, and no other`, () => {
    const told = settingsIn(`docs/guides/viola.${ending}`)
    assert.ok(told.size > 15)
    assert.deepEqual(sorted(told.keys()), sorted([...viola.keys()].filter(name => !ofKubernetes(name))))
    for (const [name, cell] of told) assert.equal(literalIn(cell), literalIn(viola.get(name)), name)
  })

  test(`docs/guides/agent.${ending} has every setting with its default, and no other`, () => {
    const told = settingsIn(`docs/guides/agent.${ending}`)
    // The backend is told by a label of the Node, not by a setting of the controller.
    assert.deepEqual(sorted(told.keys()), sorted([...[...controller.keys()].filter(ofAgent), 'MULTINIC_BACKEND']))
    const literals = [...told].flatMap(([name, cell]) => {
      const literal = literalIn(cell)
      return literal ? [[name, literal.slice(1, -1)] as const] : []
    })
    assert.ok(literals.length > 10)
    assert.deepEqual(parseSettings(Object.fromEntries(literals)), parseSettings({}))
  })
}
