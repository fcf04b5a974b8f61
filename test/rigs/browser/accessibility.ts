/**
 * Checks the accessibility of the current page for users of screen readers and keyboards.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Page } from 'playwright-core'

/** Scripts that run in the browser. */
const script = (name: string) => readFileSync(join(import.meta.dirname, 'page', `${name}.js`), 'utf8')
const [violations, hiddenFocusElement] = [script('violations'), script('hidden-focus')]

/** All violations, each with its element. */
export async function accessibilityViolations(page: Page): Promise<string[]> {
  return (await page.evaluate(violations)) as string[]
}

/** Presses Tab repeatedly and returns the elements that got the focus without showing it. */
export async function hiddenFocus(page: Page, presses: number): Promise<string[]> {
  const hidden = new Set<string>()
  for (let press = 0; press < presses; press++) {
    await page.keyboard.press('Tab')
    const element = (await page.evaluate(hiddenFocusElement)) as string | undefined
    if (element) hidden.add(element)
  }
  return [...hidden]
}
