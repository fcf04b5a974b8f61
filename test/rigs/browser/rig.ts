/**
 * A real Chromium, controlled with playwright-core. Tabs record console errors and requests to other hosts, and save pictures.
 */
import assert from 'node:assert/strict'
import { accessSync, constants } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { delimiter, join } from 'node:path'
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core'
import { environment } from '../../../src/runtime/env.ts'
import { eventually } from '../../support/eventually.ts'

/** Script in the page: scrolls the matrix frame by frame; returns the maximum number of rows and the scroll position. */
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
  /** Console errors and warnings, page errors, and requests to other hosts. */
  readonly problems: string[]
  /** Saves a picture in .state/screenshots, for review. */
  picture(name: string): Promise<void>
  /** Saves a picture in docs/images, for the documents. */
  illustration(name: string): Promise<void>
  close(): Promise<void>
}

export interface Chromium {
  /** `script` runs in the page before anything else. */
  open(url: string, options?: BrowserContextOptions, script?: string): Promise<Tab>
  close(): Promise<void>
}

const root = join(import.meta.dirname, '../../..')
const pictures = join(root, '.state/screenshots')
const illustrations = join(root, 'docs/images')

/** A loaded machine may render slowly. */
export const soon = <T>(check: () => T | Promise<T>): Promise<T> => eventually(check, { within: 60_000 })

export async function startChromium(): Promise<Chromium> {
  const browser = await chromium.launch({
    executablePath: program(),
    // The sandbox of Chromium does not work as root; the pages are our own.
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
      complaints.push(`request to another host: ${request.url()}`)
  })
  if (script) await page.addInitScript(script)
  await page.goto(url)
  const save = async (dir: string, name: string) => {
    await page.screenshot({ path: join(dir, `${name}.png`) })
  }
  return {
    page,
    problems: complaints,
    picture: name => save(pictures, name),
    illustration: name => save(illustrations, name),
    close: () => context.close(),
  }
}

function program(): string {
  const directories = (environment()['PATH'] ?? '').split(delimiter)
  const found = directories
    .flatMap(directory => ['chromium', 'chromium-browser', 'google-chrome'].map(name => join(directory, name)))
    .find(isProgram)
  return found ?? assert.fail('Chromium is not installed: run scripts/provision.sh browser')
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}
