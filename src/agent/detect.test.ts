import assert from 'node:assert/strict'
import { test } from 'node:test'
import { detectBackend } from './detect.ts'
import { hostPaths } from './paths.ts'

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
    const observed = { directories, files: Object.fromEntries(files.map(path => [path, file])) }
    const { kind, because } = detectBackend(observed, hostPaths, backend ? { backend } : {})
    assert.equal(`${kind}: ${because.join(', ')}`, expected)
  })
}
