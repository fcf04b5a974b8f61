/**
 * Every backend passes the same suite, on each kind of host that reads its files: which files a NIC gets, that the agent knows
 * them again as its own, what a second run and a removal change, which file decides at boot, and what the Job mounts.
 *
 * The texts themselves are golden files (test/golden). Real daemons read them after a reboot in the tests named below.
 */
import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { test } from 'node:test'
import { allBackends, backendDirectoriesIn, backends } from '../../src/agent/backends/backends.ts'
import { filesFor } from '../../src/agent/backends/files.ts'
import { filesOfIndex, ownedNics, ownFiles } from '../../src/agent/backends/owned.ts'
import { hostPaths } from '../../src/agent/paths.ts'
import { ruleText } from '../../src/agent/state/change.ts'
import type { DesiredNic } from '../../src/agent/state/desired-nic.ts'
import type { FileState, Observed } from '../../src/agent/state/observed.ts'
import { rulesInFile } from '../../src/agent/state/owned-rules.ts'
import { macAddressIn, recordsDirectory } from '../../src/agent/state/ownership.ts'
import { afterPlan, aNode, anInterface, macOf, planOf } from '../../src/agent/test/agent.fixture.ts'
import { differences, fileDifferences } from '../../src/agent/verify/verify.ts'
import { hostPart } from '../../src/contract/address.ts'
import { type Backend, backendDirectories, backendNames } from '../../src/contract/backend.ts'
import type { Interface } from '../../src/contract/interfaces.ts'
import { controllerConfig } from '../../src/controller/config.ts'
import { aNode as aKubernetesNode } from '../../src/controller/controller.fixture.ts'
import { agentJob } from '../../src/controller/job.ts'

/** Where real daemons apply the files of the backend after a reboot. */
const reboots = {
  netplan: 'src/agent/test/reboot.e2e.test.ts',
  networkmanager: 'src/agent/test/reboot.e2e.test.ts',
  ifcfg: 'test/vm/ifcfg.vm.test.ts',
} as const satisfies Record<Backend, string>

const goldenCases = ['many-routes', 'no-policy-routing', 'plain', 'router-advertisements', 'two-families']

interface Row {
  interfaces: Interface[]
  env?: Record<string, string>
}

const v6 = { address: 'fd00:1::10', cidr: 'fd00:1::/64', gateway: 'fd00:1::1' }
const { mtu: _, gateway: __, portId: ___, ...least } = anInterface(0)
const rows: Record<string, Row> = {
  IPv4: { interfaces: [anInterface(0)] },
  IPv6: { interfaces: [anInterface(0, v6)] },
  'both families': { interfaces: [anInterface(0, { addresses: ['fd00:1::10/64'] })] },
  'several addresses': { interfaces: [anInterface(0, { addresses: ['10.100.0.11/24', '10.200.0.12/25'] })] },
  'neither MTU, gateway nor port': { interfaces: [least] },
  'a large MTU': { interfaces: [anInterface(0, { mtu: 9000 })] },
  'routes of the subnet': {
    interfaces: [anInterface(0, { routes: [{ destination: '10.9.0.0/16', nexthop: '10.100.0.2' }] })],
  },
  'a route with a next hop elsewhere': {
    interfaces: [anInterface(0, { routes: [{ destination: '10.9.0.0/16', nexthop: '10.77.0.2' }] })],
  },
  'allowed address pairs': { interfaces: [anInterface(0, { allowedAddressPairs: ['10.40.0.0/24'] })] },
  'router advertisements': { interfaces: [anInterface(0)], env: { NETWORK_ACCEPT_RA: 'true' } },
  'no policy routing': { interfaces: [anInterface(0)], env: { NETWORK_POLICY_ROUTING_ENABLED: 'false' } },
  'two NICs in one network': {
    interfaces: [anInterface(0), anInterface(1, { address: '10.100.0.11', cidr: '10.100.0.0/24' })],
  },
}

/** A host with the files of the backend, with and without NetworkManager where either may read them. */
interface Host {
  name: string
  backend: Backend
  byManager: boolean
}
const hosts: Host[] = backendNames.flatMap(backend => {
  const { readByNetworkManager: when } = backends[backend]
  const readers = when === 'ifRunning' ? [false, true] : [when === 'always']
  return readers.map(byManager => ({
    name: `${backend}${byManager ? ' with NetworkManager' : ''}`,
    backend,
    byManager,
  }))
})

const { networkd, udevRules, sysctl, boot, units, state } = hostPaths
function nodeOf({ backend, byManager }: Host, nics: number, files: Observed['files'] = {}): Observed {
  const directories = [backends[backend].directory(hostPaths), networkd, udevRules, sysctl, boot, units, state]
  const managers = byManager
    ? Object.fromEntries(Array.from({ length: nics }, (_, n) => [n + 3, 'other' as const]))
    : {}
  const node = aNode(nics, { directories, managers, files })
  const up = node.links.map(link => ({ ...link, carrier: true }))
  return { ...node, links: up }
}

/** Rules by a mark alone do not tell their family in every file format. */
const inAnyFamily = (rules: readonly string[]) =>
  new Set(rules.map(rule => rule.replace(/^from (0\.0\.0\.0\/0|::\/0)(?= (iif multinic\d )?fwmark)/, 'from all')))
const ownPathsIn = ({ files }: Observed) => Object.keys(files).filter(path => ownFiles(hostPaths).has(path))
const aFile = (text: string): FileState => ({ text, mode: 0o600, uid: 0, gid: 0 })

/** What the files of the backend must say, whatever their format. */
function valuesOf(nic: DesiredNic): string[] {
  return [
    nic.name,
    nic.macAddress,
    ...nic.addresses.map(({ cidr }) => hostPart(cidr)),
    ...nic.routes.flatMap(({ gateway }) => gateway ?? []),
    ...(nic.mtu === undefined ? [] : [String(nic.mtu)]),
  ]
}

for (const host of hosts) {
  const own = backends[host.backend]

  for (const [what, { interfaces, env = {} }] of Object.entries(rows)) {
    test(`${host.name}, ${what}: the files say what was requested, and are known as ours again`, () => {
      const before = nodeOf(host, interfaces.length)
      const plan = planOf(before, interfaces, env)
      assert.deepEqual([plan.backend.kind, [...plan.refused]], [host.backend, []])
      for (const { nic } of plan.accepted) {
        const files = filesFor(host.backend, nic, hostPaths, before)
        const others = new Set(filesOfIndex(hostPaths, 9 - nic.index))
        for (const path of Object.keys(files)) {
          assert.ok(filesOfIndex(hostPaths, nic.index).includes(path), `${path} is not owned`)
          assert.ok(!others.has(path), `${path} is owned by two NICs`)
          if (dirname(path) === own.directory(hostPaths)) assert.match(path.split('/').at(-1) ?? '', own.fileNames)
        }
        const ours = own.owns(hostPaths, nic.index).flatMap(path => files[path]?.text ?? [])
        const text = ours.join('\n').toLowerCase()
        for (const value of valuesOf(nic)) assert.ok(text.includes(value), `${value} is not in:\n${text}`)
        assert.ok(ours.some(each => macAddressIn(each) === nic.macAddress))
        assert.deepEqual(inAnyFamily(ours.flatMap(rulesInFile)), inAnyFamily(nic.rules.map(ruleText)))
      }
    })

    test(`${host.name}, ${what}: a second run changes nothing, and a removal leaves nothing`, () => {
      const before = nodeOf(host, interfaces.length)
      const after = afterPlan(before, interfaces, env)
      const again = planOf(after, interfaces, env)
      assert.deepEqual([again.backend.kind, again.units], [host.backend, []])
      for (const { nic, link } of again.accepted) {
        assert.deepEqual(differences(nic, link.ifindex, after), [])
        assert.deepEqual(fileDifferences(filesFor(host.backend, nic, hostPaths, after), after), [])
      }
      assert.ok(ownPathsIn(after).some(path => own.owns(hostPaths, 0).includes(path)))
      const removed = afterPlan(after, [], env)
      assert.deepEqual(ownPathsIn(removed), [])
      assert.deepEqual(
        removed.links.map(({ name }) => name),
        before.links.map(({ name }) => name),
      )
    })
  }

  const configured = afterPlan(nodeOf(host, 2), [anInterface(0)])

  test(`${host.name}: files without a record are ours, and go with their NIC`, () => {
    const files = Object.fromEntries(
      Object.entries(configured.files).filter(([path]) => !path.startsWith(recordsDirectory(hostPaths))),
    )
    const known = ownedNics({ ...configured, files }, hostPaths)
    assert.deepEqual(
      known.map(({ index, macAddress }) => [index, macAddress]),
      [[0, macOf(0)]],
    )
    const links = configured.links.filter(({ ifindex }) => ifindex !== 3)
    assert.deepEqual(ownPathsIn(afterPlan({ ...configured, files, links }, [])), [])
  })

  test(`${host.name}: with another index a NIC has the files of that index alone`, () => {
    const moved = afterPlan(configured, [anInterface(5, { macAddress: macOf(0) })])
    const paths = ownPathsIn(moved)
    assert.ok(paths.some(path => own.owns(hostPaths, 5).includes(path)))
    assert.deepEqual(
      paths.filter(path => !filesOfIndex(hostPaths, 5).includes(path)),
      [],
    )
  })

  /** The reason of a refusal with one more file on the host. */
  const refusedWith = (path: string, text: string, env: Record<string, string> = {}) =>
    planOf(nodeOf(host, 1, { [path]: aFile(text) }), [anInterface(0)], env).refused.get(0)?.reason

  const claims = {
    '.link': [networkd, `[Match]\nMACAddress=${macOf(0)}\n[Link]\nName=lan0\n`],
    '.network': [networkd, `[Match]\nMACAddress=${macOf(0)}\n[Network]\nDHCP=yes\n`],
    '.rules': [udevRules, `ATTR{address}=="${macOf(0)}", NAME:="lan0"\n`],
  } as const
  for (const [extension, [directory, text]] of Object.entries(claims))
    test(`${host.name}: a foreign ${extension} file before ours is refused if it decides at boot`, () => {
      const decides = own.kindsAtBoot.some(kind => kind === extension)
      assert.equal(refusedWith(`${directory}/00-foreign${extension}`, text), decides ? 'ForeignFile' : undefined)
      assert.equal(refusedWith(`${directory}/99-foreign${extension}`, text), undefined)
    })

  test(`${host.name}: a foreign file that names the NIC loses, or the NIC is refused`, () => {
    const [first = ''] = own.owns(hostPaths, 0)
    const path = first.replace(/\d*-?multinic0/, name => name.replace('multinic0', 'foreign0'))
    assert.match(path.split('/').at(-1) ?? '', own.fileNames)
    const decided = own.againstForeignFiles === 'wins'
    assert.equal(refusedWith(path, `HWADDR=${macOf(0)}\n`), decided ? undefined : 'ForeignFile')
    assert.equal(refusedWith(path, `HWADDR=${macOf(0)}\n`, { NETWORK_TAKEOVER: 'refuse' }), 'ForeignFile')
  })
}

for (const backend of backendNames) {
  const own = backends[backend]

  test(`${backend}: the Job mounts what the agent writes and searches`, () => {
    assert.equal(own.directory(hostPaths), backendDirectories[backend].path)
    const node = { ...aKubernetesNode(), backend }
    const config = {
      apiVersion: 'multinic.io/v1',
      kind: 'MultiNicNodeConfig',
      metadata: { name: node.name, namespace: 'multinic-system' },
      spec: { nodeName: node.name, interfaces: [] },
    }
    const job = agentJob(
      { config, node, interfaces: [], specHash: '', action: 'apply', attempt: 0, takesSlot: false },
      controllerConfig({ AGENT_IMAGE: 'multinic-agent:dev' }).agent,
    )
    const mounts = job.spec.template.spec.containers[0]?.volumeMounts ?? []
    const isIn = (path: string, mountPath: string) => path === mountPath || path.startsWith(`${mountPath}/`)
    const writable = [own.directory(hostPaths), ...own.owns(hostPaths, 0).map(path => dirname(path))]
    for (const path of [...writable, own.backups(hostPaths)])
      assert.ok(
        mounts.some(({ mountPath, readOnly }) => isIn(path, mountPath) && !readOnly),
        `${path} is not mounted`,
      )
    for (const path of own.alsoRead(hostPaths))
      assert.ok(
        mounts.some(({ mountPath, readOnly }) => isIn(path, mountPath) && readOnly),
        `${path} is not mounted`,
      )
  })

  test(`${backend}: copies of removed files are no files of the backend`, () => {
    assert.ok(![own.directory(hostPaths), ...own.alsoRead(hostPaths)].includes(own.backups(hostPaths)))
  })

  test(`${backend}: has golden files, and a test with a reboot`, () => {
    const at = (path: string) => new URL(`../../${path}`, import.meta.url)
    for (const name of goldenCases) assert.ok(existsSync(at(`test/golden/${backend}/${name}/input.json`)), name)
    assert.match(readFileSync(at(reboots[backend]), 'utf8'), /reboot\(/)
  })
}

test('no two backends write to one directory, or own one file', () => {
  const directories = backendDirectoriesIn(hostPaths)
  assert.equal(new Set(directories).size, directories.length)
  const files = allBackends.flatMap(({ owns }) => owns(hostPaths, 0))
  assert.equal(new Set(files).size, files.length)
})
