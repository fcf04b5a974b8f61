import assert from 'node:assert/strict'
import { test } from 'node:test'
import { hostPaths } from '../paths.ts'
import { aLink } from '../test/agent.fixture.ts'
import { detectBackend } from './detect.ts'

const { netplan, networkManager, networkScripts } = hostPaths
const file = { text: '', mode: 0o600, uid: 0, gid: 0 }

type Case = [directories: string[], files: string[], expected: string, backend?: 'netplan' | 'networkmanager' | 'ifcfg']

const cases: Record<string, Case> = {
  'Ubuntu has Netplan': [[netplan], [], 'netplan: /etc/netplan exists'],
  'Netplan takes precedence over NetworkManager': [[netplan, networkManager], [], 'netplan: /etc/netplan exists'],
  'RHEL 9 has keyfiles': [
    [networkManager, networkScripts],
    [],
    `networkmanager: no /etc/netplan, ${networkManager} exists`,
  ],
  'RHEL 8 with ifcfg files keeps them': [
    [networkManager, networkScripts],
    [`${networkScripts}/ifcfg-eth0`, `${networkScripts}/ifcfg-lo`],
    `ifcfg: ${networkScripts} has 1 ifcfg files, no .nmconnection files`,
  ],
  'a host with keyfiles uses them': [
    [networkManager, networkScripts],
    [`${networkScripts}/ifcfg-eth0`, `${networkManager}/eth1.nmconnection`],
    `networkmanager: no /etc/netplan, ${networkManager} exists`,
  ],
  'RHEL 7 has scripts only': [[networkScripts], [], `ifcfg: only ${networkScripts} exists`],
  'no known backend': [[], [], `unknown: no ${netplan}, no ${networkManager}, no ${networkScripts}`],
  'MULTINIC_BACKEND takes precedence': [
    [netplan],
    [],
    'networkmanager: MULTINIC_BACKEND=networkmanager',
    'networkmanager',
  ],
}

for (const [name, [directories, files, expected, backend]] of Object.entries(cases)) {
  test(name, () => {
    const observed = {
      directories,
      files: Object.fromEntries(files.map(path => [path, file])),
      links: [],
      managers: {},
    }
    const { kind, because } = detectBackend(observed, hostPaths, backend ? { backend } : {})
    assert.equal(`${kind}: ${because.join(', ')}`, expected)
  })
}

const yaml = `${netplan}/01-all.yaml`
const renderers: Record<string, [text: string, expected: string]> = {
  'a block': ['network:\n  version: 2\n  renderer: NetworkManager\n', 'networkmanager'],
  'a quoted value': ['# by hand\nnetwork:\n\n    renderer: "NetworkManager" # all\n', 'networkmanager'],
  'a one-line map': ['network: {ethernets: {e: {renderer: networkd}}, renderer: NetworkManager}\n', 'networkmanager'],
  networkd: ['network:\n  renderer: networkd\n', 'netplan'],
  'a comment': ['network:\n  version: 2\n  # renderer: NetworkManager\n', 'netplan'],
  'another device': ['network:\n  ethernets:\n    ens9:\n      renderer: NetworkManager\n', 'netplan'],
}

for (const [name, [text, expected]] of Object.entries(renderers))
  test(`the renderer of Netplan: ${name}`, () => {
    const observed = { directories: [netplan, networkManager], files: { [yaml]: { ...file, text } } }
    assert.equal(detectBackend({ ...observed, links: [], managers: {} }, hostPaths, {}).kind, expected)
  })

test('the last file of Netplan sets the renderer', () => {
  const files = {
    [yaml]: { ...file, text: 'network: {renderer: NetworkManager}' },
    [`${netplan}/99-last.yaml`]: { ...file, text: 'network: {renderer: networkd}' },
  }
  const observed = { directories: [netplan, networkManager], files, links: [], managers: {} }
  assert.equal(detectBackend(observed, hostPaths, {}).kind, 'netplan')
})

test('on a host with Netplan, a NIC that NetworkManager manages selects NetworkManager, and our profile keeps it', () => {
  const detect = (manager: 'none' | 'other', files: string[] = []) => {
    const links = [aLink({ ifindex: 7, name: 'ens4' })]
    const directories = [netplan, networkManager]
    const observed = { directories, files: Object.fromEntries(files.map(path => [path, file])), links }
    const { kind, because } = detectBackend({ ...observed, managers: { 7: manager } }, hostPaths, {})
    return `${kind}: ${because}`
  }
  assert.equal(detect('other'), 'networkmanager: NetworkManager manages ens4')
  assert.equal(detect('none'), 'netplan: /etc/netplan exists')
  const profile = `${networkManager}/multinic3.nmconnection`
  assert.equal(detect('none', [profile]), `networkmanager: ${profile} exists`)
})

test('the renderer NetworkManager without its directory or without the bus is refused', () => {
  const files = { [yaml]: { ...file, text: 'network: {renderer: NetworkManager}' } }
  const observed = { directories: [netplan], files, links: [], managers: {} }
  const detect = (more: object) => {
    const { kind, because } = detectBackend({ ...observed, ...more }, hostPaths, {})
    return `${kind}: ${because.join(', ')}`
  }
  const renderer = `unknown: ${yaml} sets the renderer NetworkManager`
  assert.equal(detect({}), `${renderer}, no ${networkManager}`)
  const directories = [netplan, networkManager]
  assert.equal(detect({ directories, networkManagerError: 'denied' }), `${renderer}, denied`)
  assert.equal(detect({ directories, networkManagerError: 'denied', files: {} }), 'netplan: /etc/netplan exists')
})
