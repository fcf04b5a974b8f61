/**
 * Viola on a real kube-apiserver: 1,000 nodes of 10 interfaces, the same POST again, and its memory. The reference is a bare
 * client that makes the same applies with the same parallelism.
 */
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { request } from 'undici'
import { buildProgram } from '../../scripts/build.ts'
import { nodeConfigs } from '../../src/contract/node-config.ts'
import { type ViolaPostAnswer, violaPath } from '../../src/contract/viola.ts'
import { connectKube, type KubeClient } from '../../src/kube/client.ts'
import { loadKubeconfig } from '../../src/kube/config.ts'
import { environment } from '../../src/runtime/env.ts'
import { appliedObject } from '../../src/viola/plan.ts'
import { nodesFrom } from '../../src/viola/request.ts'
import { startControlPlane } from '../rigs/kubernetes/rig.ts'
import { aNodeOf } from '../support/viola.ts'
import { type RunningComponent, startComponent } from './component.ts'
import { figure, isolatedBench, memoryOf, printFigure, timed } from './figure.ts'

const root = join(import.meta.dirname, '../..')
const [count, parallel] = [1_000, 16]
const namespace = 'multinic-system'

export const bench = isolatedBench(import.meta.filename, 10 * 60_000)

if (import.meta.main) await measure()

async function measure(): Promise<void> {
  const cp = await startControlPlane()
  const kube = connectKube(await loadKubeconfig(cp.kubeconfig))
  const viola = await startViola(cp.kubeconfig)
  try {
    await cp.exec('kubectl', ['create', 'namespace', namespace])
    await cp.exec('kubectl', ['apply', '-f', join(root, 'config/crd/bases')])
    await cp.exec('kubectl', ['wait', '--for=condition=Established', 'crd', '--all', '--timeout=30s'])
    await bareApplies(kube, bodyOf('warm-bare', 50))
    await post(viola.url, bodyOf('warm', 50))

    // Half of the reference before and half after, so that other load slows both.
    const body = bodyOf('viola', count)
    const before = await timed(() => bareApplies(kube, bodyOf('bare-before', count / 2)))
    const first = await timed(() => post(viola.url, body))
    const bare = before + (await timed(() => bareApplies(kube, bodyOf('bare-after', count / 2))))
    const again = await timed(() => post(viola.url, body))
    printFigure(
      figure('viola.apply_1000', first, 's', { against: 'bare client', reference: bare }, { atMostTimes: 1.3 }),
    )
    printFigure(
      figure(
        'viola.repeat_1000_speedup',
        first / again,
        'times',
        { against: 'the first time', reference: 1 },
        { atLeastTimes: 5 },
      ),
    )
    const thousands = { against: 'thousands of nodes', reference: (2 * count) / 1_000 }
    printFigure(figure('viola.rss_mib', memoryOf(viola.pid), 'MiB', thousands, { atMost: 150 }))
  } finally {
    await viola[Symbol.asyncDispose]()
    await kube.close()
    await cp.close()
  }
}

export function bodyOf(prefix: string, nodes: number): object[] {
  return Array.from({ length: nodes }, (_, index) => aNodeOf(`${prefix}-${index}`, 10))
}

async function bareApplies(kube: KubeClient, body: object[]): Promise<void> {
  const { nodes } = nodesFrom(body, 'bare')
  const queue = nodes.map(node => appliedObject(node, { providerId: 'bare' }))
  const worker = async () => {
    for (let next = queue.pop(); next; next = queue.pop()) {
      const object = { ...next, metadata: { ...next.metadata, namespace } }
      await kube.apply(nodeConfigs, object, { fieldManager: 'bare' })
    }
  }
  await Promise.all(Array.from({ length: parallel }, worker))
}

export async function post(url: string, body: object[]): Promise<void> {
  const headers = { 'x-provider-id': 'p1', 'content-type': 'application/json' }
  const answer = await request(`${url}${violaPath}`, { method: 'POST', headers, body: JSON.stringify(body) })
  const { applied, output } = (await answer.body.json()) as ViolaPostAnswer
  if (applied !== body.length) throw new Error(`${answer.statusCode}: ${output}`)
}

/** The bundle, as deployed. */
export async function startViola(kubeconfig: string): Promise<RunningComponent> {
  const program = join(tmpdir(), 'multinic.mjs')
  await buildProgram(program)
  const settings = {
    ...{ KUBECONFIG: kubeconfig, LISTEN_ADDR: '127.0.0.1:0', VIOLA_PARALLEL: String(parallel) },
    // As the bare client waits: on a busy machine a write may take longer than the default of 10 s.
    KUBE_TIMEOUT: '30s',
  }
  return startComponent('viola', program, { ...environment(), ...settings, VIOLA_ANONYMOUS_ACCESS: 'true' })
}
