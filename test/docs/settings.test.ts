/** Settings tables in guides have the names and defaults of the generated pages. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { parseSettings } from '../../src/agent/config.ts'
import { agentDefaults } from '../../src/contract/agent-settings.ts'
import { root } from './blocks.ts'

type Defaults = Map<string, string>

/** Rows that begin with variables; the last cell but one is the default. */
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

/** A value in backticks; other defaults are described in the language of the page. */
const literalIn = (cell: string | undefined) => /^`.*`$/.exec(cell ?? '')?.[0]

/** Kubernetes sets these. */
const isKubernetes = (name: string) => name.startsWith('KUBERNETES_')
const viola = settingsIn('docs/reference/viola-settings.md')
const controller = settingsIn('docs/reference/controller-settings.md')
/** NETWORK_NOPREFIXROUTE has no effect, and does not reach the agent. */
const isAgentSetting = (name: string) =>
  /^(NETWORK_|NIC_WAIT$|PREFLIGHT_)/.test(name) && name !== 'NETWORK_NOPREFIXROUTE'
const sorted = (names: Iterable<string>) => [...names].sort()

for (const ending of ['md', 'ko.md']) {
  test(`docs/guides/viola.${ending} lists every setting with its default`, () => {
    const documented = settingsIn(`docs/guides/viola.${ending}`)
    assert.ok(documented.size > 15)
    assert.deepEqual(sorted(documented.keys()), sorted([...viola.keys()].filter(name => !isKubernetes(name))))
    for (const [name, cell] of documented) assert.equal(literalIn(cell), literalIn(viola.get(name)), name)
  })

  test(`docs/guides/agent.${ending} lists every setting with its default`, () => {
    const documented = settingsIn(`docs/guides/agent.${ending}`)
    assert.deepEqual(sorted(documented.keys()), sorted([...controller.keys()].filter(isAgentSetting)))
    const literals = [...documented].flatMap(([name, cell]) => {
      const literal = literalIn(cell)
      return literal ? [[name, literal.slice(1, -1)] as const] : []
    })
    assert.ok(literals.length > 10)
    assert.deepEqual(parseSettings(Object.fromEntries(literals)), parseSettings({}))
  })
}

test('the defaults of the agent in the reference of the controller are those of the agent', () => {
  const literals = [...controller].flatMap(([name, cell]) => {
    const literal = isAgentSetting(name) ? literalIn(cell) : undefined
    return literal ? [[name, literal.slice(1, -1)] as const] : []
  })
  // NETWORK_PROBE_PEERS has none.
  assert.equal(literals.length, [...controller.keys()].filter(isAgentSetting).length - 1)
  assert.deepEqual(parseSettings(Object.fromEntries(literals)), parseSettings({}))
})

for (const component of ['controller', 'inventory', 'operator', 'viola'])
  for (const ending of ['md', 'ko.md'])
    test(`the meaning of a setting in ${component}-settings.${ending} names no default: the default is in its column`, () => {
      const text = readFileSync(join(root, `docs/reference/${component}-settings.${ending}`), 'utf8')
      const rows = text.split('\n').filter(line => line.startsWith('| `'))
      assert.ok(rows.length > 10)
      assert.deepEqual(
        rows.filter(row => /\bdefaults? ?(:|to )/i.test(row)),
        [],
      )
    })

test('the defaults of the agent are those of its table', () => {
  assert.deepEqual(parseSettings(agentDefaults), parseSettings({}))
  assert.deepEqual(sorted(Object.keys(agentDefaults)), sorted([...controller.keys()].filter(isAgentSetting)))
})
