import assert from 'node:assert/strict'
import { test } from 'node:test'
import { hostPaths } from '../paths.ts'
import { desiredNics } from '../plan/desired.ts'
import { anInterface, nodeWithBothFamilies, settingsFrom } from '../test/agent.fixture.ts'
import { filesFor } from './files.ts'

const [nic] = desiredNics([anInterface(0)], settingsFrom(), nodeWithBothFamilies)
const all = Object.values(hostPaths)
const observed = { directories: all, managers: {} }

test('the files of a NIC follow the backend, who reads them, and the directories of the host', () => {
  assert.ok(nic)
  const names = (files: Record<string, unknown>) => Object.keys(files).map(path => path.split('/').at(-1))
  const shared = ['05-multinic0.link', '05-multinic0.rules', '90-multinic0.conf']
  const netplan = filesFor('netplan', nic, hostPaths, observed)
  assert.deepEqual(names(netplan), [...shared, '05-multinic0.network', '90-multinic0.yaml'])
  assert.deepEqual(filesFor('netplan', nic, hostPaths, observed), netplan)
  assert.deepEqual(names(filesFor('networkmanager', nic, hostPaths, observed)), [...shared, 'multinic0.nmconnection'])
  const scripts = filesFor('ifcfg', nic, hostPaths, observed)
  assert.deepEqual(names(scripts), [...shared, 'ifcfg-multinic0', 'route-multinic0', 'rule-multinic0'])
  const byManager = filesFor('ifcfg', nic, hostPaths, { directories: all, managers: { 1: 'none' } })
  assert.deepEqual(names(byManager), [...shared, 'ifcfg-multinic0', 'route-multinic0'])
  assert.deepEqual(filesFor('ifcfg', nic, hostPaths, observed), scripts)
})

test('files go where the host has its directories, with their modes', () => {
  assert.ok(nic)
  const moved = { ...hostPaths, netplan: '/elsewhere' }
  const files = filesFor('netplan', nic, moved, { directories: Object.values(moved), managers: {} })
  assert.equal(files['/elsewhere/90-multinic0.yaml']?.mode, 0o600)
  assert.equal(files[`${hostPaths.networkd}/05-multinic0.network`]?.mode, 0o644)
  assert.ok(filesFor('netplan', nic, hostPaths, observed)[`${hostPaths.netplan}/90-multinic0.yaml`])
})
