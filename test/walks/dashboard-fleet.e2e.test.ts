import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { stringify } from 'yaml'
import { eventually } from '../eventually.ts'
import { aFleet } from '../fleet.ts'
import { type FleetServer, startFleet } from '../fleet-server.ts'
import { type Chromium, startChromium, type Tab } from '../rigs/browser/rig.ts'

let fleet: FleetServer
let browser: Chromium
let tab: Tab

before(async () => {
  fleet = await startFleet(1_000)
  browser = await startChromium()
  tab = await browser.open(fleet.url)
})
after(async () => {
  await browser?.close()
  await fleet?.close()
})

test('a thousand nodes are counted, the worst first', async () => {
  const { page } = tab
  await eventually(async () => {
    assert.match(await page.locator('.strip').innerText(), /Nodes\s*1,000[\s\S]*Failed\s*2\s*Drifted\s*1/)
    assert.match(await page.locator('.todo').innerText(), /worker-\d+ multinic\d · (VerifyFailed|DefaultRoute)/)
  })
  await tab.picture('fleet-overview')
})

test('what is wrong is told with its reason and its remedy, in the words of the API', async () => {
  const { page } = tab
  await page.evaluate("location.hash = '#/deviations'")
  const row = page.locator('.dev tr', { hasText: 'NicMissing' })
  await row.waitFor()
  const told = (await (await fetch(`${fleet.url}/v1/inventory/deviations`)).json()) as {
    reason?: string
    remedy?: string
  }[]
  const remedy = told.find(({ reason }) => reason === 'NicMissing')?.remedy ?? assert.fail('no remedy')
  assert.ok((await row.innerText()).includes(remedy))
  await tab.picture('fleet-deviations')
  await row.getByRole('link').click()
  await page.locator('.advice', { hasText: remedy }).waitFor()
  assert.match(await page.locator('.pipe .pr').first().innerText(), /Pending at Job[\s\S]*waiting/)
  await tab.picture('fleet-node')
})

test('the matrix draws only what is in sight and scrolls without stuttering', async () => {
  const { page } = tab
  await page.evaluate("location.hash = '#/matrix'")
  await page.locator('.mxt tbody tr').first().waitFor()
  await tab.picture('fleet-matrix')
  assert.match((await page.locator('.mxt tbody tr').first().getAttribute('class')) ?? '', /flag/)
  // Time of the processor, not of the clock: a busy machine must not decide.
  const session = await page.context().newCDPSession(page)
  await session.send('Performance.enable', { timeDomain: 'threadTicks' })
  const busy = async () => {
    const { metrics } = await session.send('Performance.getMetrics')
    return 1_000 * (metrics.find(({ name }) => name === 'TaskDuration')?.value ?? Number.NaN)
  }
  const before = await busy()
  const frames = (await page.evaluate(`new Promise(resolve => {
    const box = document.querySelector('.mxbox')
    let most = 0, count = 0
    const step = () => {
      most = Math.max(most, document.querySelectorAll('.mxt tbody tr').length)
      box.scrollTop += 120
      if (++count < 100) requestAnimationFrame(step)
      else resolve({ count, most, end: box.scrollTop })
    }
    requestAnimationFrame(step)
  })`)) as { count: number; most: number; end: number }
  assert.ok(frames.end > 10_000, `scrolled ${frames.end}`)
  assert.ok(frames.most < 120, `${frames.most} rows were drawn at once`)
  const perFrame = ((await busy()) - before) / frames.count
  console.log(`work of the page for each frame of scrolling: ${perFrame.toFixed(1)} ms`)
  // Without a graphics card, drawing counts too.
  assert.ok(perFrame < 50, `a frame takes ${perFrame} ms of work`)
})

test('a filter narrows a thousand nodes while typing', async () => {
  const { page } = tab
  await page.getByRole('textbox', { name: /^Filter/ }).fill('10.30.3.2')
  await eventually(async () => assert.match(await page.locator('.head .sub').innerText(), /^\d{1,2} nodes/))
  await page.getByRole('textbox', { name: /^Filter/ }).fill('no such thing')
  await page.getByText('No node matches').waitFor()
  await page.getByRole('link', { name: 'Clear filters' }).click()
  await eventually(async () => assert.match(await page.locator('.head .sub').innerText(), /^1,000 nodes/))
})

test('the table is exported as CSV', async () => {
  const { page } = tab
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('button', { name: 'CSV' }).click(),
  ])
  assert.equal(download.suggestedFilename(), 'node-configs.csv')
})

test('changes of hundreds of nodes at once are shown, and the page stays usable', async () => {
  const { page } = tab
  const all = aFleet({ nodes: 1_000, now: new Date() })
  const changed = all.slice(600, 900).map(write => ({ ...write, reason: 'Applying', state: 'InProgress' as const }))
  await fleet.store.put(
    changed.map(write => ({
      ...write,
      interfaces: (write.interfaces ?? []).map(nic => ({ ...nic, status: 'InProgress' as const })),
    })),
  )
  await page.evaluate("location.hash = '#/matrix?look=prog'")
  await eventually(async () => assert.match(await page.locator('.head .sub').innerText(), /^30\d nodes/), {
    within: 20_000,
  })
})

test('a topology of hundreds of nodes is paged, and a choice stands out', async () => {
  const { page } = tab
  await page.evaluate("location.hash = '#/topology?provider=biz-prod-a'")
  await page.locator('.pickable').nth(1).click()
  await page.locator('.rb.sel').first().waitFor({ state: 'attached' })
  await page.locator('.rb.drf').first().waitFor({ state: 'attached' })
  await tab.picture('fleet-topology')
  assert.deepEqual(tab.complaints, [])
})

test('with a token file the page asks for a token and takes it', async () => {
  const dir = await mkdtemp(join(tmpdir(), 'multinic-tokens-'))
  const tokens = join(dir, 'tokens.yaml')
  const token = 'a-token-for-reading-only-0123456789'
  await writeFile(tokens, stringify({ tokens: [{ name: 'reader', token, roles: ['read'] }] }))
  const closed = await startFleet(5, tokens)
  const other = await browser.open(closed.url)
  try {
    await other.page.getByText('This needs a read token').waitFor()
    await other.picture('token')
    await other.page.getByLabel('Token').fill(token)
    await other.page.getByRole('button', { name: 'Use token' }).click()
    await other.page.locator('.strip').waitFor()
    await other.page.locator('.side .live.on').waitFor()
  } finally {
    await other.close()
    await closed.close()
    await rm(dir, { recursive: true })
  }
})
