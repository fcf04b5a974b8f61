/**
 * `make growth`: growth of time, calls and memory. Operator and inventory serve the whole fleet: 10 to 20,000 nodes. Viola and
 * controller, on a real kube-apiserver, have 10 to 5,000: as many as Kubernetes supports in a cluster. Takes a quarter of an
 * hour or more, so `make bench` leaves it out.
 *
 * The reference of a size is the previous size, scaled with the number of nodes: a ratio of at most 1 is linear or better. The
 * three largest sizes give the exponent of the growth, and the estimate for a fleet of 100,000 nodes if it stays the same.
 */
import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { request } from 'undici'
import { buildProgram } from '../../scripts/build.ts'
import { maxWrites, recordsPath } from '../../src/contract/inventory.ts'
import { nodeConfigs } from '../../src/contract/node-config.ts'
import { createInformer } from '../../src/kube/informer.ts'
import { jobs, nodes } from '../../src/kube/resources.ts'
import { silent } from '../../src/telemetry/log.ts'
import type { ControlPlane } from '../rigs/kubernetes/rig.ts'
import { adminCaller } from '../support/access.ts'
import { forEachParallel, newConfig, readyNode, uuidOf } from '../support/controller-scale.ts'
import { eventually } from '../support/eventually.ts'
import { type RealController, startRealController } from '../support/real-controller.ts'
import { startTargetCluster } from '../support/target-cluster.ts'
import { asDeployed, startComponent } from './component.ts'
import { exponentOf, figure, isolatedBench, memoryOf, printFigure, timed } from './figure.ts'
import { measureFleet } from './fleet.ts'
import { writeOf } from './inventory.ts'
import { bodyOf, post, startViola } from './viola.ts'

const clusterSizes = [10, 100, 1_000, 5_000]
const fleetSizes = [...clusterSizes, 20_000]
const fittedSizes = 3
const estimatedSize = 100_000
/** What noise adds to linear growth: to its exponent, and from one size to the next. */
const [maxExponent, maxTimes] = [1.15, 1.1]
const within = 600_000
const maxPosted = 1_000
const maxVMs = 5_000

export const bench = isolatedBench(import.meta.filename, 60 * 60_000)

interface Grown {
  seconds: number
  calls: number
  mib: number
}

if (import.meta.main) await measure()

async function measure(): Promise<void> {
  const dir = await mkdtemp(join(tmpdir(), 'multinic-growth-'))
  const program = join(dir, 'multinic.mjs')
  await buildProgram(program)
  const real = await startRealController()
  try {
    await grow('operator', fleetSizes, size => operatorWith(program, size))
    await grow('inventory', fleetSizes, size => inventoryWith(program, join(dir, String(size)), size))
    await real.cp.exec('kubectl', ['create', 'namespace', 'multinic-system'])
    await grow('viola', clusterSizes, size => violaWith(real.cp, size))
    await grow('controller', clusterSizes, size => controllerWith(real, program, size))
  } finally {
    await real.close()
    await rm(dir, { recursive: true, force: true })
  }
  process.exit(0)
}

async function grow(
  component: string,
  sizes: readonly number[],
  measureSize: (size: number) => Promise<Grown>,
): Promise<void> {
  const all: { size: number; grown: Grown }[] = []
  for (const size of sizes) {
    const before = all.at(-1)
    const grown = await measureSize(size)
    all.push({ size, grown })
    const times = size / (before?.size ?? size)
    const reference = (of: keyof Grown) => ({
      against: before ? `${times} times that of ${before.size} nodes` : 'itself',
      reference: (before?.grown ?? grown)[of] * times,
    })
    const goal = before ? { atMostTimes: maxTimes } : { none: 'the reference of the next size' }
    printFigure(figure(`growth.${component}_seconds_${size}`, grown.seconds, 's', reference('seconds'), goal))
    printFigure(figure(`growth.${component}_calls_${size}`, grown.calls, 'calls', reference('calls'), goal))
    printFigure(figure(`growth.${component}_mib_${size}`, grown.mib, 'MiB', reference('mib'), goal))
  }
  for (const [measure, unit] of [
    ['seconds', 's'],
    ['calls', 'calls'],
    ['mib', 'MiB'],
  ] as const) {
    const points = all.slice(-fittedSizes).map(({ size, grown }) => [size, grown[measure]] as const)
    const [[size, value] = [1, Number.NaN]] = points.slice(-1)
    const exponent = exponentOf(points)
    const linear = { against: 'linear growth', reference: 1 }
    printFigure(figure(`growth.${component}_${measure}_exponent`, exponent, '', linear, { atMost: maxExponent }))
    if (sizes !== fleetSizes) continue
    const estimate = value * (estimatedSize / size) ** exponent
    const estimated = { none: 'an estimate; the exponent has the goal' }
    const largest = { against: `${size} nodes`, reference: value }
    printFigure(
      figure(`growth.${component}_${measure}_estimated_for_${estimatedSize}`, estimate, unit, largest, estimated),
    )
  }
}

/** From the creation of the objects, with at most 5,000 VMs each, until Viola accepted all nodes; calls to OpenStack. */
async function operatorWith(program: string, size: number): Promise<Grown> {
  const { deliveredMs, calls, maxMiB } = await measureFleet(program, { vms: size, objects: Math.ceil(size / maxVMs) })
  return { seconds: deliveredMs / 1_000, calls, mib: maxMiB }
}

/** One record per node, in the same requests as the operator. */
async function inventoryWith(program: string, dir: string, size: number): Promise<Grown> {
  const cluster = await startTargetCluster()
  const { token, tokensFile } = await adminCaller(cluster.dir)
  await using inventory = await startComponent('inventory', program, {
    INVENTORY_ADDR: '127.0.0.1:0',
    INVENTORY_DB_PATH: `${dir}.db`,
    INVENTORY_TOKENS_FILE: tokensFile,
    KUBECONFIG: cluster.api.kubeconfig,
  })
  const writes = Array.from({ length: size }, (_, index) => writeOf(index))
  const batches = Array.from({ length: Math.ceil(size / maxWrites) }, (_, at) =>
    JSON.stringify({ records: writes.slice(at * maxWrites, (at + 1) * maxWrites) }),
  )
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
  const seconds = await timed(async () => {
    for (const body of batches) {
      const answer = await request(`${inventory.url}${recordsPath}`, { method: 'PUT', headers, body })
      assert.equal(answer.statusCode, 204, await answer.body.text())
    }
  })
  const mib = memoryOf(inventory.pid, 'VmHWM')
  await cluster.close()
  return { seconds, calls: batches.length, mib }
}

/** All nodes with 10 interfaces each, in POSTs of at most 1,000, until they are in the API server; calls to it. */
async function violaWith(cp: ControlPlane, size: number): Promise<Grown> {
  await using viola = await startViola(cp.kubeconfig)
  const body = bodyOf(`growth${size}`, size)
  const before = await configCalls(cp)
  const seconds = await timed(async () => {
    for (let at = 0; at < size; at += maxPosted) await post(viola.url, body.slice(at, at + maxPosted))
  })
  return { seconds, calls: (await configCalls(cp)) - before, mib: memoryOf(viola.pid, 'VmHWM') }
}

/** From new configs to their Jobs, without a limit of the rollout; calls of both. */
async function controllerWith(real: RealController, program: string, size: number): Promise<Grown> {
  const namespace = `growth-${size}`
  const { kubeconfig } = await real.install(namespace)
  const { flags, environment } = asDeployed
  const daemon = real.startProcess(
    namespace,
    {
      ...{ KUBECONFIG: kubeconfig, CONTROLLER_NAMESPACE: namespace, MAX_UNAVAILABLE: '100%' },
      ...environment,
    },
    [...flags, program],
  )
  const stopped = new AbortController()
  const seen = createInformer(real.kube, jobs, { namespace, log: silent })
  try {
    await eventually(async () => assert.ok((await daemon.tail()).includes('caches synced')), { within })
    await seen.start(stopped.signal)
    const names = Array.from({ length: size }, (_, index) => `${namespace}-n${index}`)
    await forEachParallel(names, (name, index) => real.kube.create(nodes, readyNode(name, uuidOf(size % 97, index))))
    process.kill(daemon.pid, 'SIGSTOP')
    await forEachParallel(names, (name, index) =>
      real.kube.create(nodeConfigs, newConfig(name, uuidOf(size % 97, index), namespace)),
    )
    const before = (await real.requestsOf(namespace)).length
    const seconds = await timed(async () => {
      process.kill(daemon.pid, 'SIGCONT')
      await eventually(() => assert.ok(seen.list().length >= size, 'not all Jobs exist'), { within, every: 5 })
    })
    const calls = (await real.requestsOf(namespace)).length - before
    return { seconds, calls, mib: memoryOf(daemon.pid, 'VmHWM') }
  } finally {
    stopped.abort()
    await daemon.stop()
  }
}

/** Number of requests for node configs in the metrics of the API server. */
async function configCalls(cp: ControlPlane): Promise<number> {
  const { stdout } = await cp.exec('kubectl', ['get', '--raw', '/metrics'])
  return stdout
    .split('\n')
    .filter(line => line.startsWith('apiserver_request_total{') && line.includes('resource="multinicnodeconfigs"'))
    .reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' '))), 0)
}
