/** Settings tables in guides have the names and defaults of the generated pages. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { chartValues, type Group, type Leaf } from '../../scripts/chart-values.ts'
import { componentSettings, helmPath } from '../../scripts/component-settings.ts'
import { parseSettings } from '../../src/agent/config.ts'
import { agentSettings } from '../../src/contract/agent-settings.ts'
import type { Setting } from '../../src/contract/setting.ts'
import { controllerConfig } from '../../src/controller/config.ts'
import { inventorySettingsFrom } from '../../src/inventory/config.ts'
import { processSettingsFrom, resolveSettings } from '../../src/operator/config.ts'
import { violaSettingsFrom } from '../../src/viola/config.ts'
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

const literalsIn = (documented: Defaults) =>
  Object.fromEntries(
    [...documented].flatMap(([name, cell]) => {
      const literal = literalIn(cell)
      return literal ? [[name, literal.slice(1, -1)]] : []
    }),
  )

/** Kubernetes sets these. */
const isKubernetes = (name: string) => name.startsWith('KUBERNETES_')
const viola = settingsIn('docs/reference/viola-settings.md')
const controller = settingsIn('docs/reference/controller-settings.md')
const isAgentSetting = (name: string) => name in agentSettings
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
    const literals = literalsIn(documented)
    assert.ok(Object.keys(literals).length > 9)
    assert.deepEqual(parseSettings(literals), parseSettings({}))
  })
}

const readers: Record<keyof typeof componentSettings, (env: Record<string, string>) => unknown> = {
  operator: processSettingsFrom,
  viola: violaSettingsFrom,
  inventory: inventorySettingsFrom,
  controller: env => ({ ...controllerConfig(env), agent: { ...controllerConfig(env).agent, environment: {} } }),
}

for (const [component, read] of Object.entries(readers))
  for (const ending of ['md', 'ko.md'])
    test(`the defaults in ${component}-settings.${ending} are what the ${component} does without settings`, () => {
      const documented = literalsIn(settingsIn(`docs/reference/${component}-settings.${ending}`))
      assert.ok(Object.keys(documented).length > 4)
      assert.deepEqual(read(documented), read({}))
    })

test('the defaults of the sync settings are those of a sync', () => {
  const required = { CONTRABASS_ENDPOINT: 'https://contrabass', VIOLA_ENDPOINT: 'https://viola' }
  const { origins: _, ...settings } = resolveSettings({
    ...literalsIn(settingsIn('docs/reference/settings.md')),
    ...required,
  })
  const { origins: __, ...defaults } = resolveSettings(required)
  assert.deepEqual(settings, defaults)
})

test('the defaults of the agent are those of its table', () => {
  const documented = Object.fromEntries(Object.entries(literalsIn(controller)).filter(([name]) => isAgentSetting(name)))
  assert.equal(Object.keys(documented).length, Object.keys(agentSettings).length - 1, 'NETWORK_PROBE_PEERS has none')
  assert.deepEqual(parseSettings(documented), parseSettings({}))
})

for (const [component, table] of Object.entries(componentSettings))
  test(`every setting of the ${component} has a value of the chart, or none on purpose, and a Korean text`, () => {
    for (const [name, setting] of Object.entries<Setting>(table)) {
      assert.match(setting.about.ko, /[가-힣]/, name)
      const path = helmPath(component as keyof typeof componentSettings, name, setting)
      if (path !== null) assert.ok(isChartValue(path), `${name}: ${path}`)
    }
  })

function isChartValue(path: string): boolean {
  let at: Group | Leaf | undefined = chartValues
  for (const [index, part] of path.split('.').entries()) {
    if (at === undefined) return false
    if (!('of' in at)) return index === 2 && Object.hasOwn(at.schema['properties'] ?? {}, part)
    at = at.of[part]
  }
  return at !== undefined
}

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
