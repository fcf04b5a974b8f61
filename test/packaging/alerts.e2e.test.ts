/** The alerts of the chart with the real promtool: valid rules, firing at the right time, with runbook links that exist. */
import assert from 'node:assert/strict'
import { copyFile, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { parse, stringify } from 'yaml'
import { openPromtool, type Promtool } from '../rigs/prometheus/rig.ts'

const root = join(import.meta.dirname, '../..')
const alertsFile = join(root, 'deployments/helm/files/alerts.yaml')
const cases = join(import.meta.dirname, 'alerts.yaml')

interface Alerts {
  groups: { rules: { alert: string; annotations: { runbook_url: string } }[] }[]
}
interface Cases {
  rule_files?: string[]
  tests: { alert_rule_test: { alertname: string; exp_alerts?: unknown[] }[] }[]
}

let dir: string
let promtool: Promtool
const alerts = parse(await readFile(alertsFile, 'utf8')) as Alerts
const rules = alerts.groups.flatMap(group => group.rules)
const ruleTests = parse(await readFile(cases, 'utf8')) as Cases

before(async () => {
  dir = await mkdtemp(join(tmpdir(), 'multinic-alerts-'))
  promtool = await openPromtool()
  await copyFile(alertsFile, join(dir, 'rules.yaml'))
})
after(() => rm(dir, { recursive: true, force: true }))

async function runRuleTests(content: Cases): Promise<{ code: number; output: string }> {
  const file = join(dir, 'cases.yaml')
  await writeFile(file, stringify({ ...content, rule_files: ['rules.yaml'] }))
  const { code, stdout, stderr } = await promtool('test', 'rules', file)
  return { code, output: stdout + stderr }
}

test('Prometheus accepts the rules', async () => {
  const { code, stdout, stderr } = await promtool('check', 'rules', join(dir, 'rules.yaml'))
  assert.equal(code, 0, stdout + stderr)
  assert.match(stdout, new RegExp(`${rules.length} rules found`))
})

test('each alert fires at the right time, with the expected text', async () => {
  const { code, output } = await runRuleTests(ruleTests)
  assert.equal(code, 0, output)
})

test('every alert has a test that fires and one that does not', () => {
  const all = ruleTests.tests.flatMap(({ alert_rule_test }) => alert_rule_test)
  for (const { alert } of rules) {
    const own = all.filter(({ alertname }) => alertname === alert)
    assert.ok(
      own.some(({ exp_alerts }) => exp_alerts?.length),
      `no test in which ${alert} fires`,
    )
    assert.ok(
      own.some(({ exp_alerts }) => !exp_alerts?.length),
      `no test in which ${alert} does not fire`,
    )
  }
})

test('the check finds an alert that does not fire', async () => {
  const [first] = ruleTests.tests
  assert.ok(first)
  const wrong = first.alert_rule_test.map(expectation => ({ ...expectation, alertname: 'MultiNicRolloutStopped' }))
  assert.notEqual((await runRuleTests({ tests: [{ ...first, alert_rule_test: wrong }] })).code, 0)
})

for (const page of ['docs/guides/troubleshooting.md', 'docs/guides/troubleshooting.ko.md'])
  test(`every alert links to a section of ${page}`, async () => {
    const sections = [...(await readFile(join(root, page), 'utf8')).matchAll(/^## (.*)$/gm)].map(([, title = '']) =>
      title.toLowerCase().replaceAll(' ', '-'),
    )
    for (const { annotations } of rules)
      assert.ok(sections.includes(annotations.runbook_url.split('#')[1] ?? ''), annotations.runbook_url)
  })
