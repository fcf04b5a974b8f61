/** The commands, through commander, against a real inventory and an HTTP stub of the operator. */
import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { parse, stringify } from 'yaml'
import { grant, rules } from '../../test/support/access.ts'
import { type Run, runner } from '../../test/support/cli.ts'
import { aWrite, someVerdicts } from '../../test/support/inventory.ts'
import { startTargetCluster, type TargetCluster } from '../../test/support/target-cluster.ts'
import type { OpenstackConfig } from '../contract/openstack-config.ts'
import { type OperatorVerdict, type PlanAnswer, planPath } from '../contract/operator-api.ts'
import { type RunningInventory, startInventory } from '../inventory/main.ts'
import { HttpProblem } from '../server/server.ts'
import { silent } from '../telemetry/log.ts'

let dir: string
let cluster: TargetCluster
let open: RunningInventory
let closed: RunningInventory
let multinic: Run
const token = 'a-token-that-reads'
const source = 'multinic-system/main'

const verdicts: OperatorVerdict[] = [
  { config: source, vm: 'vm-w1', portId: 'port-w1-0', reason: 'Selected', message: '', name: 'multinic0' },
  {
    config: source,
    vm: 'vm-w1',
    portId: 'port-late',
    reason: 'PortStatusNotAllowed',
    message: 'the status of the port is BUILD',
  },
  { config: source, vm: 'vm-w1', portId: 'port-first', reason: 'PrimaryPort', message: 'the primary port' },
  { config: source, vm: 'vm-gone', reason: 'VmNotFound', message: 'server vm-gone not found' },
]
let plan: PlanAnswer
let planned: OpenstackConfig | undefined

before(async () => {
  dir = await mkdtemp(join(tmpdir(), 'multinic-cli-'))
  cluster = await startTargetCluster()
  const tokens = join(dir, 'tokens.yaml')
  await writeFile(tokens, stringify({ tokens: [{ user: 'reader', token }] }))
  await grant(cluster.kube, 'reader', [rules.readInventory, rules.readConfigs])
  await writeFile(join(dir, 'token'), `${token}\n`)
  const usual = { log: silent }
  open = await startInventory({
    ...usual,
    env: { INVENTORY_ADDR: '127.0.0.1:0', INVENTORY_DB_PATH: join(dir, 'open.db'), INVENTORY_ANONYMOUS_ACCESS: 'true' },
    addRoutes(app) {
      app.post(planPath, async request => {
        planned = request.body as OpenstackConfig
        if (!planned.spec.vmNames)
          throw new HttpProblem(400, 'this is not an OpenstackConfig', {
            errors: [{ path: 'spec.vmNames', message: 'needed' }],
          })
        return plan
      })
    },
  })
  closed = await startInventory({
    ...usual,
    env: {
      INVENTORY_ADDR: '127.0.0.1:0',
      INVENTORY_DB_PATH: join(dir, 'closed.db'),
      INVENTORY_TOKENS_FILE: tokens,
      KUBECONFIG: cluster.api.kubeconfig,
    },
  })
  const w1 = aWrite('w1', { nics: 2 })
  for (const nic of w1.config.interfaces) nic.source = source
  const states = w1.config.interfaces.map(({ macAddress, portId }, id) => ({
    macAddress,
    ...(portId && { portId }),
    status: id === 0 ? ('Configured' as const) : ('Failed' as const),
    reason: id === 0 ? 'Configured' : 'InterfaceNameInUse',
    ...(id === 1 && { message: 'eth7 is called multinic1', stages: { seen: '2026-01-01T10:00:00Z' } }),
  }))
  await open.recorder.put([w1, aWrite('w2')], [someVerdicts(verdicts)])
  await open.recorder.put([
    { ...w1, state: 'Failed', reason: 'ApplyFailed', interfaces: states, why: 'told by the node' },
  ])
  multinic = runner({ MULTINIC_INVENTORY_URL: open.url })
})
after(async () => {
  await cluster.close()
  await open.close()
  await closed.close()
  await rm(dir, { recursive: true })
})

test('status draws a tree with the reason and the remedy where something is wrong', async () => {
  const { code, out } = await multinic('status')
  assert.equal(code, 0)
  assert.equal(
    out,
    `provider p1  2 nodes, 1 Failed, 1 Pending
├─ OpenstackConfig multinic-system/main
│  └─ w1  Failed
│     │  ApplyFailed: The agent could not configure at least one interface and rolled it back. The other interfaces stay configured.
│     │  → Read interfaceStatuses and correct the cause. The controller retries at nextAttempt; set the annotation multinic.io/retry to retry at once.
│     ├─ ● multinic0  Configured  10.0.40.225/16  mtu 1450  02:00:00:28:e1:00
│     └─ ✗ multinic1  Failed      10.1.40.225/16  mtu 1450  02:00:00:28:e1:01
│           InterfaceNameInUse: A device that MultiNIC does not manage has this name.
│           eth7 is called multinic1
│           → Rename that device.
└─ w2  Pending
   └─ ○ multinic0  Pending  10.0.40.226/16  mtu 1450  02:00:00:28:e2:00
`,
  )
})

test('status of one node, wide, also shows IDs', async () => {
  const { out } = await multinic('status', 'w2', '-o', 'wide')
  assert.match(out, /w2 {2}Pending {2}VM vm-w2 {2}changed (now|\d+s ago)/)
  assert.match(out, /port port-w2-0/)
  assert.doesNotMatch(out, /w1/)
})

test('status as JSON and as YAML is the same data', async () => {
  const json = JSON.parse((await multinic('status', '-o', 'json')).out)
  assert.deepEqual(parse((await multinic('status', '-o', 'yaml')).out), json)
  assert.deepEqual(json.providers[0].states, { Failed: 1, Pending: 1 })
})

test('an unknown node ends with no and names the node', async () => {
  const { code, out, notes } = await multinic('status', 'nowhere')
  assert.deepEqual([code, out, notes], [1, '', ['not found: no node is named nowhere']])
})

test('why of an ignored port shows its verdict', async () => {
  const { code, out } = await multinic('why', 'port-late')
  assert.equal(code, 0)
  assert.equal(
    out,
    `port port-late  ignored
  VM vm-w1, OpenstackConfig multinic-system/main
  PortStatusNotAllowed: openstackPortAllowedStatuses does not contain the status of the port.
  the status of the port is BUILD
  → Wait until the status changes, or extend openstackPortAllowedStatuses.
`,
  )
})

test('experience M2: why of a primary port says that it is not managed', async () => {
  const { out } = await multinic('why', 'port-first')
  assert.match(out, /^port port-first {2}not managed\n/)
  assert.match(out, /→ Nothing to do\./)
})

test('why of a NIC by its address shows its stages and the remedy', async () => {
  const { out } = await multinic('why', '10.1.40.225')
  assert.match(out, /✗ multinic1 {2}Failed {2}10\.1\.40\.225\/16 {2}port port-w1-1/)
  assert.match(out, /→ Rename that device\./)
  assert.match(out, /2026-01-01 seen 10:00:00 → waiting for delivered/)
  assert.doesNotMatch(out, /multinic0/)
})

test('why of a node shows its NICs and its ignored ports', async () => {
  const { out } = await multinic('why', 'w1')
  assert.match(out, /^node w1 {2}Failed/)
  assert.match(out, /● multinic0 {2}Configured/)
  assert.match(out, /port port-late {2}ignored/)
})

test('why of a VM that Nova does not know is reported although no node has it', async () => {
  assert.match((await multinic('why', 'vm-gone')).out, /^VM vm-gone {2}ignored/)
})

test('why without verdicts shows what the inventory has, and says what is missing', async () => {
  await closed.recorder.put([aWrite('w2')])
  const { code, out, notes } = await multinic(
    'why',
    'w2',
    '--inventory',
    closed.url,
    '--token-file',
    join(dir, 'token'),
  )
  assert.equal(code, 0)
  assert.match(out, /^node w2/)
  assert.match(notes.join(), /no operator of this version has written verdicts/)
  await closed.recorder.put([aWrite('w2', { removed: true })])
})

test('why without a match ends with no', async () => {
  assert.equal((await multinic('why', 'nothing')).code, 1)
})

const config = {
  apiVersion: 'multinic.example.com/v1alpha1',
  kind: 'OpenstackConfig',
  metadata: { name: 'main' },
  spec: { vmNames: ['vm-w1'] },
}

test('plan reads YAML with other objects beside it, and shows the result', async () => {
  plan = {
    nodes: [
      {
        nodeName: 'w1',
        instanceId: 'vm-w1',
        action: 'send',
        interfaces: [
          { id: 0, name: 'multinic0', macAddress: '02:00:00:00:00:01', address: '10.0.0.9', cidr: '10.0.0.0/24' },
        ],
        why: ['port p becomes multinic0'],
      },
      {
        nodeName: 'w9',
        instanceId: 'vm-w9',
        action: 'remove',
        interfaces: [],
        why: ['its VM is no longer in vmNames'],
      },
    ],
    verdicts,
    heldRemovals: [],
    moves: [{ nodeName: 'w2', portId: 'p2', from: 'multinic4', to: 'multinic0' }],
  }
  const file = join(dir, 'config.yaml')
  await writeFile(file, `${stringify({ kind: 'Secret', metadata: { name: 'key' } })}---\n${stringify(config)}`)
  const { code, out, notes } = await multinic('plan', '-f', file, '-n', 'multinic-system')
  assert.equal(code, 0)
  assert.deepEqual(notes, ['ignored 1 of 2 objects: not an OpenstackConfig'])
  assert.equal(planned?.metadata.namespace, 'multinic-system')
  assert.ok(
    out.startsWith(`OpenstackConfig multinic-system/main  1 to send, 1 to remove; dry run, nothing was changed

~ w1  would be sent  VM vm-w1
    port p becomes multinic0
    multinic0  10.0.0.9/24  02:00:00:00:00:01

- w9  would be removed  VM vm-w9
    its VM is no longer in vmNames

port port-late  ignored
`),
    out,
  )
  assert.match(out, /index of their subnet\n {2}w2 {2}multinic4 → multinic0 {2}port p2/)
})

test('plan reads JSON from standard input; an invalid config ends with no and a remedy', async () => {
  const error = { reason: 'SubnetNotFound', message: 'there is no subnet x', remedy: 'Correct subnetID.' }
  plan = { nodes: [], verdicts: [], heldRemovals: [], error }
  const typed = JSON.stringify({ ...config, metadata: { name: 'main', namespace: 'here' } })
  const { code, out } = await multinic.with({ stdin: typed })('plan', '-f', '-')
  assert.equal(code, 1)
  assert.match(out, /^OpenstackConfig here\/main {2}cannot be planned; dry run, nothing was changed/)
  assert.match(out, /SubnetNotFound: .*\n {2}there is no subnet x\n {2}→ Correct subnetID\./)
})

test('history shows every change with its cause and its differences', async () => {
  const { code, out } = await multinic('history', 'w1')
  assert.equal(code, 0)
  const lines = out.split('\n').map(line => line.replace(/^\S+Z/, 'TIME'))
  assert.deepEqual(lines.slice(0, 5), [
    'TIME  status  told by the node',
    '    ~ node state  Pending → Failed ApplyFailed',
    '    ~ multinic0 state  Pending → Configured',
    '    ~ multinic1 state  Pending → Failed InterfaceNameInUse',
    'TIME  created  a port was attached',
  ])
})

test('history at a time shows the state at that time', async () => {
  const [, created] = JSON.parse((await multinic('history', 'w1', '-o', 'json')).out)
  const { out } = await multinic('history', 'w1', '--at', created.at)
  assert.match(out, /w1 {2}Pending/)
  assert.equal((await multinic('history', 'w1', '--at', '24h')).code, 1)
})

test('find shows where an address is, also as CSV, and who had it before', async () => {
  assert.equal(
    (await multinic('find', '10.1.')).out,
    'KIND     VALUE        NODE  INTERFACE  STATUS  OBSERVED  PROVIDER\naddress  10.1.40.225  w1    multinic1  Failed            p1\n',
  )
  const rows =
    'kind,value,providerId,nodeName,interface,status,observedAt,notVerifiedSince,instanceName,subnetName,providerName\r\naddress,10.1.40.225,p1,w1,multinic1,Failed,,,,,\r\n'
  assert.equal((await multinic('find', '10.1.', '-o', 'csv')).out, rows)
  const now = new Date().toISOString()
  assert.equal((await multinic('find', '10.1.', '-o', 'csv', '--at', now)).out, rows)
  assert.equal((await multinic('find', '192.0.2.1')).code, 1)
})

test('experience M10: status, why, find and history show names, and IDs on demand', async () => {
  const write = aWrite('named', { providerId: 'p9', instanceName: 'web server' })
  const names = { subnetId: 'subnet-1', subnetName: 'storage', networkId: 'net-1', networkName: 'net a', alias: 'a' }
  Object.assign(write.config.interfaces[0] ?? {}, names)
  await open.recorder.put([write])
  try {
    const { out: status } = await multinic('status', 'named')
    assert.match(status, /named +Pending +VM web server/)
    assert.match(status, /multinic0 +Pending +\S+ +storage/)
    assert.doesNotMatch(status, /vm-named|subnet-1/)
    assert.match(
      (await multinic('status', 'named', '-o', 'wide')).out,
      /VM web server \(vm-named\)[\s\S]*storage \(subnet-1\)/,
    )
    const [found] = JSON.parse((await multinic('find', 'stor', '-o', 'json')).out)
    assert.deepEqual([found.kind, found.value, found.interface], ['subnet', 'storage', 'multinic0'])
    assert.equal(found.instanceName, 'web server')
    assert.match((await multinic('find', 'web s')).out, /vm +web server +named/)
    assert.match((await multinic('find', 'web s', '--at', new Date().toISOString())).out, /vm +web server +named/)
    const { out: why } = await multinic('why', 'web server')
    assert.match(why, /^node named +Pending\n +VM web server, provider p9/)
    assert.match(why, /storage/)
    const { out: json } = await multinic('why', 'named', '-o', 'json')
    const { instanceId, interfaces } = JSON.parse(json).nodes[0]
    assert.deepEqual([instanceId, interfaces[0].subnetId, interfaces[0].alias], ['vm-named', 'subnet-1', 'a'])
    const { out: history } = await multinic('history', 'named')
    assert.match(history, /\+ VM +web server \(vm-named\)/)
    assert.match(history, /\+ multinic0 .*port-named-0 \(storage\)/)
  } finally {
    await open.recorder.put([{ ...write, removed: true }])
  }
})

test('experience H3, M5: find --ever lists every holder; no answer is an error, not an empty list', async () => {
  await open.recorder.put([aWrite('w3')])
  await open.recorder.put([aWrite('w3', { removed: true })])
  const found = await multinic('find', '--ever', 'port-w3-0')
  assert.equal(found.code, 0)
  assert.match(
    found.out,
    /^KIND +VALUE +NODE +INTERFACE +FROM +TO +PROVIDER\nport +port-w3-0 +w3 +multinic0 +\S+Z +\S+Z +p1\n$/,
  )
  const { out } = await multinic('find', '--ever', 'port-w1-0', '-o', 'json')
  assert.deepEqual(
    JSON.parse(out).holders.map(({ nodeName, to }: { nodeName: string; to?: string }) => [nodeName, to]),
    [['w1', undefined]],
  )
  const never = await multinic('find', '--ever', '192.0.2.1')
  assert.deepEqual([never.code, never.out, never.notes], [1, '', ['no interface has or ever had "192.0.2.1"']])
  const nowhere = await multinic('find', '--ever', '192.0.2.1', '--inventory', 'http://127.0.0.1:1')
  assert.equal(nowhere.code, 2)
  assert.match(nowhere.error, /cannot reach the inventory/)
  assert.equal((await multinic('find', '--ever', 'x', '--at', '1h')).code, 2)
})

test('find --ever says what its list leaves out, in every format', async () => {
  const former = (at: number, removed: boolean) => {
    const nodeName = `former-${at}`
    const config = { nodeName, interfaces: [{ macAddress: '02:00:00:00:99:01' }] }
    return aWrite(nodeName, { providerId: 'p-former', config, removed })
  }
  await open.recorder.put(Array.from({ length: 1_010 }, (_, at) => [former(at, false), former(at, true)]).flat())
  for (const format of ['wide', 'csv', 'yaml', 'json']) {
    const { notes, code, out } = await multinic('find', '--ever', '02:00:00:00:99:01', '-o', format)
    assert.deepEqual([code, notes], [0, ['The latest 1000 holders are listed. There are older ones.']], format)
    assert.equal(out.match(/p-former/g)?.length, 1_000, format)
  }
})

test('check exits with 1 if a NIC differs from the request, or if the cluster is not known', async () => {
  const { code, out } = await multinic('check')
  assert.equal(code, 1)
  assert.match(
    out,
    /w1 {4}multinic1 {2}Failed {3}InterfaceNameInUse {2}A device that MultiNIC does not manage has this name\./,
  )
  assert.match(out, /→ InterfaceNameInUse: Rename that device\./)
  const unknown = await multinic('check', '--provider', 'other')
  assert.deepEqual([unknown.code, unknown.out], [1, ''])
})

test('export writes everything, as CSV or as records', async () => {
  const csv = (await multinic('export')).out
  assert.equal(csv.trimEnd().split('\r\n').length, 4)
  const records = JSON.parse((await multinic('export', '-o', 'json')).out)
  assert.deepEqual(
    records.map((one: { nodeName: string }) => one.nodeName),
    ['w1', 'w2'],
  )
})

test('the token is read from its file, and a missing one is reported', async () => {
  const without = await multinic('check', '--inventory', closed.url)
  assert.equal(without.code, 2)
  assert.match(without.error, /requires a valid token; set its file with --token-file/)
  const tokenFile = join(dir, 'token')
  assert.equal((await multinic('check', '--inventory', closed.url, '--token-file', tokenFile)).code, 0)
  assert.doesNotMatch(without.error, new RegExp(token))
})
