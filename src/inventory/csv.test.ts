import assert from 'node:assert/strict'
import { test } from 'node:test'
import { aWrite } from '../../test/support/inventory.ts'
import { csvOf } from './csv.ts'
import { planWrite } from './plan.ts'

test('CSV has one line per interface, quotes where needed, and no formula', () => {
  const at = '2026-01-01T00:00:00.000Z'
  const write = aWrite('n', { instanceName: 'web, 1', providerName: 'Seoul 1' })
  const [nic] = write.config.interfaces
  if (nic) Object.assign(nic, { subnetName: 'storage', networkName: '=net', alias: 'multinic0' })
  const macAddress = nic?.macAddress ?? ''
  const interfaces = [{ portId: 'port-n-0', macAddress, status: 'Configured' as const, reason: 'a "b", c' }]
  const given = planWrite(undefined, { ...write, interfaces }, at)?.after ?? assert.fail()
  const [head, line, rest] = csvOf([{ ...given, nodeName: '=cmd()' }]).split('\r\n')
  assert.match(
    head ?? '',
    /^providerId,nodeName,instanceId,interface,.*,updatedAt,instanceName,subnetName,networkName,alias,providerName$/,
  )
  assert.equal(
    line,
    `p1,'=cmd(),vm-n,multinic0,${nic?.macAddress},${nic?.address}/16,1450,port-n-0,,,Configured,"a ""b"", c",${at},"web, 1",storage,'=net,multinic0,Seoul 1`,
  )
  assert.equal(rest, '')
})
