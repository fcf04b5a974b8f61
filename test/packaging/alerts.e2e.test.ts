/** The alerts of the chart, read by the real promtool: they are rules, they fire when they should, and their links lead somewhere. */
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
const tried = parse(await readFile(cases, 'utf8')) as Cases

before(async () => {
  dir = await mkdtemp(join(tmpdir(), 'multinic-alerts-'))
  promtool = await openPromtool()
  await copyFile(alertsFile, join(dir, 'rules.yaml'))
})
after(() => rm(dir, { recursive: true, force: true }))

async function play(content: Cases): Promise<{ code: number; said: string }> {
  const file = join(dir, 'cases.yaml')
  await writeFile(file, stringify({ ...content, rule_files: ['rules.yaml'] }))
  const { code, stdout, stderr } = await promtool('test', 'rules', file)
  return { code, said: stdout + stderr }
}

test('Prometheus takes the rules', async () => {
  const { code, stdout, stderr } = await promtool('check', 'rules', join(dir, 'rules.yaml'))
  assert.equal(code, 0, stdout + stderr)
  assert.match(stdout, new RegExp(`${rules.length} rules found`))
})

test('each alert fires when it should, in these words, and not before', async () => {
  const { code, said } = await play(tried)
  assert.equal(code, 0, said)
})

test('every alert is tried both ways', () => {
  const all = tried.tests.flatMap(({ alert_rule_test }) => alert_rule_test)
  for (const { alert } of rules) {
    const own = all.filter(({ alertname }) => alertname === alert)
    assert.ok(
      own.some(({ exp_alerts }) => exp_alerts?.length),
      `${alert} is never seen firing`,
    )
    assert.ok(
      own.some(({ exp_alerts }) => !exp_alerts?.length),
      `${alert} is never seen silent`,
    )
  }
})

test('an alert that is silent when it should fire would be found', async () => {
  const [first] = tried.tests
  assert.ok(first)
  const wrong = first.alert_rule_test.map(one => ({ ...one, alertname: 'MultiNicRolloutStopped' }))
  assert.notEqual((await play({ tests: [{ ...first, alert_rule_test: wrong }] })).code, 0)
})

for (const page of ['docs/guides/troubleshooting.md', 'docs/guides/troubleshooting.ko.md'])
  test(`every alert leads to a chapter of ${page}`, async () => {
    const chapters = [...(await readFile(join(root, page), 'utf8')).matchAll(/^## (.*)$/gm)].map(([, title = '']) =>
      title.toLowerCase().replaceAll(' ', '-'),
    )
    for (const { annotations } of rules)
      assert.ok(chapters.includes(annotations.runbook_url.split('#')[1] ?? ''), annotations.runbook_url)
  })
