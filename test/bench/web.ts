/**
 * The dashboard in a real Chromium with 1,000 nodes on loopback: time until the first rows of the matrix are painted, compared
 * with a page without script; cost of a frame while scrolling; and transferred size.
 */
import { globSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { type Chromium, scrolling, startChromium } from '../rigs/browser/rig.ts'
import { startFleet } from '../support/fleet-server.ts'
import { type Bench, figure, median } from './figure.ts'

const rounds = 7

/** Script in the page: resolves when the element exists and a frame with it was drawn. */
const untilPainted = (selector: string) => `
  window.painted = new Promise(resolve => {
    const check = () =>
      document.querySelector(${JSON.stringify(selector)})
        ? requestAnimationFrame(() => setTimeout(() => resolve(performance.now())))
        : requestAnimationFrame(check)
    check()
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
    const reference = { against: 'a page without script', reference: median(docs) }
    report(figure('web.first_paint_ms', median(matrix), 'ms', reference, { atMostTimes: 8 }))
    const { scroll, rest } = await frames(browser, `${fleet.url}/#/matrix`)
    const idle = { against: 'an idle frame of the same page', reference: rest }
    report(figure('web.scroll_frame_ms', scroll, 'ms', idle, { atMost: 33 }))
    // Without the chunks that are loaded for some languages only.
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

/** In a new browser context with an empty cache. */
async function painted(browser: Chromium, url: string, selector: string): Promise<number> {
  const tab = await browser.open(url, {}, untilPainted(selector))
  try {
    return (await tab.page.evaluate('window.painted')) as number
  } finally {
    await tab.close()
  }
}

const idling = `new Promise(resolve => {
  let count = 0
  const step = () => (++count < 100 ? requestAnimationFrame(step) : resolve({ count }))
  requestAnimationFrame(step)
})`

/** CPU time of the page per frame, in milliseconds. Without a graphics card, it includes drawing. */
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
    return { rest: await costOf(idling), scroll: await costOf(scrolling) }
  } finally {
    await close()
  }
}
