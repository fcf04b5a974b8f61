import assert from 'node:assert/strict'
import { dirname } from 'node:path'
import { after, before, test } from 'node:test'
import { primarySubnet } from '../../sandbox/cloud/attach.ts'
import { run } from '../../sandbox/exec.ts'
import { sandboxNamespace, sandboxProviderName } from '../../sandbox/lifecycle/components.ts'
import { nodeConfigAnnotations, nodeConfigs } from '../../src/contract/node-config.ts'
import { accessibilityViolations } from '../rigs/browser/accessibility.ts'
import { type Chromium, soon, startChromium, type Tab } from '../rigs/browser/rig.ts'
import { startTestSandbox, type TestSandbox } from './sandbox.fixture.ts'

let system: TestSandbox
let browser: Chromium
let tab: Tab
let address: string

before(async () => {
  system = await startTestSandbox({ nodes: 3 })
  const [port] = system.attach({ vm: 'worker-1', subnet: 'storage' })
  system.attach({ vm: 'worker-1', subnet: 'backup' })
  system.attach({ vm: 'worker-2', subnet: 'storage' })
  system.attach({ vm: 'worker-1', subnet: primarySubnet })
  address = port?.fixedIps[0]?.ipAddress ?? assert.fail('nothing was attached')
  await system.waitUntilReady()
  browser = await startChromium()
  tab = await browser.open(system.sandbox.urls['dashboard'] ?? assert.fail('no dashboard'))
})
after(async () => {
  await browser?.close()
  await system?.stop()
})

const heading = () => tab.page.locator('main h1').textContent()

test('the overview counts nodes and NICs and reports that all is clear', async () => {
  await tab.page.getByText('All clear').waitFor()
  await soon(async () => {
    const strip = await tab.page.locator('.summary').innerText()
    assert.match(strip, /Nodes\s*2/)
    assert.match(strip, /NICs configured\s*3\s*\/ 3/)
  })
  const row = tab.page.locator('.provider-table tbody a')
  assert.match(await row.innerText(), new RegExp(`^${sandboxProviderName}\\n`))
  assert.equal(await row.getAttribute('title'), `${sandboxProviderName} (${system.sandbox.clusterId})`)
  await tab.picture('overview')
})

test('the search finds an address and opens its node with the keyboard alone', async () => {
  await tab.page.keyboard.press('Control+k')
  await tab.page.keyboard.type(address)
  await tab.page.getByRole('option', { name: 'worker-1' }).first().waitFor()
  await tab.picture('search')
  await tab.page.keyboard.press('Enter')
  await tab.page.getByRole('heading', { level: 1, name: 'worker-1' }).waitFor()
  assert.equal(await tab.page.getByRole('dialog').count(), 0)
})

test('the search finds a provider by its name, once', async () => {
  await tab.page.keyboard.press('Control+k')
  await tab.page.keyboard.type(sandboxProviderName)
  await tab.page.locator('.palette [role=status]', { hasText: 'result' }).waitFor({ state: 'attached' })
  assert.equal(await tab.page.getByRole('option', { name: sandboxProviderName }).count(), 1)
  await tab.page.keyboard.press('Escape')
})

test('the page of a node shows its NICs and subnets, and the time of each stage', async () => {
  const { page } = tab
  const drawn = await page.locator('.node-picture > svg').textContent()
  for (const text of ['primary', 'multinic0', 'multinic1', address, '10.10.0.0/24', '10.20.0.0/24', 'MTU 9000'])
    assert.ok(drawn?.includes(text), `${text} is missing in the picture: ${drawn}`)
  const label = await page.locator('.node-picture > svg').getAttribute('aria-label')
  assert.match(label ?? '', /multinic0 Configured, multinic1 Configured/)
  await soon(async () => {
    const row = await page.locator('.pipeline .pipeline-row').first().innerText()
    assert.match(row, /multinic0[\s\S]*Configured[\s\S]*\d\d:\d\d:\d\d[\s\S]*\+\d+\.\d s/)
    assert.equal(
      await page.locator('.pipeline .pipeline-row').first().locator('.stage.notReached, .stage.stopped').count(),
      0,
    )
  })
  await page.getByRole('tab', { name: 'multinic0' }).click()
  await soon(async () => assert.match(await page.locator('.compare-table').innerText(), /MTU\s+9000\s+9000\s+equal/))
  await page.locator('.timeline li').first().waitFor()
  // Neither the primary port nor another port outside the selected subnets is listed as ignored.
  assert.equal(await page.locator('.verdicts tbody tr').count(), 0)
  await tab.picture('node')
})

const provider = async () => (await system.inventory('worker-1')).providerId

async function openNode(node: string): Promise<void> {
  await tab.page.evaluate(`location.hash = '#/nodes/${await provider()}/${node}'`)
  await tab.page.getByRole('heading', { level: 1, name: node }).waitFor()
}

/** Runs a command that the page offers to copy, with the kubeconfig of the Biz cluster. */
async function runCopied(button: string): Promise<void> {
  const command = await tab.page.getByRole('button', { name: button }).first().getAttribute('title')
  const [program, ...args] = command?.split(' ') ?? []
  assert.equal(program, 'kubectl', command ?? 'no command')
  const { kubeconfig } = system.sandbox.biz
  await run('kubectl', args, { env: { KUBECONFIG: kubeconfig, HOME: dirname(kubeconfig) } })
}

test('experience H4: while a new port waits, the other NICs stay Configured and plugged in, and it says what it waits for', async () => {
  const { page } = tab
  const key = { namespace: sandboxNamespace, name: 'worker-2' }
  const pause = (paused: string | null) =>
    system.sandbox.biz.kube.patch(nodeConfigs, key, {
      metadata: { annotations: { [nodeConfigAnnotations.paused]: paused } },
    })
  await openNode('worker-2')
  await soon(async () => assert.equal(await page.locator('.node-picture .pic-plug').count(), 2))
  await pause('true')
  system.attach({ vm: 'worker-2', subnet: 'backup' })
  await page.locator('.advice', { hasText: 'Paused' }).waitFor()
  await soon(async () => {
    const label = (await page.locator('.node-picture > svg').getAttribute('aria-label')) ?? ''
    assert.match(label, /multinic0 Configured, multinic1 Pending/)
    assert.equal(await page.locator('.node-picture .pic-plug').count(), 2)
    const rows = await page.locator('.pipeline .pipeline-row').allInnerTexts()
    assert.match(rows[1] ?? '', /multinic0[\s\S]*Configured for[\s\S]*observed .* ago/)
  })
  await tab.picture('node-waiting')
  await page.evaluate("location.hash = '#/matrix'")
  await page.getByRole('link', { name: /^worker-2 multinic1: [\d./]+ Pending, Paused$/ }).waitFor()
  await page.evaluate("location.hash = '#/'")
  await page.locator('.waiting-list li', { hasText: 'worker-2 multinic1' }).getByText('Paused').waitFor()
  await pause(null)
  await system.waitUntilReady()
  await system.detach({ vm: 'worker-2', name: 'multinic1' })
  await system.waitUntilReady()
})

test('experience H2, H6: the copied commands check and retry the node, and the page shows what they found', async () => {
  const { page } = tab
  const { namespace } = system.sandbox.nodes.get('worker-2') ?? assert.fail('no node')
  const mtu = async () => (await system.nodeState('worker-2')).nics.find(({ name }) => name === 'multinic0')?.mtu
  assert.equal(await mtu(), 9000)
  await run('ip', ['-n', namespace, 'link', 'set', 'multinic0', 'mtu', '1400'])
  await openNode('worker-2')
  await runCopied('Copy check command')
  await page.locator('.advice', { hasText: 'Drifted' }).waitFor()
  await soon(async () =>
    assert.match(
      await page.locator('.pipeline .pipeline-row').first().innerText(),
      /Drifted at Verified[\s\S]*differs/,
    ),
  )
  await page.evaluate("location.hash = '#/deviations'")
  await soon(async () =>
    assert.match(await page.locator('.deviation-table').innerText(), /mtu 9000\s+same\s+≠ 1400\s+observed \d+ s ago/),
  )
  await tab.picture('deviations-drifted')
  await openNode('worker-2')
  await runCopied('Copy retry command')
  await soon(async () => assert.equal(await mtu(), 9000))
  await soon(async () =>
    assert.match((await page.locator('.node-picture > svg').getAttribute('aria-label')) ?? '', /multinic0 Configured/),
  )
})

test('an attached port appears without a reload, and a detached port disappears', async () => {
  const { page } = tab
  await page.evaluate("location.hash = '#/matrix'")
  await page.getByRole('heading', { level: 1, name: 'Matrix' }).waitFor()
  assert.equal(await page.getByRole('link', { name: /^worker-3/ }).count(), 0)
  system.attach({ vm: 'worker-3', subnet: 'backup' })
  const cell = page.getByRole('link', { name: /^worker-3 multinic0: [\d./]+ Configured$/ })
  await cell.waitFor({ timeout: 60_000 })
  await tab.picture('matrix')
  await cell.hover()
  await page.getByRole('tooltip').getByText('1450').waitFor()
  await system.detach({ vm: 'worker-1', name: 'multinic1' })
  await page.getByRole('link', { name: /^worker-1 multinic1/ }).waitFor({ state: 'detached', timeout: 60_000 })
  await page.evaluate("location.hash = '#/'")
  await page.locator('.recent-changes li.new').first().waitFor()
})

test('arrow keys move in the matrix', async () => {
  const { page } = tab
  await page.evaluate("location.hash = '#/matrix?order=name'")
  await page.getByRole('heading', { level: 1, name: 'Matrix' }).waitFor()
  await page.getByRole('link', { name: 'worker-1', exact: true }).focus()
  await page.keyboard.press('ArrowDown')
  await page.keyboard.press('ArrowRight')
  await soon(async () =>
    assert.match((await page.locator(':focus').getAttribute('aria-label')) ?? '', /^worker-2 multinic0/),
  )
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { level: 1, name: 'worker-2' }).waitFor()
})

test('the history shows the owner of an address after the port is detached', async () => {
  const { page } = tab
  const gone = await system.detach({ vm: 'worker-2', name: 'multinic0' })
  const ip = gone[0]?.fixedIps[0]?.ipAddress ?? assert.fail('nothing was detached')
  await system.waitUntilReady()
  await page.evaluate(`location.hash = '#/history?q=${ip}'`)
  await page
    .getByText('Was assigned to worker-2 multinic0')
    .or(page.getByText('was not assigned at that time'))
    .waitFor()
  await page.locator('.history-table .op.removed').first().waitFor()
  await tab.picture('history')
})

test('the language can be switched and is kept', async () => {
  const { page } = tab
  await page.evaluate("location.hash = '#/'")
  await page.locator('.sidebar').getByRole('button', { name: '한국어' }).click()
  await soon(async () => assert.equal(await heading(), '개요'))
  assert.equal(await page.evaluate('document.documentElement.lang'), 'ko')
  await page.reload()
  await soon(async () => assert.equal(await heading(), '개요'))
  await page.getByText('이상 없음').waitFor()
  await tab.picture('overview-ko')
  await page.locator('.sidebar').getByRole('button', { name: 'English' }).click()
  await soon(async () => assert.equal(await heading(), 'Overview'))
})

test('the theme can be switched and is kept', async () => {
  const { page } = tab
  const background = () => page.evaluate('getComputedStyle(document.body).backgroundColor')
  const light = await background()
  await page.locator('.sidebar').getByRole('button', { name: 'Dark' }).click()
  await soon(async () => assert.notEqual(await background(), light))
  await page.reload()
  await page.locator('.summary').waitFor()
  assert.notEqual(await background(), light)
  await tab.picture('overview-dark')
  await page.evaluate("location.hash = '#/topology'")
  await page.locator('.topology .ribbon').first().waitFor({ state: 'attached' })
  await page.locator('.selectable').first().click()
  await page.locator('.inspector h3').waitFor()
  await tab.picture('topology-dark')
  await page.locator('.sidebar').getByRole('button', { name: 'Light' }).click()
  await soon(async () => assert.equal(await background(), light))
})

test('no screen has an accessibility violation', async () => {
  const { page } = tab
  for (const screen of ['', 'matrix', 'nodes', 'topology', 'deviations', 'ports', 'history']) {
    await page.evaluate(`location.hash = '#/${screen}'`)
    await page.locator('main h1').waitFor()
    await soon(async () => assert.deepEqual(await accessibilityViolations(page), [], `on #/${screen}`))
  }
})

test('experience M14: no screen is wider than a phone, and each has its tab, its list and its filters', async () => {
  const phone = await browser.open(system.sandbox.urls['dashboard'] ?? '', {
    viewport: { width: 360, height: 780 },
    hasTouch: true,
    isMobile: true,
  })
  try {
    await phone.page.locator('main h1').waitFor()
    for (const screen of [
      '',
      'matrix',
      `nodes/${await provider()}/worker-1`,
      'topology',
      'deviations',
      'ports',
      'history',
    ]) {
      await phone.page.evaluate(`location.hash = '#/${screen}'`)
      await phone.page.locator('main h1').waitFor()
      await soon(async () =>
        assert.equal(await phone.page.evaluate('document.scrollingElement.scrollWidth'), 360, screen),
      )
      await soon(async () => assert.deepEqual(await accessibilityViolations(phone.page), [], `on #/${screen}`))
      await phone.picture(`phone-${screen.split('/')[0] || 'overview'}`)
    }
    const shown = (selector: string) => phone.page.locator(selector).first().isVisible()
    await phone.page.evaluate("location.hash = '#/topology'")
    await soon(async () => assert.deepEqual([await shown('.topology > svg'), await shown('.as-list a')], [false, true]))
    await phone.page.locator('.tabbar').getByRole('link', { name: 'Matrix' }).click()
    await soon(async () => assert.equal(await shown('.filters .chip'), false))
    await phone.page.getByRole('button', { name: 'Filters' }).click()
    await soon(async () => assert.equal(await shown('.filters .chip'), true))
    await phone.page.locator('.tabbar').getByRole('link', { name: 'Ports' }).click()
    await soon(async () => assert.equal(await phone.page.locator('main h1').textContent(), 'Ports'))
    assert.deepEqual(phone.problems, [])
  } finally {
    await phone.close()
  }
})

test('the page keeps its data while the inventory is unreachable, and reconnects', async () => {
  const { page } = tab
  assert.deepEqual(tab.problems, [])
  await page.evaluate("location.hash = '#/matrix'")
  await page.locator('.matrix-table tbody tr').first().waitFor()
  const gone = page.locator('.sidebar .live:not(.on)').waitFor({ timeout: 60_000 })
  system.killComponent('operator')
  await gone
  assert.ok((await page.locator('.matrix-table tbody tr').count()) > 0)
  await page.locator('.sidebar .live.on').waitFor({ timeout: 60_000 })
  await page.getByText('Live updates stopped.').waitFor({ state: 'detached' })
})
