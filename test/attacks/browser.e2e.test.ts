/**
 * Attacks on the dashboard in a real browser: names that are code, pages of other origins that use the cookie of the user, and
 * the token of a link.
 */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import type { Page, Request } from 'playwright-core'
import { request } from 'undici'
import { stringify } from 'yaml'
import { recordsPath, sessionPath } from '../../src/contract/inventory.ts'
import { type Chromium, startChromium, type Tab } from '../rigs/browser/rig.ts'
import { accessOf } from '../support/access.ts'
import { type FleetServer, startFleet } from '../support/fleet-server.ts'
import { aWrite } from '../support/inventory.ts'
import { startTargetCluster, type TargetCluster } from '../support/target-cluster.ts'
import { hostileRecords, hostileVerdicts, shownFields, shownName } from './hostile-names.ts'

let cluster: TargetCluster
let fleet: FleetServer
let browser: Chromium
let otherSite: Server

const tokenOf = (user: string) => `the-token-of-${user}-0123456789`
const signInLink = (user: string) => `${fleet.url}/#token=${tokenOf(user)}`
const script = (name: string) => readFileSync(join(import.meta.dirname, `../rigs/browser/page/${name}.js`), 'utf8')
const [watch, intruders, otherSiteCode] = [script('watch'), script('intruders'), script('other-site')]

before(async () => {
  cluster = await startTargetCluster()
  const file = join(cluster.dir, 'tokens.yaml')
  const tokens = ['owner', 'attacker'].map(user => ({ user, groups: ['system:masters'], token: tokenOf(user) }))
  await writeFile(file, stringify({ tokens }))
  fleet = await startFleet(0, await accessOf(cluster.api.kubeconfig, file))
  const { statusCode, body } = await request(`${fleet.url}${recordsPath}`, {
    method: 'PUT',
    headers: { authorization: `Bearer ${tokenOf('owner')}`, 'content-type': 'application/json' },
    body: JSON.stringify({ records: hostileRecords(), verdicts: hostileVerdicts() }),
  })
  assert.equal(statusCode, 200, await body.text())
  otherSite = createServer((_request, response) =>
    response.setHeader('content-type', 'text/html').end('<!doctype html><title>another site</title><body></body>'),
  )
  await new Promise<void>(resolve => otherSite.listen(0, '127.0.0.1', resolve))
  browser = await startChromium()
})
after(async () => {
  await browser?.close()
  otherSite?.close()
  await fleet?.close()
  await cluster?.close()
})

interface Seen {
  foreign: string[]
  ran: unknown[]
  violations: string[]
  shown: string
}

const [{ providerId = '', nodeName = '' } = {}] = hostileRecords()
const node = [providerId, nodeName].map(encodeURIComponent).join('/')
const screens = [
  '',
  'matrix',
  'nodes',
  `nodes/${node}`,
  `nodes/${node}?nic=multinic1`,
  'topology',
  'deviations',
  'ports',
  'history',
]
const inAddress = ['"><img src=x onerror=ran.push(6)>', 'javascript:ran.push(7)', '__proto__']

async function open(page: Page, screen: string): Promise<void> {
  await page.evaluate(`location.hash = ${JSON.stringify(`#/${screen}`)}
    new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))`)
  await page.locator('main h1').waitFor()
}

/** Every screen, what opens by a click, and what searches find. `see` runs on each. */
async function walk(page: Page, see: (where: string) => Promise<void>): Promise<void> {
  const show = async (screen: string) => {
    await open(page, screen)
    await page.getByText('ran.push').first().waitFor({ state: 'attached' })
    await see(screen)
  }
  for (const screen of screens) await show(screen)
  await show('matrix')
  await page.locator('.matrix-table tbody a').nth(1).hover()
  await page.getByRole('tooltip').waitFor()
  await see('a cell of the matrix')
  await show('topology')
  for (const position of ['first', 'last'] as const) {
    await page.locator('.selectable')[position]().click()
    await page.locator('.inspector').waitFor()
    await see(`the ${position} of the topology`)
  }
  for (const text of inAddress) {
    const q = encodeURIComponent(text)
    for (const screen of [
      `history?q=${q}&node=${q}`,
      `ports?q=${q}&reason=${q}&provider=${q}`,
      `matrix?q=${q}&provider=${q}`,
      `nodes/${q}/${q}`,
    ]) {
      await open(page, screen)
      await see(screen)
    }
  }
  await page.keyboard.press('Control+k')
  for (const text of ['node', 'subnet', '10.66', 'javascript:', '<img src=x>']) {
    await page.locator('.palette-input input').fill(text)
    await page.locator('.palette [role=option]').first().waitFor()
    await see(`the search for ${text}`)
  }
}

/** Without its policy the browser would run what the page puts into the document; with it, the browser would report it. */
for (const [language, policy] of [
  ['en-US', 'without'],
  ['ko-KR', 'with'],
] as const)
  test(`names that are code are text on every screen, in ${language} ${policy} the content security policy`, async () => {
    const tab = await browser.open(signInLink('owner'), { locale: language, bypassCSP: policy === 'without' }, watch)
    try {
      const dialogs: string[] = []
      tab.page.on('dialog', dialog => {
        dialogs.push(dialog.message())
        void dialog.dismiss()
      })
      let shown = ''
      await tab.page.locator('.summary').waitFor()
      await walk(tab.page, async where => {
        const seen = (await tab.page.evaluate(intruders)) as Seen
        shown += seen.shown
        const hidden = seen.shown.split('\n').filter(line => /[\u200b\u202e\u2066\u2028]/.test(line))
        assert.deepEqual([seen.foreign, seen.ran, seen.violations, hidden], [[], [], [], []], where)
      })
      assert.deepEqual(
        shownFields.filter(field => !shown.includes(shownName(field))),
        [],
        'not shown',
      )
      // A browser logs the 404 of a node that does not exist.
      const problems = tab.problems.filter(text => !text.includes('404'))
      assert.deepEqual([dialogs, problems], [[], []])
    } finally {
      await tab.close()
    }
  })

const reads = [
  '/v1/inventory/node-configs',
  '/v1/inventory/history',
  '/v1/operator/verdicts',
  '/v1/inventory/audit',
  sessionPath,
  '/v1/inventory/events',
]

for (const host of ['127.0.0.1', 'localhost'])
  test(`a page of another port of ${host} reads, changes and frames nothing with the cookie of the user`, async () => {
    const tab = await browser.open(signInLink('owner'))
    try {
      await tab.page.locator('.summary').waitFor()
      const before = await stateOf(tab)
      const context = tab.page.context()
      const evil = await context.newPage()
      const own = new Set<Request>()
      const served: string[] = []
      tab.page.on('request', sent => own.add(sent))
      context.on('response', answer => {
        const asked = answer.request()
        if (!own.has(asked) && answer.ok() && answer.url().startsWith(`${fleet.url}/v1/`))
          served.push(`${asked.method()} ${answer.url()}`)
      })
      await evil.goto(`http://${host}:${(otherSite.address() as AddressInfo).port}`)
      const records = JSON.stringify({ records: [aWrite('intruder')] })
      const attack = { target: fleet.url, token: tokenOf('attacker'), reads, records, session: sessionPath }
      assert.deepEqual(await evil.evaluate(`${otherSiteCode}\nattack(${JSON.stringify(attack)})`), [])
      const framed = evil.frames().filter(frame => frame.url().startsWith(fleet.url))
      assert.deepEqual(
        framed.map(frame => frame.url()),
        [],
      )
      assert.deepEqual(served, [], 'the cookie of the user was accepted')
      assert.deepEqual(await stateOf(tab), before)
      await tab.page.reload()
      await tab.page.locator('.summary').waitFor()
    } finally {
      await tab.close()
    }
  })

/** What an attack must not change: the user, the cookie and the data. */
async function stateOf({ page }: Tab): Promise<unknown> {
  const answer = (path: string) => page.evaluate(`fetch(${JSON.stringify(path)}).then(answer => answer.text())`)
  const [cookie] = await page.context().cookies(fleet.url)
  return [
    await answer(sessionPath),
    cookie?.value,
    await answer('/v1/inventory/node-configs'),
    await answer('/v1/inventory/audit'),
  ]
}

/** Every place where a script, another page or a person at the screen would find it. */
const places = `JSON.stringify([location.href, document.referrer, document.cookie, document.documentElement.outerHTML,
  localStorage, sessionStorage, history.state, performance.getEntries().map(({ name }) => name)])`

test('the token of a link leaves the address at once, on a new page and on an open one, and is no part of any URL', async () => {
  const tab = await browser.open(`${fleet.url}/docs`)
  const { page } = tab
  try {
    const urls: string[] = []
    page.on('request', sent => urls.push(sent.url(), sent.headers()['referer'] ?? ''))
    await page.goto(fleet.url)
    await page.getByLabel('Token').waitFor()
    // As if somebody pastes the link into the address of the open page.
    const follow = (token: string) =>
      Promise.all([page.waitForEvent('load'), page.evaluate(`location.hash = '#token=${token}'`)])
    for (const wrong of ['a%20token%20that%20is%20wrong', '%']) {
      await follow(wrong)
      await page.getByLabel('Token').waitFor()
      assert.equal(page.url(), `${fleet.url}/`)
    }
    await follow(tokenOf('owner'))
    await page.locator('.summary').waitFor()
    const traces = async () => [String(await page.evaluate(places)), page.url(), ...urls]
    const found = async () => (await traces()).filter(text => text.includes(tokenOf('owner')))
    assert.deepEqual(await found(), [])
    await page.reload()
    await page.locator('.summary').waitFor()
    await page.goBack()
    assert.deepEqual(await found(), [])
    const fresh = await page.context().newPage()
    await fresh.goto(`${fleet.url}/#token=%`)
    await fresh.locator('.summary').waitFor()
    assert.equal(fresh.url(), `${fleet.url}/`)
    await fresh.goto(`${fleet.url}/docs`)
    await fresh.goto(signInLink('owner'))
    await fresh.locator('.summary').waitFor()
    assert.equal(fresh.url(), `${fleet.url}/`)
    assert.doesNotMatch(String(await fresh.evaluate(places)), /the-token-of/)
    assert.deepEqual(await found(), [])
  } finally {
    await tab.close()
  }
})
