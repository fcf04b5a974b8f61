/** The name of a provider in every command, against a real inventory. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { type Run, runner } from '../../test/support/cli.ts'
import { aWrite } from '../../test/support/inventory.ts'
import { startOpenInventory } from '../../test/support/open-inventory.ts'
import type { RunningInventory } from '../inventory/main.ts'

let open: RunningInventory
let multinic: Run

before(async () => {
  open = await startOpenInventory()
  multinic = runner({ MULTINIC_INVENTORY_URL: open.url })
})
after(() => open.close())

test('a cluster that is not known is no cluster without nodes', async () => {
  const expected = (known: string) => [1, '', [`not found: no cluster is named nope; ${known}`]]
  const answers = async () => {
    const all = [['status'], ['check'], ['export'], ['export', '-o', 'json']]
    return Promise.all(
      all.map(async args => {
        const { code, out, notes } = await multinic(...args, '--provider', 'nope')
        return [code, out, notes.slice(-1)]
      }),
    )
  }
  for (const answer of await answers()) assert.deepEqual(answer, expected('none is known yet'))
  await open.recorder.put([aWrite('seoul', { providerId: 'p9', providerName: 'Seoul 1' })])
  await open.recorder.put([aWrite('busan', { providerId: 'p8' })])
  for (const answer of await answers()) assert.deepEqual(answer, expected('known: p8, Seoul 1 (p9)'))
  const korean = await multinic('status', '--provider', 'nope', '--lang', 'ko')
  assert.deepEqual(korean.notes, ['찾을 수 없음: 이름이 nope인 클러스터가 없습니다. 알려진 클러스터: p8, Seoul 1 (p9)'])
  assert.equal((await multinic('status', '--provider', 'p8')).code, 0)
})

test('every command shows the name of the provider, and its ID on demand', async () => {
  await open.recorder.put([aWrite('seoul', { providerId: 'p9', providerName: 'Seoul 1', state: 'Failed' })])
  const shown = async (...args: string[]) => {
    const { out } = await multinic(...args)
    assert.doesNotMatch(out, /p9/, args.join(' '))
    return [out, (await multinic(...args, '-o', 'wide')).out] as const
  }
  for (const args of [
    ['status', 'seoul'],
    ['why', 'seoul'],
    ['find', 'port-seoul'],
    ['find', 'Seo'],
    ['find', 'Seo', '--at', new Date().toISOString()],
    ['find', '--ever', 'port-seoul-0'],
  ]) {
    const [brief, wide] = await shown(...args)
    assert.match(brief, /Seoul 1/, args.join(' '))
    assert.match(wide, /Seoul 1 \(p9\)/, args.join(' '))
  }
  for (const args of [
    ['history', 'seoul'],
    ['check', '--provider', 'p9'],
  ])
    assert.match((await shown(...args))[1], /Seoul 1 \(p9\)/, args.join(' '))
  const [found] = JSON.parse((await multinic('find', 'Seo', '-o', 'json')).out)
  assert.deepEqual([found.kind, found.value, found.providerId], ['provider', 'Seoul 1', 'p9'])
  for (const args of [
    ...['status', 'why', 'history'].map(command => [command, 'seoul']),
    ...[
      ['find', 'port-seoul-0'],
      ['find', '--ever', 'port-seoul-0'],
      ['check', '--provider', 'p9'],
    ],
  ]) {
    const [head, line] = (await multinic(...args, '-o', 'csv')).out.split('\r\n').map(row => row.split(','))
    assert.equal(line?.[head?.indexOf('providerName') ?? -1], 'Seoul 1', args.join(' '))
  }
})
