/** The migration, through commander, against a cluster with a controller and fake agents. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { parse } from 'yaml'
import { type Run, runner } from '../../../test/support/cli.ts'
import { type ControllerCluster, inputOf, startControllerCluster } from '../../../test/support/controller-cluster.ts'
import { eventually } from '../../../test/support/eventually.ts'
import { startFakeAgents } from '../../../test/support/fake-agents.ts'
import { type BizConfig, bizConfigs, oldBizConfigGroup } from '../../contract/legacy/biz-config.ts'
import { nodeConfigAnnotations, nodeConfigs } from '../../contract/node-config.ts'
import { aBiz, aBizNode } from '../../controller/legacy/biz-config.fixture.ts'

const within = 60_000
let dir: string
let cluster: ControllerCluster
let controller: Awaited<ReturnType<ControllerCluster['startController']>>
let agents: Awaited<ReturnType<typeof startFakeAgents>>
let multinic: Run
const ids: string[] = []

before(async () => {
  dir = await mkdtemp(join(tmpdir(), 'multinic-migrate-'))
  cluster = await startControllerCluster()
  controller = await cluster.startController({ MAX_UNAVAILABLE: '100%' })
  agents = await startFakeAgents(cluster.kube, cluster.namespace)
  for (const name of ['w1', 'w2', 'w3']) ids.push(await cluster.addNode(name))
  multinic = runner({ KUBECONFIG: cluster.api.kubeconfig })
  await create(
    'all',
    [1, 2, 3].map(number => aBizNode(ids[number - 1] ?? '', [0, 1], `w${number}`)),
  )
  await whenOwned('all', 'Configured', 'Configured', 'Configured')
})
after(async () => {
  await agents.stop()
  await controller.stop()
  await cluster.close()
  await rm(dir, { recursive: true })
})

const key = (name: string) => ({ namespace: cluster.namespace, name })
const biz = async (name = 'all') => (await cluster.kube.get(bizConfigs, key(name))) ?? assert.fail(`${name} is gone`)

async function create(name: string, nodes: BizConfig['spec']['nodeConfigs']): Promise<void> {
  const { apiVersion, kind, spec } = aBiz({ nodes })
  await cluster.kube.create(bizConfigs, { apiVersion, kind, metadata: key(name), spec })
}

/** `state reason` of each node in the status. */
async function whenOwned(name: string, ...lines: string[]): Promise<BizConfig> {
  return eventually(
    async () => {
      const found = await biz(name)
      const reported = (found.status?.nodeStatuses ?? []).map(({ state, reason }) =>
        [state, reason].filter(Boolean).join(' '),
      )
      assert.deepEqual(reported, lines)
      return found
    },
    { within },
  )
}

/** Modes of the agents that ran since then. */
function modesSince(count: number): string[] {
  return agents
    .seen()
    .slice(count)
    .map(pod => inputOf(pod).mode)
}

test('a plan shows the configs that would be created, and changes nothing', async () => {
  const { code, out } = await multinic('migrate', 'plan')
  assert.equal(code, 0)
  assert.match(out, /^3 nodes {2}3 to take over; dry run, nothing was changed/)
  assert.match(out, /\+ w2 {2}a MultiNicNodeConfig would be created {2}VM .*, from multinic-system\/all/)
  assert.match(out, /\+ multinic1 {2}192\.168\.1\.10\/24 {2}mtu 1450 {2}fa:16:3e:00:00:01 {2}port port-1/)
  assert.deepEqual((await cluster.kube.list(nodeConfigs, { namespace: cluster.namespace })).items, [])
})

test('one node is taken over alone; a second run continues where the first stopped', async () => {
  const before = agents.seen().length
  const one = await multinic('migrate', 'apply', '--node', 'w2')
  assert.deepEqual([one.code, one.notes.length], [0, 1], one.error)
  assert.match(one.notes[0] ?? '', /^\[1\/1\] w2: taken over: 2\/2 interfaces as requested \(multinic-agent-w2-g1-/)
  await whenOwned('all', 'Configured', 'Configured OwnedByNodeConfig', 'Configured')
  assert.equal((await multinic('migrate', 'verify')).code, 1)
  // As if the first run had been killed right after it made the next one.
  const [row] = JSON.parse((await multinic('migrate', 'plan', '--node', 'w1', '-o', 'json')).out)
  await cluster.kube.create(nodeConfigs, row.requested)
  const all = await multinic('migrate', 'apply')
  assert.equal(all.code, 0, all.error)
  assert.deepEqual(
    // The controller may have been quicker than the second run.
    all.notes.map(line => line.replace(/ \(.*/, '').replace(/w1: (already )?taken over.*/, 'w1: taken over')),
    ['[1/3] w1: taken over', '[2/3] w2: already taken over', '[3/3] w3: taken over: 2/2 interfaces as requested'],
  )
  assert.deepEqual(modesSince(before), ['check', 'check', 'check'])
  const verified = await multinic('migrate', 'verify')
  assert.equal(verified.code, 0)
  assert.match(verified.out, /^3 nodes {2}3 taken over\n/)
  const config = await cluster.kube.get(nodeConfigs, key('w1'))
  assert.equal(config?.metadata.annotations?.[nodeConfigAnnotations.migratedFrom], 'multinic-system/all')
  assert.equal(config?.metadata.labels?.['multinic.io/instance-id'], ids[0])
})

test('phase 2 makes the MultiNicBizConfig read-only: without an admission policy a change is ignored and reported', async () => {
  const { code, notes, error } = await multinic('migrate', 'apply', '--phase', '2')
  assert.equal(code, 0, error)
  assert.match(
    notes.join('\n'),
    /all is read-only\nthis API server has no ValidatingAdmissionPolicy: the controller ignores changes/,
  )
  const { nodeConfigs: before } = (await biz()).spec
  await cluster.kube.patch(bizConfigs, key('all'), { spec: { nodeConfigs: before.slice(1) } })
  await eventually(
    async () => {
      const said = (await biz()).status?.conditions?.find(({ type }) => type === 'ReadOnly')
      assert.equal(`${said?.status} ${said?.reason}: ${said?.message}`, 'True ReadOnly: a change to 1 node is ignored')
    },
    { within },
  )
  await cluster.kube.patch(bizConfigs, key('all'), { spec: { nodeConfigs: before } })
  assert.ok(await cluster.kube.get(nodeConfigs, key('w1')))
})

let backup = ''

test('phase 3 prints and deletes the MultiNicBizConfigs; the nodes keep their interfaces', async () => {
  const before = agents.seen().length
  const { code, out, notes, error } = await multinic('migrate', 'apply', '--phase', '3')
  assert.equal(code, 0, error)
  assert.match(notes.join('\n'), /all is deleted.*\n.*BIZ_CONFIG_MODE=node-only/)
  const document = parse(out) as BizConfig
  assert.equal(document.spec.nodeConfigs.length, 3)
  assert.equal(await cluster.kube.get(bizConfigs, key('all')), undefined)
  assert.deepEqual(modesSince(before), [])
  backup = join(dir, 'backup.yaml')
  await writeFile(backup, out)
})

test('a rollback returns every node to its MultiNicBizConfig, even a deleted one, with the same indexes', async () => {
  const before = agents.seen().length
  const guarded: boolean[] = []
  const stop = cluster.api.store.subscribe(({ type, object }) => {
    if (type === 'DELETED' && object.kind === 'MultiNicNodeConfig')
      guarded.push(object.metadata.annotations?.[nodeConfigAnnotations.forceDelete] !== undefined)
  })
  const { code, notes, error } = await multinic('migrate', 'rollback', '-f', backup)
  stop()
  assert.deepEqual(guarded, [true, true, true], 'a cleanup was possible')
  assert.equal(code, 0, `${error} ${notes.join('\n')}`)
  assert.equal(notes[0], 'all is created again')
  assert.match(notes[1] ?? '', /^\[1\/3\] w1: returned to all, as requested \(/)
  const found = await whenOwned('all', 'Configured', 'Configured', 'Configured')
  assert.deepEqual(found.status?.nodeStatuses?.[0]?.indexes, ['0 fa:16:3e:00:00:00', '1 fa:16:3e:00:00:01'])
  assert.deepEqual((await cluster.kube.list(nodeConfigs, { namespace: cluster.namespace })).items, [])
  assert.deepEqual(modesSince(before), ['check', 'check', 'check'])
})

/** Runs the program as a process and kills it after a while. True if it had ended before. */
async function runFor(ms: number, ...words: string[]): Promise<boolean> {
  const program = join(import.meta.dirname, '../../main.ts')
  const child = spawn(process.execPath, [program, 'migrate', ...words, '--kubeconfig', cluster.api.kubeconfig], {
    stdio: 'ignore',
  })
  const killing = setTimeout(() => child.kill('SIGKILL'), ms)
  const [code] = (await once(child, 'exit')) as [number | null]
  clearTimeout(killing)
  return code === 0
}

async function runsThrough(...words: string[]): Promise<void> {
  for (let ms = 300; !(await runFor(ms, ...words)); ms += 300) assert.ok(ms < within, 'it never came to its end')
}

test('killed repeatedly, migration and rollback complete, and no agent changes anything', async () => {
  const before = agents.seen().length
  await runsThrough('apply')
  assert.equal((await multinic('migrate', 'verify')).code, 0)
  await whenOwned('all', ...ids.map(() => 'Configured OwnedByNodeConfig'))
  await runsThrough('rollback')
  await whenOwned('all', 'Configured', 'Configured', 'Configured')
  assert.deepEqual((await cluster.kube.list(nodeConfigs, { namespace: cluster.namespace })).items, [])
  assert.deepEqual(new Set(modesSince(before)), new Set(['check']))
})

test('an existing config takes precedence, a wrong ID is reported, and both nodes are skipped', async () => {
  await cluster.addConfig('w1', ids[0] ?? '', { nics: 1 })
  await create('wrong', [aBizNode('i-nobody', [7], 'w2'), aBizNode('i-nobody-else', [8])])
  const planned = await multinic('migrate', 'plan')
  assert.equal(planned.code, 1)
  assert.match(planned.out, /! w1 {2}has a MultiNicNodeConfig with another request, which takes precedence/)
  assert.match(planned.out, /! w2 {2}cannot be migrated.*\n {4}node w2 has the machine ID .*, not i-nobody\n/)
  assert.match(planned.out, /no node of this cluster has the machine ID i-nobody-else/)
  const { code, notes } = await multinic('migrate', 'apply')
  assert.equal(code, 1)
  assert.match(notes.join('\n'), /w1: skipped: its MultiNicNodeConfig has another request, which takes precedence/)
  assert.match(notes.join('\n'), /w3: taken over/)
  assert.match(notes.at(-1) ?? '', /^3 of 5 nodes are not taken over. Fix them/)
  const refused = await multinic('migrate', 'apply', '--phase', '3')
  assert.equal(refused.code, 2)
  assert.match(refused.error, /3 of 5 nodes are not taken over yet: w1: /)
  assert.equal((await multinic('migrate', 'rollback')).code, 0)
  assert.ok(await cluster.kube.get(nodeConfigs, key('w1')), 'a config that was not migrated stays')
})

test('files may have the older group and kind, and lists', async () => {
  const id = await cluster.addNode('w9')
  const { kind: _, ...document } = aBiz({ name: 'old', nodes: [aBizNode(id, [0, 1], 'w9')] })
  const items = [{ ...document, apiVersion: `${oldBizConfigGroup}/v1`, kind: 'MultiNicClusterConfig' }]
  const stdin = JSON.stringify({ apiVersion: 'v1', kind: 'List', items })
  const { code, notes, error } = await multinic.with({ stdin })('migrate', 'apply', '-f', '-', '--config', 'old')
  assert.equal(code, 0, `${error} ${notes.join('\n')}`)
  assert.match(notes[0] ?? '', /^\[1\/1\] w9: taken over/)
})

const failures: Record<string, [words: string[], stdin: string, said: RegExp]> = {
  'a file without a BizConfig': [['plan', '-f', '-'], 'kind: Secret', /contains no MultiNicBizConfig/],
  'a file of a strange group': [
    ['plan', '-f', '-'],
    'apiVersion: x.io/v1\nkind: MultiNicBizConfig\nmetadata: {name: a}',
    /the API group of a is x\.io, not multinic\.io or multinic\.okestro\.io/,
  ],
  'a document with a wrong field': [
    ['plan', '-f', '-'],
    'apiVersion: multinic.io/v1\nkind: MultiNicBizConfig\nmetadata: {name: a}\nspec: {nodeConfigs: [{attachedNodeId: x, interfaces: [{macAddress: zz}]}]}',
    /a is invalid: spec\.nodeConfigs\.0\.interfaces\.0\.macAddress/,
  ],
  'a document that is not there': [['plan', '--config', 'none'], '', /has no MultiNicBizConfig none/],
  'a node that nobody names': [['apply', '--node', 'none'], '', /no MultiNicBizConfig lists a node none/],
  'an invalid duration': [['apply', '--node', 'w2', '--timeout', 'soon'], '', /"soon" is not a duration/],
  'a kubeconfig that is not there': [
    ['plan', '--kubeconfig', '/none'],
    '',
    /cannot load the kubeconfig: .*\nSet --kubeconfig FILE/s,
  ],
}

for (const [name, [words, stdin, said]] of Object.entries(failures))
  test(`${name} exits with 2 and names the mistake`, async () => {
    const { code, error } = await multinic.with({ stdin })('migrate', ...words)
    assert.equal(code, 2)
    assert.match(error, said)
  })
