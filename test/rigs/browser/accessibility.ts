/**
 * What keeps people who cannot see, or cannot use a pointer, from using a page: asked of the page itself, as it is now.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Page } from 'playwright-core'

/** Written for browsers, which this program knows nothing of: scripts of their own. */
const script = (name: string) => readFileSync(join(import.meta.dirname, 'page', `${name}.js`), 'utf8')
const [barriers, focusFault] = [script('barriers'), script('focus-fault')]

/** Every fault in words, with the element that has it; none when there is nothing to complain about. */
export async function barriersOn(page: Page): Promise<string[]> {
  return (await page.evaluate(barriers)) as string[]
}

/** Presses Tab so many times and returns what got the focus without showing it. */
export async function unseenFocus(page: Page, presses: number): Promise<string[]> {
  const unseen = new Set<string>()
  for (let press = 0; press < presses; press++) {
    await page.keyboard.press('Tab')
    const fault = (await page.evaluate(focusFault)) as string | undefined
    if (fault) unseen.add(fault)
  }
  return [...unseen]
}
