import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { reasonText } from '../../src/contract/reasons/catalogue.ts'
import { environment } from '../../src/runtime/env.ts'
import { accessibilityViolations, hiddenFocus } from '../rigs/browser/accessibility.ts'
import { type Chromium, scrolling, soon, startChromium, type Tab } from '../rigs/browser/rig.ts'
import { accessOf, adminCaller } from '../support/access.ts'
import { aFleet } from '../support/fleet.ts'
import { type FleetServer, startFleet } from '../support/fleet-server.ts'
import { startTargetCluster } from '../support/target-cluster.ts'

let fleet: FleetServer
let browser: Chromium
let tab: Tab

const screens = ['', 'matrix', 'nodes', 'nodes/worker-0017', 'topology', 'deviations', 'ports', 'history']

before(async () => {
  fleet = await startFleet(1_000)
  browser = await startChromium()
  tab = await browser.open(fleet.url)
})
after(async () => {
  await browser?.close()
  await fleet?.close()
})

test('the overview counts a thousand nodes and lists the worst first', async () => {
  const { page } = tab
  await soon(async () => {
    assert.match(await page.locator('.summary').innerText(), /Nodes\s*1,000[\s\S]*Failed\s*2\s*Drifted\s*1/)
    assert.match(
      await page.locator('.attention-list').innerText(),
      /worker-\d+ multinic\d · (VerifyFailed|CarriesDefaultRoute)/,
    )
  })
  await tab.picture('fleet-overview')
})

test('experience H6: a NIC that nobody has verified in time is marked on every screen', async () => {
  const { page } = tab
  await page.evaluate("location.hash = '#/'")
  await page.locator('.attention-list li', { hasText: '1 not verified in time' }).getByRole('link').click()
  await soon(async () => assert.match(await page.locator('.head .sub').innerText(), /^1 node /))
  const cell = page.getByRole('link', { name: /^worker-0077 multinic1: [\d./]+ Configured, Not verified in time$/ })
  await cell.hover()
  await page.getByRole('tooltip').getByText('not verified since').waitFor()
  await page.evaluate("location.hash = '#/nodes/worker-0077'")
  await page.locator('.node-picture .pic-warn', { hasText: 'not verified since' }).waitFor()
  await page.evaluate("location.hash = '#/deviations'")
  await page.locator('.deviation-table tr', { hasText: 'worker-0077' }).getByText('not verified since').waitFor()
})

test('experience H4: a NIC that waits shows its last observed state on every screen', async () => {
  const { page } = tab
  const waits = 'waiting: Paused · last observed: Configured'
  await page.evaluate("location.hash = '#/'")
  await page.locator('.waiting-list li', { hasText: 'worker-0055 multinic0' }).getByText(waits).waitFor()
  await page.evaluate("location.hash = '#/matrix?q=worker-0055'")
  await page.getByRole('link', { name: `worker-0055 multinic0: 10.20.0.55/18 Pending, ${waits}` }).waitFor()
  await page.evaluate("location.hash = '#/deviations'")
  await page.locator('.deviation-table tr', { hasText: 'worker-0055' }).getByText(waits).waitFor()
  await page.evaluate("location.hash = '#/topology?provider=biz-prod-a&node=biz-prod-a%20worker-0055'")
  await page.locator('.inspector li', { hasText: 'multinic0' }).getByText(waits).waitFor()
  await page.evaluate("location.hash = '#/nodes/worker-0055'")
  await page.locator('.pipeline-row', { hasText: 'multinic0' }).getByText('last observed: Configured').waitFor()
})

test('an impossible time of a stage is marked, and no total is shown', async () => {
  const { page } = tab
  await page.evaluate("location.hash = '#/nodes/worker-0088'")
  const row = page.locator('.pipeline-row', { hasText: 'multinic0' })
  await row.locator('.stage.clamped', { hasText: 'clock differs' }).waitFor()
  assert.match(await row.locator('.total').innerText(), /^–/)
})

test('the overview has a goal, a time range and a provider filter, and the topology starts with the worst nodes', async () => {
  const { page } = tab
  await page.evaluate("location.hash = '#/'")
  await page.locator('.chart-goal').waitFor({ state: 'attached' })
  await page.getByLabel('Provider', { exact: true }).selectOption('biz-lab')
  await soon(async () => {
    assert.match(await page.locator('.summary').innerText(), /Nodes\s*15\b/)
    assert.equal(await page.locator('.provider-table tbody tr').count(), 1)
    await page.getByText('All clear').waitFor()
  })
  await page.getByLabel('Time range').selectOption('hour')
  await page.getByText('Nothing in this time range').first().waitFor()
  await page.evaluate("location.hash = '#/topology?provider=biz-prod-a'")
  await soon(async () => {
    assert.match(await page.locator('.topology .node-name').first().innerHTML(), /worker-0042/)
    assert.match((await page.locator('.topology .nic-count').first().textContent()) ?? '', /^500$/)
  })
})

test('a deviation is shown with the reason and remedy of the API', async () => {
  const { page } = tab
  await page.evaluate("location.hash = '#/deviations'")
  const row = page.locator('.deviation-table tr', { hasText: 'NicMissing' })
  await row.waitFor()
  const deviations = (await (await fetch(`${fleet.url}/v1/inventory/deviations`)).json()) as {
    reason?: string
    remedy?: string
  }[]
  const remedy = deviations.find(({ reason }) => reason === 'NicMissing')?.remedy ?? assert.fail('no remedy')
  assert.ok((await row.innerText()).includes(remedy))
  await tab.picture('fleet-deviations')
  await row.getByRole('link').click()
  await page.locator('.advice', { hasText: remedy }).waitFor()
  await soon(async () =>
    assert.match(await page.locator('.pipeline .pipeline-row').first().innerText(), /Pending at Job[\s\S]*waiting/),
  )
  await tab.picture('fleet-node')
})

test('experience M6: in Korean, meaning and remedy come from the catalogue of reasons', async () => {
  const { meaning, remedy } = reasonText('NicMissing', 'ko') ?? assert.fail('unknown reason')
  const korean = await browser.open(`${fleet.url}/#/deviations`, { locale: 'ko-KR' })
  try {
    const row = korean.page.locator('.deviation-table tr', { hasText: remedy })
    await row.waitFor()
    assert.ok((await row.innerText()).includes(meaning))
    await row.getByRole('link').click()
    await korean.page.locator('.advice', { hasText: remedy }).waitFor()
    await korean.picture('fleet-node-ko')
    assert.deepEqual(korean.problems, [])
  } finally {
    await korean.close()
  }
})

test('an ignored port is shown with its reason, and the search finds it by its ID', async () => {
  const { page } = tab
  await page.evaluate("location.hash = '#/nodes/worker-0017'")
  const row = page.locator('.verdicts tr', { hasText: 'PortTooOld' })
  await row.waitFor()
  assert.match(await row.innerText(), /Set openstackPortBaseline to none or to an earlier time/)
  const id = (await row.locator('[title]').first().getAttribute('title')) ?? assert.fail('no port')
  await page.keyboard.press('Control+k')
  await page.keyboard.type(id.slice(0, 13))
  await page.getByRole('option', { name: 'PortTooOld' }).click()
  await page.getByRole('heading', { level: 1, name: 'Ports' }).waitFor()
  await soon(async () => assert.equal(await page.locator('.verdicts tbody tr').count(), 1))
  await page.evaluate("location.hash = '#/ports'")
  await soon(async () => assert.ok((await page.locator('.verdicts tbody tr').count()) > 10))
  await page.getByRole('button', { name: /^PortStatusNotAllowed/ }).click()
  await soon(async () => {
    const reasons = await page.locator('.verdicts tbody b').allInnerTexts()
    assert.deepEqual([...new Set(reasons)], ['PortStatusNotAllowed'])
  })
})

test('the ports that are NICs are listed with VM, subnet, NIC and state, the failed ones first', async () => {
  const { page } = tab
  await page.evaluate("location.hash = '#/ports'")
  const rows = page.locator('.verdicts tbody tr')
  await soon(async () => assert.match(await rows.first().innerText(), /worker-\d+[\s\S]*multinic\d[\s\S]*Failed/))
  await page.getByRole('button', { name: /^Failed\s*2$/ }).click()
  await soon(async () => assert.equal(await rows.count(), 2))
  await page.evaluate("location.hash = '#/ports?q=10.21.0.17'")
  await soon(async () => assert.match(await rows.first().innerText(), /worker-0017[\s\S]*multinic1/))
})

test('the history names the previous owner of an address, and the matrix shows the state of an earlier time', async () => {
  const { page } = tab
  await page.evaluate("location.hash = '#/history?q=10.21.0.17'")
  await page.getByText('Assigned to worker-0017 multinic1').waitFor()
  await page.getByText('previously: worker-0042 multinic1').waitFor()
  assert.match(
    (await page.locator('.lanes').getAttribute('aria-label')) ?? '',
    /worker-0042 multinic1, worker-0017 multinic1/,
  )
  await soon(async () => assert.match(await page.locator('.snapshots').innerText(), /State at B\s+1,000 nodes/))
  await tab.picture('fleet-history')
  await page.getByRole('button', { name: 'Compare A and B' }).click()
  await page.locator('.history-table tr', { hasText: 'worker-0042' }).first().waitFor()
  await page.locator('.snapshots a').first().click()
  await page.getByText('Showing the state as of').waitFor()
  const subtitle = () => page.locator('.head .sub').innerText()
  await soon(async () => assert.match(await subtitle(), /^\d{1,3} nodes/))
  await page.getByRole('link', { name: 'worker-0042', exact: true }).click()
  await page.getByRole('heading', { level: 1, name: 'worker-0042' }).waitFor()
  await soon(async () => assert.match((await page.locator('.node-picture > svg').textContent()) ?? '', /10\.21\.0\.17/))
  await page.getByRole('link', { name: 'Back to now' }).click()
  await soon(async () => assert.match((await page.locator('.node-picture > svg').textContent()) ?? '', /10\.21\.0\.42/))
})

for (const colorScheme of ['light', 'dark'] as const)
  test(`no screen has an accessibility violation, in ${colorScheme}`, async () => {
    const locale = colorScheme === 'dark' ? 'ko-KR' : 'en-US'
    const other = await browser.open(fleet.url, { colorScheme, locale })
    try {
      for (const screen of screens) {
        await other.page.evaluate(`location.hash = '#/${screen}'`)
        await other.page.locator('main h1').waitFor()
        await other.page.locator('.panel').last().waitFor()
        await soon(async () => assert.deepEqual(await accessibilityViolations(other.page), [], `on #/${screen}`))
        await other.picture(`screen-${screen.split('/').at(-1) || 'overview'}-${locale.slice(0, 2)}-${colorScheme}`)
      }
      await other.page.keyboard.press('Control+k')
      await other.page.keyboard.type('10.20.0.1')
      await other.page.getByRole('option').nth(3).waitFor()
      assert.deepEqual(await accessibilityViolations(other.page), [])
      assert.deepEqual(other.problems, [])
    } finally {
      await other.close()
    }
  })

test('every element that Tab reaches shows its focus', async () => {
  const { page } = tab
  for (const screen of ['', 'nodes/worker-0017', 'history']) {
    await page.evaluate(`location.hash = '#/${screen}'`)
    await page.locator('main h1').waitFor()
    await page.evaluate('document.activeElement?.blur?.()')
    assert.deepEqual(await hiddenFocus(page, 40), [], `on #/${screen}`)
  }
  await page.reload()
  await page.locator('main h1').waitFor()
  await page.keyboard.press('Tab')
  await page.keyboard.press('Enter')
  await soon(async () => assert.equal(await page.evaluate('document.activeElement.id'), 'main'))
})

const wide = { width: 1440, height: 900 }
const illustrations: Record<string, [hash: string, ready: string, options: Parameters<Chromium['open']>[1]]> = {
  overview: ['', '.chart-area', { viewport: wide }],
  'overview-ko': ['', '.chart-area', { viewport: wide, locale: 'ko-KR' }],
  matrix: ['matrix', '.matrix-table tbody tr.row-failed', { viewport: wide, colorScheme: 'dark' }],
  node: ['nodes/worker-0042?nic=multinic2', '.advice', { viewport: { width: 1280, height: 1080 } }],
  topology: ['topology?provider=biz-prod-a', '.inspector', { colorScheme: 'dark' }],
  history: ['history?q=10.21.0.17', '.answer', {}],
}

// The pictures change with every run, so they are taken only on request.
const requested = environment()['DOCS_PICTURES'] ? Object.entries(illustrations) : []
for (const [name, [hash, ready, options]] of requested)
  test(`the picture ${name} of the guide can be taken`, async () => {
    const other = await browser.open(`${fleet.url}/#/${hash}`, { viewport: { width: 1280, height: 800 }, ...options })
    try {
      await soon(async () => assert.equal(await other.page.locator('.sidebar .live.on').count(), 1))
      await other.page.locator('main h1').waitFor()
      if (name === 'topology') await other.page.locator('.selectable').nth(3).click()
      await other.page.locator(ready).first().waitFor({ state: 'attached' })
      if (name === 'history')
        await soon(async () => assert.doesNotMatch(await other.page.locator('.snapshots').innerText(), /…/))
      await soon(async () => assert.notEqual(await other.page.locator('.nav .count').count(), 0))
      await other.illustration(`dashboard-${name}`)
      assert.deepEqual(other.problems, [])
    } finally {
      await other.close()
    }
  })

test('the print layout has no navigation', async () => {
  const { page } = tab
  await page.evaluate("location.hash = '#/deviations'")
  await page.locator('.deviation-table').waitFor()
  await page.emulateMedia({ media: 'print' })
  assert.equal(await page.locator('.sidebar').isVisible(), false)
  assert.equal(await page.locator('.deviation-table').isVisible(), true)
  await page.emulateMedia({ media: null })
})

test('the matrix renders only the visible rows while it scrolls', async () => {
  const { page } = tab
  await page.evaluate("location.hash = '#/matrix'")
  await page.locator('.matrix-table tbody tr').first().waitFor()
  await tab.picture('fleet-matrix')
  await page.locator('.matrix-table tbody tr.row-failed').first().waitFor()
  assert.match((await page.locator('.matrix-table tbody tr').first().getAttribute('class')) ?? '', /row-failed/)
  const frames = (await page.evaluate(scrolling)) as { most: number; end: number }
  assert.ok(frames.end > 10_000, `scrolled ${frames.end}`)
  assert.ok(frames.most < 120, `${frames.most} rows were rendered at once`)
  const seen = await page
    .locator('.matrix-table tbody tr')
    .evaluateAll(rows => rows.map(row => Number((row as unknown as { ariaRowIndex: string }).ariaRowIndex)))
  assert.deepEqual(new Set(seen).size, seen.length, 'a row is rendered twice')
})

test('the filter of the matrix works while typing', async () => {
  const { page } = tab
  await page.evaluate("location.hash = '#/matrix'")
  await page.getByRole('textbox', { name: /^Filter/ }).fill('10.30.3.2')
  await soon(async () => assert.match(await page.locator('.head .sub').innerText(), /^\d{1,2} nodes/))
  await page.getByRole('textbox', { name: /^Filter/ }).fill('no such thing')
  await page.getByText('No node matches').waitFor()
  await page.getByRole('link', { name: 'Clear filters' }).click()
  await soon(async () => assert.match(await page.locator('.head .sub').innerText(), /^1,000 nodes/))
})

test('the matrix is exported as CSV', async () => {
  const { page } = tab
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('button', { name: 'CSV' }).click(),
  ])
  assert.equal(download.suggestedFilename(), 'node-configs.csv')
})

test('the page shows changes of hundreds of nodes at once', async () => {
  const { page } = tab
  const all = aFleet({ nodes: 1_000, now: new Date() })
  const changed = all.slice(600, 900).map(write => ({ ...write, reason: 'Applying', state: 'InProgress' as const }))
  await fleet.store.put(
    changed.map(write => ({
      ...write,
      interfaces: (write.interfaces ?? []).map(nic => ({ ...nic, status: 'InProgress' as const })),
    })),
  )
  await page.evaluate("location.hash = '#/matrix?severity=inProgress'")
  await soon(async () => assert.match(await page.locator('.head .sub').innerText(), /^30\d nodes/))
})

test('a topology of hundreds of nodes has pages and highlights the selection', async () => {
  const { page } = tab
  await page.evaluate("location.hash = '#/topology?provider=biz-prod-a'")
  await page.locator('.selectable').nth(1).click()
  await page.locator('.ribbon.selected').first().waitFor({ state: 'attached' })
  await page.locator('.ribbon.drifted').first().waitFor({ state: 'attached' })
  await tab.picture('fleet-topology')
  assert.deepEqual(tab.problems, [])
})

test('an empty inventory shows the first step', async () => {
  const empty = await startFleet(0)
  const other = await browser.open(empty.url)
  try {
    await other.page.getByText('No nodes yet').waitFor()
    await other.page.getByText('kubectl apply -k config/samples/').waitFor()
    await other.picture('state-empty')
    assert.deepEqual(await accessibilityViolations(other.page), [])
    assert.deepEqual(other.problems, [])
  } finally {
    await other.close()
    await empty.close()
  }
})

test('an unreachable inventory is not shown as empty, and Try again loads the data', async () => {
  const other = await browser.open(`${fleet.url}/docs`)
  const { page } = other
  try {
    await page.route('**/v1/inventory/**', route =>
      route.fulfill({ status: 503, body: '{"detail":"the store is unreachable"}' }),
    )
    await page.goto(fleet.url)
    await page.getByText('Inventory unreachable').waitFor()
    await page.getByText(/^503 · GET .* · the store is unreachable$/).waitFor()
    await other.picture('state-away')
    await page.getByRole('button', { name: 'Try again' }).click()
    await page.getByText('Inventory unreachable').waitFor()
    await page.unroute('**/v1/inventory/**')
    await page.locator('.summary').waitFor()
  } finally {
    await other.close()
  }
})

test('the page asks for a token and uses it', async () => {
  const dir = await mkdtemp(join(tmpdir(), 'multinic-tokens-'))
  const cluster = await startTargetCluster()
  const { token, tokensFile } = await adminCaller(dir)
  const closed = await startFleet(5, await accessOf(cluster.api.kubeconfig, tokensFile))
  const other = await browser.open(closed.url)
  try {
    await other.page.getByLabel('Token').waitFor()
    await other.picture('token')
    await other.page.getByLabel('Token').fill('a-token-that-is-wrong')
    await other.page.getByRole('button', { name: 'Sign in' }).click()
    await other.page.getByText('The inventory rejected this token.').waitFor()
    await other.page.getByLabel('Token').fill(token)
    await other.page.getByRole('button', { name: 'Sign in' }).click()
    await other.page.locator('.summary').waitFor()
    await other.page.locator('.sidebar .live.on').waitFor()
    // Scripts cannot read the token, and a new load needs none.
    const seen = String(await other.page.evaluate('JSON.stringify([document.cookie, localStorage, sessionStorage])'))
    assert.ok(!seen.includes(token))
    await other.page.reload()
    await other.page.locator('.summary').waitFor()
    const linked = await browser.open(`${closed.url}/#token=${token}`)
    await linked.page.locator('.summary').waitFor()
    assert.doesNotMatch(linked.page.url(), /token/)
    await linked.close()
  } finally {
    await other.close()
    await closed.close()
    await cluster.close()
    await rm(dir, { recursive: true })
  }
})
