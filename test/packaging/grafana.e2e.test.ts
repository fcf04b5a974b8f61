/** The Grafana dashboard of the chart: valid by the published schema, with queries that Prometheus parses. */
import assert from 'node:assert/strict'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { stringify } from 'yaml'
import { root } from '../repo/sources.ts'
import { openDashboardCheck } from '../rigs/grafana/rig.ts'
import { openPromtool } from '../rigs/prometheus/rig.ts'

interface Panel {
  id: number
  title: string
  gridPos: { x: number; y: number; w: number; h: number }
  targets: { refId: string; expr: string }[]
}
const dashboard: { panels: Panel[] } = JSON.parse(
  await readFile(join(root, 'deployments/helm/files/grafana.json'), 'utf8'),
)

test('the dashboard conforms to the published schema, and the check finds what does not', async () => {
  const check = await openDashboardCheck()
  assert.deepEqual(await check(dashboard), [])
  const [first] = dashboard.panels
  const broken: [problem: RegExp, dashboard: object][] = [
    [/"colour"' does not exist/, { ...dashboard, colour: 'red' }],
    [/'string' is not assignable to type 'number'/, { ...dashboard, schemaVersion: '39' }],
    [/"heigth"' does not exist/, { ...dashboard, panels: [{ ...first, gridPos: { ...first?.gridPos, heigth: 8 } }] }],
    [
      /"datasources"' is not assignable/,
      { ...dashboard, templating: { list: [{ name: 'source', type: 'datasources' }] } },
    ],
  ]
  for (const [problem, one] of broken) assert.match((await check(one)).join('\n'), problem)
})

test('Prometheus parses every query', async () => {
  const dir = await mkdtemp(join(tmpdir(), 'multinic-grafana-'))
  try {
    const promtool = await openPromtool()
    const check = async (queries: string[]) => {
      const rules = queries.map((expr, index) => ({ record: `query:${index}`, expr }))
      const file = join(dir, 'rules.yaml')
      await writeFile(file, stringify({ groups: [{ name: 'dashboard', rules }] }))
      return promtool('check', 'rules', file)
    }
    const queries = dashboard.panels.flatMap(({ targets }) => targets.map(({ expr }) => expr))
    const { code, stdout, stderr } = await check(queries)
    assert.equal(code, 0, stdout + stderr)
    assert.notEqual((await check(['sum by (job (up)'])).code, 0)
  } finally {
    await rm(dir, { recursive: true })
  }
})

test('panels have their own id and place, and queries of a panel their own letter', () => {
  const { panels } = dashboard
  assert.equal(new Set(panels.map(({ id }) => id)).size, panels.length)
  for (const { title, targets } of panels)
    assert.equal(new Set(targets.map(({ refId }) => refId)).size, targets.length, title)
  const cells = panels.flatMap(({ gridPos: { x, y, w, h } }) =>
    Array.from({ length: w * h }, (_, n) => `${x + (n % w)},${y + Math.floor(n / w)}`),
  )
  assert.equal(new Set(cells).size, cells.length, 'two panels overlap')
  assert.ok(panels.every(({ gridPos: { x, w } }) => x + w <= 24))
})
