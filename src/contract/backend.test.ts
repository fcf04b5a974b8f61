import assert from 'node:assert/strict'
import { test } from 'node:test'
import { backendOf } from './backend.ts'

function backendWith(osImage: string, label?: string): string {
  const labels = label === undefined ? {} : { 'multinic.io/backend': label }
  return backendOf({ metadata: { name: 'a', labels }, status: { nodeInfo: { osImage } } })
}

const images: Record<string, string> = {
  'Ubuntu 24.04 LTS': 'netplan',
  'Debian GNU/Linux 12 (bookworm)': 'netplan',
  'Red Hat Enterprise Linux 9.4 (Plow)': 'networkmanager',
  'Red Hat Enterprise Linux CoreOS 418.94': 'networkmanager',
  'Rocky Linux 8.9 (Green Obsidian)': 'ifcfg',
  'Rocky Linux 10.7 (Red Quartz)': 'networkmanager',
  'AlmaLinux 8.10 (Cerulean Leopard)': 'ifcfg',
  'Oracle Linux Server 7.9': 'ifcfg',
  'RHEL 8': 'ifcfg',
  'CentOS Linux 7 (Core)': 'ifcfg',
  'CentOS Stream 9': 'networkmanager',
  'Fedora Linux 41 (Server Edition)': 'networkmanager',
  'Fedora Linux 38': 'networkmanager',
  'Fedora Linux Rawhide': 'networkmanager',
  'openSUSE Leap 15.8': 'netplan',
  '': 'netplan',
}

for (const [osImage, backend] of Object.entries(images))
  test(`${osImage || 'an unknown system'} is ${backend}`, () => assert.equal(backendWith(osImage), backend))

test('the label on the Node overrides the operating system', () => {
  assert.deepEqual(
    ['netplan', 'networkmanager', 'ifcfg'].map(label => backendWith('CentOS Stream 9', label)),
    ['netplan', 'networkmanager', 'ifcfg'],
  )
  assert.equal(backendWith('Ubuntu 24.04 LTS', 'networkmanager'), 'networkmanager')
  assert.equal(backendWith('Ubuntu 24.04 LTS', 'ifcfg'), 'ifcfg')
  assert.equal(backendWith('Ubuntu 24.04 LTS', 'nonsense'), 'netplan')
})

test('a Node without labels, status or facts is netplan', () => {
  assert.equal(backendOf({ metadata: { name: 'a' } }), 'netplan')
  assert.equal(backendOf({ metadata: { name: 'a' }, status: {} }), 'netplan')
  assert.equal(backendOf({ metadata: { name: 'a' }, status: { nodeInfo: {} } }), 'netplan')
})
