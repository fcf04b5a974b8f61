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
  const frames = (await page.evaluate(`new Promise(resolve => {
    const box = document.querySelector('.mxbox'), frames = []
    let last = performance.now(), most = 0
    const step = now => {
      frames.push(now - last); last = now
      most = Math.max(most, document.querySelectorAll('.mxt tbody tr').length)
      box.scrollTop += 240
      if (frames.length < 100) requestAnimationFrame(step)
      else resolve({ frames: frames.slice(1).sort((a, b) => a - b), most, end: box.scrollTop })
    }
    requestAnimationFrame(step)
  })`)) as { frames: number[]; most: number; end: number }
  assert.ok(frames.end > 20_000, `scrolled ${frames.end}`)
  assert.ok(frames.most < 120, `${frames.most} rows were drawn at once`)
  const median = frames.frames[Math.floor(frames.frames.length / 2)] ?? 0
  const p95 = frames.frames[Math.floor(frames.frames.length * 0.95)] ?? 0
  console.log(`frames while scrolling: median ${median.toFixed(1)} ms, p95 ${p95.toFixed(1)} ms`)
  assert.ok(median < 50, `the median frame took ${median} ms`)
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
