/**
 * A real Chromium, driven through playwright-core: pages that note every complaint, and pictures that are kept.
 */
import assert from 'node:assert/strict'
import { accessSync, constants } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { delimiter, join } from 'node:path'
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core'
import { environment } from '../../../src/runtime/env.ts'
import { eventually } from '../../support/eventually.ts'

/** In the page: scrolls the matrix frame by frame; tells how many rows were there at once, and how far it came. */
export const scrolling = `new Promise(resolve => {
  const box = document.querySelector('.matrix-scroll')
  let most = 0, count = 0
  const step = () => {
    most = Math.max(most, document.querySelectorAll('.matrix-table tbody tr').length)
    box.scrollTop += 120
    if (++count < 100) requestAnimationFrame(step)
    else resolve({ count, most, end: box.scrollTop })
  }
  requestAnimationFrame(step)
})`

export interface Tab {
  readonly page: Page
  /** Errors of the console and of the page, and answers that should not be. */
  readonly complaints: string[]
  /** Kept in .state/screenshots, for people to look at. */
  picture(name: string): Promise<void>
  /** Kept in docs/images, for the guide. */
  illustration(name: string): Promise<void>
  close(): Promise<void>
}

export interface Chromium {
  /** With `script`, that runs in the page before anything else. */
  open(url: string, options?: BrowserContextOptions, script?: string): Promise<Tab>
  close(): Promise<void>
}

const root = join(import.meta.dirname, '../../..')
const pictures = join(root, '.state/screenshots')
const illustrations = join(root, 'docs/images')

/** On a machine that has other work to do, a page may take its time. */
export const soon = <T>(check: () => T | Promise<T>): Promise<T> => eventually(check, { within: 60_000 })

export async function startChromium(): Promise<Chromium> {
  const browser = await chromium.launch({
    executablePath: program(),
    // Root may not use its sandbox; the pages are our own.
    args: ['--no-sandbox', '--disable-dev-shm-usage', '--disable-gpu'],
  })
  await mkdir(pictures, { recursive: true })
  return {
    open: (url, options = {}, script = '') => openTab(browser, url, options, script),
    close: () => browser.close(),
  }
}

async function openTab(browser: Browser, url: string, options: BrowserContextOptions, script: string): Promise<Tab> {
  const defaults = { viewport: { width: 1440, height: 900 }, locale: 'en-US', timezoneId: 'UTC' }
  const context = await browser.newContext({ ...defaults, ...options })
  const page = await context.newPage()
  page.setDefaultTimeout(60_000)
  const complaints: string[] = []
  page.on('console', message => {
    if (message.type() === 'error' || message.type() === 'warning') complaints.push(message.text())
  })
  page.on('pageerror', error => complaints.push(error.message))
  page.on('request', request => {
    if (new URL(request.url()).host !== new URL(url).host && !request.url().startsWith('blob:'))
      complaints.push(`asked elsewhere: ${request.url()}`)
  })
  if (script) await page.addInitScript(script)
  await page.goto(url)
  const keep = async (dir: string, name: string) => {
    await page.screenshot({ path: join(dir, `${name}.png`) })
  }
  return {
    page,
    complaints,
    picture: name => keep(pictures, name),
    illustration: name => keep(illustrations, name),
    close: () => context.close(),
  }
}

function program(): string {
  const places = (environment()['PATH'] ?? '').split(delimiter)
  const found = places
    .flatMap(place => ['chromium', 'chromium-browser', 'google-chrome'].map(name => join(place, name)))
    .find(isProgram)
  return found ?? assert.fail('there is no Chromium; scripts/provision.sh browser installs it')
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}
