/**
 * The dashboard in a real Chromium with 1,000 nodes on loopback: how long until the first rows of the matrix are painted, beside
 * a page without script from the same server; what a frame of scrolling costs; and how much is sent for it all.
 */
import { globSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { type Chromium, scrolling, startChromium } from '../rigs/browser/rig.ts'
import { startFleet } from '../support/fleet-server.ts'
import { type Bench, figure, median } from './figure.ts'

const rounds = 7

/** In the page, before anything else: when what is looked for is there and a frame with it was drawn. */
const untilPainted = (selector: string) => `
  window.painted = new Promise(resolve => {
    const look = () =>
      document.querySelector(${JSON.stringify(selector)})
        ? requestAnimationFrame(() => setTimeout(() => resolve(performance.now())))
        : requestAnimationFrame(look)
    look()
  })`

export const bench: Bench = async report => {
  const fleet = await startFleet(1_000)
  const browser = await startChromium()
  try {
    const [matrix, docs]: [number[], number[]] = [[], []]
    for (let round = 0; round < rounds; round++) {
      matrix.push(await painted(browser, `${fleet.url}/#/matrix`, '.matrix-table tbody tr'))
      docs.push(await painted(browser, `${fleet.url}/docs`, 'section'))
    }
    const beside = { against: 'a page without script', reference: median(docs) }
    report(figure('web.first_paint_ms', median(matrix), 'ms', beside, { atMost: 1_000 }))
    const { scroll, rest } = await frames(browser, `${fleet.url}/#/matrix`)
    const idle = { against: 'a frame of the same page at rest', reference: rest }
    report(figure('web.scroll_frame_ms', scroll, 'ms', idle, { atMost: 33 }))
    // Without the chunks that only some languages load.
    const loaded = '{index.html,assets/{icon,script,style}-*.{svg,js,css}}'
    const sizeOf = (pattern: string) =>
      globSync(pattern, { cwd: fleet.webDir }).reduce((sum, path) => sum + statSync(join(fleet.webDir, path)).size, 0) /
      1024
    const plain = { against: 'not compressed', reference: sizeOf(loaded) }
    report(figure('web.bundle_kb', sizeOf(`${loaded}.gz`), 'KiB', plain, { atMost: 100 }))
  } finally {
    await browser.close()
    await fleet.close()
  }
}

/** In a context of its own: nothing is in its cache. */
async function painted(browser: Chromium, url: string, selector: string): Promise<number> {
  const tab = await browser.open(url, {}, untilPainted(selector))
  try {
    return (await tab.page.evaluate('window.painted')) as number
  } finally {
    await tab.close()
  }
}

const resting = `new Promise(resolve => {
  let count = 0
  const step = () => (++count < 100 ? requestAnimationFrame(step) : resolve({ count }))
  requestAnimationFrame(step)
})`

/** Work of the page for each frame, in milliseconds of the processor. Without a graphics card, drawing counts too. */
async function frames(browser: Chromium, url: string): Promise<{ scroll: number; rest: number }> {
  const { page, close } = await browser.open(url)
  try {
    await page.locator('.matrix-table tbody tr').nth(20).waitFor()
    await page.locator('.nav .count').nth(2).waitFor()
    const session = await page.context().newCDPSession(page)
    await session.send('Performance.enable', { timeDomain: 'threadTicks' })
    const busy = async () => {
      const { metrics } = await session.send('Performance.getMetrics')
      return 1_000 * (metrics.find(({ name }) => name === 'TaskDuration')?.value ?? Number.NaN)
    }
    const costOf = async (script: string) => {
      const before = await busy()
      const { count } = (await page.evaluate(script)) as { count: number }
      return ((await busy()) - before) / count
    }
    return { rest: await costOf(resting), scroll: await costOf(scrolling) }
  } finally {
    await close()
  }
}
