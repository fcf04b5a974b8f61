/**
 * The bundled operator, with the inventory inside, in its own process. The cluster, a cloud of many VMs and Viola are stubs in
 * this one.
 */
import { randomUUID } from 'node:crypto'
import { dirname, join } from 'node:path'
import type { Settings } from '../../src/contract/settings.ts'
import { startProbe } from '../hostile/probe.ts'
import { projectId, startCloudStub, startViolaStub, subnetIds, vmIdOf } from '../operator/benchmark-stubs.ts'
import { clusterId, startOperatorEnvironment } from '../operator/environment.ts'
import { startComponent } from './component.ts'
import { memoryOf } from './figure.ts'

/** Of each call of the cloud. */
const callMs = 20

export type Stubs = Awaited<ReturnType<typeof startStubs>>

export async function startStubs({ vms, viola: options }: { vms: number; viola?: ViolaOptions }) {
  await using stack = new AsyncDisposableStack()
  const environment = await startOperatorEnvironment()
  stack.defer(() => environment.close())
  const cloud = await startCloudStub({ key: environment.cloudState.provider.encryptKey, vms, callMs })
  stack.defer(() => cloud.close())
  const viola = await startViolaStub(options)
  stack.defer(() => viola.close())
  const started = stack.move()
  return {
    environment,
    cloud,
    viola,
    /** An OpenstackConfig with these VMs. */
    create: (
      name: string,
      { first = 0, count = vms, settings }: { first?: number; count?: number; settings: Settings },
    ) =>
      environment.create({
        name,
        subnetIDs: subnetIds,
        vmNames: Array.from({ length: count }, (_, n) => vmIdOf(first + n)),
        credentials: { openstackProviderID: 'p', k8sProviderID: clusterId, projectID: projectId },
        settings,
      }),
    [Symbol.asyncDispose]: () => started.disposeAsync(),
  }
}

type ViolaOptions = NonNullable<Parameters<typeof startViolaStub>[0]>

/** Asks for /healthz all the time, and for /metrics every second, until the probe is stopped. */
export async function startOperator(program: string, { environment, cloud, viola }: Stubs) {
  const operator = await startComponent('operator', program, {
    KUBECONFIG: environment.api.kubeconfig,
    OPERATOR_ADDR: '127.0.0.1:0',
    INVENTORY_ADDR: '127.0.0.1:0',
    INVENTORY_DB_PATH: join(dirname(program), `inventory-${randomUUID()}.db`),
    CONTRABASS_ENDPOINT: cloud.url,
    VIOLA_ENDPOINT: viola.url,
  })
  const idleMiB = memoryOf(operator.pid)
  /** Times of the answers, in ms. */
  const [healthz, metrics]: [number[], number[]] = [[], []]
  const probing = Promise.withResolvers<void>()
  const { url, pid } = operator
  const probed = [
    { name: 'healthz', url, pid },
    { name: 'metrics', url, pid, path: '/metrics', everyMs: 1_000 },
  ]
  const probe = startProbe(probed, ({ name, computedMs, heldUpMs }) => {
    const times = name === 'metrics' ? metrics : healthz
    times.push(computedMs + heldUpMs)
    if (times === healthz) probing.resolve()
  })
  // The probe starts a process of its own, which takes a processor from the operator.
  await probing.promise
  healthz.length = 0
  metrics.length = 0
  return { ...operator, idleMiB, healthz, metrics, probe }
}
