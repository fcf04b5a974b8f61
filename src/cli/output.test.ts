/** Every command that reads the inventory has every output format; colours only on a terminal. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { parse } from 'yaml'
import { type Run, runner } from '../../test/support/cli.ts'
import { aWrite, someVerdicts } from '../../test/support/inventory.ts'
import { startOpenInventory } from '../../test/support/open-inventory.ts'
import type { RunningInventory } from '../inventory/main.ts'

let inventory: RunningInventory
let multinic: Run
const seen = '2026-01-01T10:00:00Z'

before(async () => {
  inventory = await startOpenInventory()
  const w1 = aWrite('w1', { nics: 2 })
  const interfaces = w1.config.interfaces.map(({ macAddress, portId = '' }) => ({
    macAddress,
    portId,
    status: 'Configured' as const,
    stages: { seen },
    observed: { link: 'up' as const },
  }))
  const ignored = { vm: 'vm-w1', portId: 'port-late', reason: 'DeviceOwnerNotAllowed', message: 'odd' }
  await inventory.recorder.put([w1], [someVerdicts([ignored], { config: 'ns/main' })])
  await inventory.recorder.put([{ ...w1, state: 'Configured', interfaces, why: 'reported' }, aWrite('w2')])
  multinic = runner({ MULTINIC_INVENTORY_URL: inventory.url })
})
after(async () => {
  await inventory.close()
})

/** Arguments; what only the wide format shows; header and number of rows of the CSV. */
const commands: Record<string, [words: string[], wide: RegExp, head: string, rows: number]> = {
  status: [['status'], /port port-w1-1 {2}link up/, 'providerId,config,nodeName,instanceId,state,interface,status', 3],
  why: [['why', 'w1'], /02:00:00:28:e1:00 {2}mtu 1450 {2}link up/, 'providerId,nodeName,instanceId,config,portId', 3],
  history: [
    ['history', 'w1'],
    /status {2}#\d+ {2}provider p1 {2}reported/,
    'id,at,providerId,nodeName,what,why,change',
    9,
  ],
  'history --at': [['history', 'w1', '--at', '1ms'], /VM vm-w1/, 'providerId,config,nodeName,instanceId,state', 2],
  find: [
    ['find', '10.1.'],
    /STATUS +OBSERVED +PROVIDER +VM\n.*Configured +p1 +vm-w1/,
    'kind,value,providerId,nodeName,interface',
    1,
  ],
  check: [['check'], /PORT +PROVIDER\n.*port-w2-0 +p1/, 'providerId,nodeName,interface,portId,status,reason', 1],
  export: [
    ['export'],
    /^PROVIDERID .* LINK .*\n(.*\n)*.*multinic1 .*up/,
    'providerId,nodeName,instanceId,interface',
    3,
  ],
}

for (const [name, [words, wide, head, rows]] of Object.entries(commands)) {
  test(`${name}: wide shows more than the default`, async () => {
    assert.match((await multinic(...words, '-o', 'wide')).out, wide)
    assert.doesNotMatch((await multinic(...words)).out, wide)
  })
  test(`${name}: JSON and YAML are the same data`, async () => {
    const data = JSON.parse((await multinic(...words, '-o', 'json')).out)
    assert.deepEqual(parse((await multinic(...words, '-o', 'yaml')).out), data)
    assert.ok(JSON.stringify(data).includes('p1'))
  })
  test(`${name}: CSV has a header and one row per item`, async () => {
    const lines = (await multinic(...words, '-o', 'csv')).out.split('\r\n')
    assert.ok(lines[0]?.startsWith(head), lines[0])
    assert.equal(lines.length - 2, rows, lines.join('\n'))
    const cells = lines[0]?.split(',').length ?? 0
    for (const line of lines.slice(1, -1)) assert.ok(line.split(',').length >= cells, line)
  })
  test(`${name}: colours on a terminal only`, async () => {
    const colour = '\u001b['
    for (const form of [[], ['-o', 'wide'], ['-o', 'json'], ['-o', 'csv']])
      assert.ok(!(await multinic(...words, ...form)).out.includes(colour), form.join(' '))
    const seen = await multinic.with({ terminal: true })(...words, ...(name === 'export' ? ['-o', 'wide'] : []))
    assert.ok(seen.out.includes(colour))
    for (const form of ['json', 'yaml', 'csv'])
      assert.ok(!(await multinic.with({ terminal: true })(...words, '-o', form)).out.includes(colour), form)
  })
}
