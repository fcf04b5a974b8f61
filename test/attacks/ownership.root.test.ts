/**
 * Attacks on ownership: what others put on the node stays, whatever number or name it has.
 */
import assert from 'node:assert/strict'
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { ipWrapper } from '../rigs/host/ip-wrapper.ts'
import { requestedInterface } from '../rigs/host/node.ts'
import { type Attack, attacks, configureAll, outcomes, requestAll } from './attack.ts'

/** Beside ours in every respect: priority, table, and both. */
const foreignRules = [
  'rule add from 192.168.7.7 lookup 100 priority 10100',
  'rule add from 192.168.7.8 lookup 500 priority 10100 protocol static',
  'rule add from 192.168.7.9 lookup 105 priority 10105 protocol static',
  'rule add to 172.31.0.0/16 lookup 100 priority 10100 protocol static',
  'rule add fwmark 0x42 lookup 100 priority 10100 protocol static',
  '-6 rule add from fd99::7 lookup 100 priority 10100 protocol static',
]

const cases: Attack[] = [
  {
    finding: 'F7',
    name: 'foreign rules with our priorities and tables stay, before and after the first run, and are reported',
    prepare: node => {
      for (const rule of foreignRules) node.ip(...rule.split(' '))
    },
    expect: async (result, node) => {
      assert.deepEqual(outcomes(result), ['Configured'], result.log)
      assert.match(
        result.report?.interfaces[0]?.message ?? '',
        /foreign rule from 192\.168\.7\.7\/32 lookup 100 priority 10100/,
      )
      const again = await node.agent(requestAll(node))
      assert.deepEqual([outcomes(again), again.report?.changed], [['Configured'], 0], again.log)
    },
  },
  {
    finding: 'F7',
    name: 'a node that never had an interface keeps every rule',
    prepare: node => {
      for (const rule of foreignRules) node.ip(...rule.split(' '))
    },
    request: () => ({ mode: 'cleanup', interfaces: [] }),
    expect: result => assert.deepEqual([result.report?.verdict, result.report?.changed], ['Removed', 0], result.log),
  },
  {
    finding: 'F7',
    name: 'an identical rule is adopted without removing it, and leaves with the interface',
    prepare: node => void node.ip(...'rule add from 10.100.0.0/24 iif lo lookup 100 priority 10070'.split(' ')),
    expect: async (result, node) => {
      assert.deepEqual(outcomes(result), ['Configured'], result.log)
      assert.doesNotMatch(result.log, /remove rule/)
      assert.match(node.ip('rule'), /10070:\s+from 10\.100\.0\.0\/24 iif lo lookup 100\s/)
      const removed = await node.agent({ mode: 'cleanup', interfaces: [] })
      assert.equal(removed.report?.verdict, 'Removed', removed.log)
      assert.doesNotMatch(node.ip('rule'), /10\.100\.0/)
    },
    cleanup: false,
  },
  {
    finding: 'F7',
    name: 'a foreign rule for an address of the interface in another table stays',
    prepare: async node => {
      await configureAll(node)
      node.ip('rule', 'add', 'from', '10.100.0.10', 'fwmark', '7', 'lookup', '100', 'priority', '10100')
      node.ip('rule', 'add', 'from', '10.100.0.0/25', 'lookup', '100', 'priority', '10100')
    },
    request: node => ({
      interfaces: node.nics.map(nic => requestedInterface(nic, 0, { address: '10.100.0.20' })),
    }),
    expect: async (result, node) => {
      assert.deepEqual(outcomes(result), ['Configured'], result.log)
      assert.match(node.ip('rule'), /from 10\.100\.0\.10 fwmark 0x7 lookup 100/)
      assert.doesNotMatch(node.ip('rule'), /from 10\.100\.0\.10 lookup 100/)
      const removed = await node.agent({ mode: 'cleanup', interfaces: [] })
      assert.equal(removed.report?.verdict, 'Removed', removed.log)
      assert.match(node.ip('rule'), /from 10\.100\.0\.10 fwmark 0x7 lookup 100/)
    },
  },
  {
    finding: 'F7',
    name: 'a foreign rule that has all selectors of ours and one more is not removed in its place',
    prepare: async node => {
      const rule = 'rule add from 10.100.0.0/24 iif lo fwmark 7 lookup 100 priority 10070 protocol static'
      node.ip(...rule.split(' '))
      await configureAll(node)
    },
    request: () => ({ mode: 'cleanup', interfaces: [] }),
    expect: async (result, node) => {
      assert.match(node.ip('rule'), /from 10\.100\.0\.0\/24 fwmark 0x7 iif lo lookup 100/)
      assert.equal(result.report?.verdict, 'Failed', result.log)
      assert.match(result.report?.message ?? '', /the kernel could remove a foreign rule/)
      node.ip('rule', 'del', 'from', '10.100.0.0/24', 'fwmark', '7', 'lookup', '100')
      const removed = await node.agent({ mode: 'cleanup', interfaces: [] })
      assert.equal(removed.report?.verdict, 'Removed', removed.log)
      assert.doesNotMatch(node.ip('rule'), /10\.100\.0/)
    },
    cleanup: false,
  },
  {
    finding: 'F7',
    name: 'a rule that the record names is removed with its interface, in a form that the agent would not write',
    prepare: async node => {
      await configureAll(node)
      const rule = 'from 10.100.0.10/32 to 172.16.0.0/12 iif lo lookup 100 suppress_prefixlength 3 priority 10094'
      node.ip('rule', 'add', ...rule.split(' '), 'protocol', 'static')
      node.ip('rule', 'add', ...rule.replace('172.16.0.0/12', '172.32.0.0/12').split(' '), 'protocol', 'static')
      const path = node.path('var/lib/multinic/nics/fa163e000001.json')
      const record = JSON.parse(readFileSync(path, 'utf8')) as { rules: string[] }
      writeFileSync(path, JSON.stringify({ ...record, rules: [...record.rules, rule] }))
    },
    request: () => ({ mode: 'cleanup', interfaces: [] }),
    changesForeign: true,
    expect: (result, node) => {
      assert.equal(result.report?.verdict, 'Removed', result.log)
      assert.deepEqual(node.ip('rule').match(/10094:.*/g)?.length, 1)
      assert.match(node.ip('rule'), /10094:\s+from 10\.100\.0\.10 to 172\.32\.0\.0\/12 iif lo lookup 100/)
    },
    cleanup: false,
  },
  {
    finding: 'F7',
    name: 'a foreign route of the NIC in the table that it would get is refused',
    prepare: node => {
      node.ip('link', 'set', 'ens4', 'up')
      node.ip('route', 'add', '172.16.0.0/16', 'dev', 'ens4', 'table', '100')
    },
    ours: () => [],
    env: { PREFLIGHT_ALLOW_UP: 'true' },
    expect: result => assert.deepEqual(outcomes(result), ['Failed RoutingTableInUse'], result.log),
  },
  {
    finding: 'F7',
    name: 'a routing table with a foreign route is refused',
    prepare: node => void node.ip('route', 'add', '172.16.0.0/16', 'via', '10.0.0.1', 'table', '100'),
    expect: result => assert.deepEqual(outcomes(result), ['Failed RoutingTableInUse'], result.log),
  },
  {
    finding: 'F5',
    name: 'a rule that somebody adds while the agent runs is not removed with a failed interface',
    options: { nics: 2 },
    changesForeign: true,
    env: node =>
      ipWrapper(
        node,
        'case "$lines" in *"rule add from 10.100.0.0/24 iif lo lookup 100"*) nth 1 && $real rule add from 10.100.0.0/24 iif lo lookup 100 priority 10070 protocol static ;; esac',
      ),
    expect: async (result, node) => {
      assert.deepEqual(outcomes(result), ['Failed CommandFailed', 'Configured'], result.log)
      assert.match(node.ip('rule'), /10070:\s+from 10\.100\.0\.0\/24 iif lo lookup 100/)
      assert.doesNotMatch(node.ip('-o', 'address'), /10\.100\.0\.10/)
      node.ip('rule', 'del', 'from', '10.100.0.0/24', 'lookup', '100')
    },
  },
  {
    finding: 'F5',
    name: 'an MTU that somebody sets before the agent gets there stays after a rollback',
    options: { nics: 2 },
    env: node =>
      ipWrapper(
        node,
        `case "$lines" in *"name multinic0"*) nth 1 && {
$real link set ens4 mtu 1450
lines=$(echo "$lines" | sed 's/^link set dev if[0-9]* name multinic0$/link set dev nosuch0 name multinic0/')
} ;; esac`,
      ),
    expect: (result, node) => {
      assert.deepEqual(outcomes(result), ['Failed CommandFailed', 'Configured'], result.log)
      assert.match(node.ip('-o', 'link', 'show', 'ens4'), /mtu 1450/)
    },
  },
  {
    finding: 'F15',
    name: 'a foreign address in our subnet outlives ours although the kernel does not promote secondary addresses',
    prepare: async node => {
      await configureAll(node)
      node.exec('sysctl', '-qw', 'net.ipv4.conf.all.promote_secondaries=0')
      node.exec('sysctl', '-qw', 'net.ipv4.conf.multinic0.promote_secondaries=0')
      node.ip('address', 'add', '10.100.0.50/24', 'dev', 'multinic0')
      assert.match(node.ip('-o', 'address'), /10\.100\.0\.50\/24 .*secondary/)
    },
    request: node => ({
      interfaces: node.nics.map(nic => requestedInterface(nic, 0, { address: '10.100.0.20' })),
    }),
    expect: async (result, node) => {
      assert.deepEqual(outcomes(result), ['Configured'], result.log)
      const isKept = (device: string) => {
        assert.match(node.ip('-o', 'address', 'show', device), /10\.100\.0\.50\/24/)
        assert.equal(node.exec('sysctl', '-n', `net.ipv4.conf.${device}.promote_secondaries`).trim(), '0')
      }
      isKept('multinic0')
      // It is the first one of its network now, and shall be the second one again.
      node.exec('sysctl', '-qw', 'net.ipv4.conf.multinic0.promote_secondaries=1')
      node.ip('address', 'del', '10.100.0.50/24', 'dev', 'multinic0')
      node.ip('address', 'add', '10.100.0.50/24', 'dev', 'multinic0')
      node.exec('sysctl', '-qw', 'net.ipv4.conf.multinic0.promote_secondaries=0')
      assert.match(node.ip('-o', 'address'), /10\.100\.0\.50\/24 .*secondary/)
      const removed = await node.agent({ mode: 'cleanup', interfaces: [] })
      assert.equal(removed.report?.verdict, 'Removed', removed.log)
      isKept('ens4')
      assert.doesNotMatch(node.ip('-o', 'address'), /10\.100\.0\.20/)
    },
  },
  {
    finding: 'F4',
    name: 'a device that is named if<ifindex> of the NIC is not renamed in its place',
    prepare: node => {
      const { ifindex } = (JSON.parse(node.ip('-j', 'link', 'show', 'ens4')) as { ifindex: number }[])[0] ?? {}
      node.ip('link', 'add', `if${ifindex}`, 'type', 'bridge')
    },
    expect: result => assert.deepEqual(outcomes(result), ['Failed InterfaceNameInUse'], result.log),
  },
  {
    finding: 'L1',
    name: 'a requested link-local address is kept by the second run, and removed with the interface',
    request: node => ({
      interfaces: node.nics.map(nic => requestedInterface(nic, 0, { addresses: ['fe80::77/64', nic.address6] })),
    }),
    expect: async (result, node) => {
      assert.deepEqual(outcomes(result), ['Configured'], result.log)
      const again = await node.agent({
        interfaces: node.nics.map(nic => requestedInterface(nic, 0, { addresses: ['fe80::77/64', nic.address6] })),
      })
      assert.deepEqual([outcomes(again), again.report?.changed], [['Configured'], 0], again.log)
    },
  },
  {
    finding: 'L2',
    name: 'a journal and records of another form stop their NICs, and not the node',
    options: { nics: 2 },
    prepare: async node => {
      await configureAll(node)
      node.ip('link', 'set', 'multinic0', 'mtu', '1400')
      mkdirSync(node.path('var/lib/multinic/journal'))
      const changes = '[null,{"kind":"mtu","from":1450,"to":1400},{"kind":"dns","from":1,"to":2}]'
      const nic = '"purpose":"apply","name":"multinic0","group":"g","mac":"fa:16:3e:00:00:01","id":0'
      const { ifindex } = (JSON.parse(node.ip('-j', 'link', 'show', 'multinic0')) as { ifindex: number }[])[0] ?? {}
      const unit = `{${nic},"ifindex":${ifindex},"changes":${changes}}`
      writeFileSync(
        node.path('var/lib/multinic/journal/0001.json'),
        `{"version":1,"bootId":"boot-1","units":[${unit}]}`,
      )
      const record = '{"version":1,"id":5,"mac":"fa:16:3e:00:00:aa","table":105'
      writeFileSync(node.path('var/lib/multinic/nics/a.json'), `${record},"addresses":[1,2]}`)
    },
    expect: async (result, node) => {
      assert.deepEqual(outcomes(result), ['Failed StateUnreadable', 'Configured'], result.log)
      const message = /journal\/0001\.json has a change of another form, the unknown change dns of multinic0/
      assert.match(result.report?.interfaces[0]?.message ?? '', message)
      assert.match(node.ip('link', 'show', 'multinic0'), /mtu 1450/)
      const kept = node.path('var/lib/multinic/journal-unread/0001.json')
      assert.match(readFileSync(kept, 'utf8'), /"changes":\[null,\{"kind":"dns","from":1,"to":2\}\]/)
      const again = await node.agent(requestAll(node))
      assert.deepEqual(outcomes(again), ['Failed StateUnreadable', 'Configured'], again.log)
      rmSync(kept)
    },
  },
  {
    finding: 'L2',
    name: 'a record with an unknown key stops its NIC, and not the node',
    options: { nics: 2 },
    prepare: async node => {
      await configureAll(node)
      const path = node.path('var/lib/multinic/nics/fa163e000001.json')
      writeFileSync(path, readFileSync(path, 'utf8').replace('{', '{"colours":[],'))
    },
    request: node => ({ interfaces: node.nics.map((nic, index) => requestedInterface(nic, index, { mtu: 1400 })) }),
    expect: (result, node) => {
      assert.deepEqual(outcomes(result), ['Failed StateUnreadable', 'Configured'], result.log)
      assert.match(node.ip('link', 'show', 'multinic0'), /mtu 1450/)
      assert.match(node.ip('link', 'show', 'multinic1'), /mtu 1400/)
      const path = node.path('var/lib/multinic/nics/fa163e000001.json')
      assert.match(readFileSync(path, 'utf8'), /"colours":\[\]/)
      writeFileSync(path, readFileSync(path, 'utf8').replace('"colours":[],', ''))
    },
  },
  {
    finding: 'L2',
    name: 'a journal and a record that are not JSON do not stop the node',
    prepare: async node => {
      await configureAll(node)
      node.exec('sh', '-c', `mkdir ${node.path('var/lib/multinic/journal')}`)
      node.exec('sh', '-c', `echo '{' > ${node.path('var/lib/multinic/journal/0001.json')}`)
      node.exec('sh', '-c', `echo '{' > ${node.path('var/lib/multinic/nics/aaaaaaaaaaaa.json')}`)
    },
    expect: (result, node) => {
      assert.deepEqual(outcomes(result), ['Configured'], result.log)
      assert.match(result.report?.message ?? '', /cannot remove: .*aaaaaaaaaaaa\.json is no record/)
      assert.equal(readFileSync(node.path('var/lib/multinic/journal-unread/0001.json'), 'utf8'), '{\n')
      rmSync(node.path('var/lib/multinic/nics/aaaaaaaaaaaa.json'))
    },
  },
]

attacks('ownership', cases)
