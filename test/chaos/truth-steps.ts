/**
 * The steps of the state-machine test: what users, clouds, disks and crashes do to one sandbox, as commands of fast-check.
 */
import assert from 'node:assert/strict'
import fc from 'fast-check'
import { sandboxNamespace as namespace } from '../../sandbox/lifecycle/components.ts'
import { type NodeConfig, nodeConfigAnnotations, nodeConfigs } from '../../src/contract/node-config.ts'
import { jobs } from '../../src/kube/resources.ts'
import { explain } from '../../src/runtime/errors.ts'
import { eventually } from '../support/eventually.ts'
import { annotatePause, type Truth } from './truth.ts'

/** Enough to decide which steps are possible. */
export interface Plan {
  /** Number of ports by VM. */
  ports: Record<string, number>
  paused: Set<string>
  readOnly: string | undefined
}

export const emptyPlan = (): Plan => ({ ports: {}, paused: new Set(), readOnly: undefined })

/** Two NICs on every node, then random steps. Impossible ones are skipped. */
export function sequencesFor(vms: readonly string[], length: number): fc.Arbitrary<Step[]> {
  const first = vms.flatMap(vm => [attach({ vm, subnet: 'storage' }), attach({ vm, subnet: 'backup' })])
  return fc
    .array(fc.oneof(...stepsFor(vms)), { minLength: length, maxLength: length })
    .map(steps => [...first, ...steps])
}

export type Step = fc.AsyncCommand<Plan, Truth>
type Wanted = NodeConfig['spec']['interfaces'][number]
type Edit = (nic: Wanted) => string[]

const maxPorts = 3
const readOnly = 'read-only-etc'

const kernelEdits: Record<string, Edit> = {
  mtu: ({ name }) => [`link set dev ${name} mtu 1300`],
  address: ({ name, address }) => [`addr del ${address}/24 dev ${name}`],
  down: ({ name }) => [`link set dev ${name} down`],
  name: ({ name, id }) => [
    `link set dev ${name} down`,
    `link set dev ${name} name handmade${id}`,
    `link set dev handmade${id} up`,
  ],
}

const statusEdits: Record<string, (status: NonNullable<NodeConfig['status']>) => object> = {
  'number of NICs': () => ({ nics: '9/9' }),
  'state of an interface': ({ interfaceStatuses = [] }) => ({
    interfaceStatuses: interfaceStatuses.map((nic, at) =>
      at === 0 ? { ...nic, status: 'Failed', reason: 'NicMissing' } : nic,
    ),
  }),
  'no interfaces': () => ({ interfaceStatuses: [] }),
  'observed values': ({ interfaceStatuses = [] }) => ({
    interfaceStatuses: interfaceStatuses.map(nic => ({ ...nic, observed: { ...nic.observed, mtu: 1_234 } })),
  }),
}

function stepsFor(vms: readonly string[]): fc.Arbitrary<Step>[] {
  const vm = fc.constantFrom(...vms)
  const at = fc.nat(maxPorts - 1)
  const one = <T extends string>(of: Record<T, unknown>) => fc.constantFrom(...(Object.keys(of) as T[]))
  return [
    fc.record({ vm, subnet: fc.constantFrom('storage', 'backup') }).map(attach),
    fc.record({ vm, subnet: fc.constantFrom('storage', 'backup') }).map(attach),
    fc.record({ vm, at }).map(detach),
    fc.record({ vm }).map(pauseOrResume),
    fc.record({ vm }).map(breakDisk),
    fc.record({ vm }).map(repair),
    fc.record({ component: fc.constantFrom('operator', 'controller', 'viola') }).map(restart),
    fc.record({ vm, at, edit: one(kernelEdits) }).map(editKernel),
    fc.record({ vm, at, edit: one(kernelEdits) }).map(editBeforeReport),
    fc.record({ vm, at }).map(editSpec),
    fc.record({ vm, edit: one(statusEdits) }).map(editStatus),
  ]
}

function stepOf(
  text: string,
  isPossible: (plan: Plan) => boolean,
  run: (plan: Plan, truth: Truth) => Promise<void>,
): Step {
  return {
    toString: () => text,
    check: isPossible,
    async run(plan, truth) {
      try {
        await run(plan, truth)
      } catch (error) {
        throw explain(text, error)
      }
    },
  }
}

const has = (vm: string) => (plan: Plan) => (plan.ports[vm] ?? 0) > 0
const isIdle = (vm: string) => (plan: Plan) => has(vm)(plan) && !plan.paused.has(vm) && plan.readOnly !== vm

export function attach({ vm, subnet }: { vm: string; subnet: string }): Step {
  return stepOf(
    `attach ${vm} ${subnet}`,
    plan => (plan.ports[vm] ?? 0) < maxPorts,
    async (plan, truth) => {
      plan.ports[vm] = (plan.ports[vm] ?? 0) + 1
      await truth.step(
        async () => {
          const [port] = truth.system.attach({ vm, subnet })
          assert.ok(port)
          truth.model.ports.set(port.id, { id: port.id, macAddress: port.macAddress, vm, subnet })
        },
        () => false,
        { vm, subnet },
      )
    },
  )
}

export function detach({ vm, at }: { vm: string; at: number }): Step {
  // The last one only if an agent can remove everything.
  const isPossible = (plan: Plan) => isIdle(vm)(plan) || (plan.ports[vm] ?? 0) > 1
  return stepOf(`detach ${vm} ${at}`, isPossible, async (plan, truth) => {
    plan.ports[vm] = (plan.ports[vm] ?? 1) - 1
    const ports = [...truth.model.ports.values()].filter(port => port.vm === vm)
    const port = ports[at % ports.length]
    assert.ok(port)
    await truth.step(
      async () => {
        truth.model.ports.delete(port.id)
        await truth.system.detach({ vm, port: port.id })
      },
      nic => nic.macAddress === port.macAddress,
      port,
    )
  })
}

function pauseOrResume({ vm }: { vm: string }): Step {
  return stepOf(`pause or resume ${vm}`, has(vm), async ({ paused }, truth) => {
    const isPaused = paused.delete(vm)
    if (!isPaused) paused.add(vm)
    await truth.step(async () => {
      if (isPaused) truth.paused.delete(vm)
      else truth.paused.add(vm)
      await annotatePause(truth, vm, isPaused ? null : 'true')
    })
  })
}

function breakDisk({ vm }: { vm: string }): Step {
  return stepOf(
    `fail ${vm}`,
    plan => plan.readOnly === undefined,
    async (plan, truth) => {
      plan.readOnly = vm
      await truth.step(() => truth.system.sandbox.faults.start({ name: readOnly, node: vm }))
    },
  )
}

export function repair({ vm }: { vm: string }): Step {
  return stepOf(
    `repair ${vm}`,
    plan => has(vm)(plan) && !plan.paused.has(vm),
    async (plan, truth) => {
      if (plan.readOnly === vm) plan.readOnly = undefined
      await truth.step(async () => {
        if (plan.readOnly === undefined) await truth.system.sandbox.faults.stop(readOnly)
        await truth.answer('retry', vm, '--timeout', '90s')
      })
    },
  )
}

function restart({ component }: { component: 'operator' | 'controller' | 'viola' }): Step {
  return stepOf(
    `restart ${component}`,
    () => true,
    async (_, truth) => {
      const { components } = truth.system.sandbox
      const restarts = components.restartsOf(component)
      await truth.step(async () => {
        truth.system.killComponent(component)
        await eventually(() => assert.ok(components.restartsOf(component) > restarts && components.pidOf(component)))
      })
    },
  )
}

export function editKernel({ vm, at, edit }: { vm: string; at: number; edit: string }): Step {
  return stepOf(`edit ${edit} of ${vm} ${at} in the kernel`, isIdle(vm), async (_, truth) => {
    const nic = await nicAt(truth, vm, at)
    await truth.step(
      () => editNic(truth, vm, nic, edit),
      ({ macAddress }) => macAddress === nic.macAddress,
    )
  })
}

/** Somebody edits a NIC after an agent observed it, and before the controller reads the report. */
function editBeforeReport({ vm, at, edit }: { vm: string; at: number; edit: string }): Step {
  const text = `edit ${edit} of ${vm} ${at} in the kernel before the controller reads a report`
  return stepOf(text, isIdle(vm), async (_, truth) => {
    const nic = await nicAt(truth, vm, at)
    const { components } = truth.system.sandbox
    await truth.step(
      async () => {
        const job = await checkWithoutController(truth, vm)
        const edited = Date.now()
        await editNic(truth, vm, nic, edit)
        // Times of Kubernetes have a resolution of one second.
        await eventually(() => assert.ok(Date.now() > edited + 1_000))
        components.resume('controller')
        const status = await eventually(
          async () => {
            const { status } = (await truth.config(vm)) ?? assert.fail()
            assert.equal(status?.lastJobName, job)
            return status
          },
          { within: 60_000 },
        )
        const { lastChecked = '' } = status.interfaceStatuses?.find(one => one.macAddress === nic.macAddress) ?? {}
        const editedAt = new Date(edited).toISOString()
        assert.ok(Date.parse(lastChecked) <= edited, `checked at ${lastChecked}, but edited at ${editedAt}`)
      },
      ({ macAddress }) => macAddress === nic.macAddress,
    )
  })
}

/** Starts a check and suspends the controller. Returns the name of the Job when it has ended. */
async function checkWithoutController({ system: { sandbox } }: Truth, name: string): Promise<string> {
  const { kube } = sandbox.biz
  const before = new Set((await kube.list(jobs, { namespace })).items.map(({ metadata }) => metadata.name))
  const annotations = { [nodeConfigAnnotations.check]: 'now' }
  await kube.patch(nodeConfigs, { namespace, name }, { metadata: { annotations } })
  const job = await eventually(
    async () => {
      const { items } = await kube.list(jobs, { namespace })
      return items.find(({ metadata }) => !before.has(metadata.name))?.metadata.name ?? assert.fail('no check started')
    },
    { within: 60_000 },
  )
  sandbox.components.suspend('controller')
  await eventually(
    async () => {
      const { status } = (await kube.get(jobs, { namespace, name: job })) ?? assert.fail()
      const isEnd = (one: { type: string; status: string }) => /Complete|Failed/.test(one.type) && one.status === 'True'
      assert.ok(status?.conditions?.some(isEnd), `${job} runs`)
    },
    { within: 60_000 },
  )
  return job
}

function editSpec({ vm, at }: { vm: string; at: number }): Step {
  return stepOf(`edit the spec of ${vm} ${at}`, has(vm), async (_, truth) => {
    const nic = await nicAt(truth, vm, at)
    await truth.step(
      async () => {
        const { apiVersion, kind, spec } = (await truth.config(vm)) ?? assert.fail()
        const interfaces = spec.interfaces.map(one =>
          one.macAddress === nic.macAddress ? { ...one, mtu: 1_280 } : one,
        )
        const edited = { apiVersion, kind, metadata: { namespace, name: vm }, spec: { ...spec, interfaces } }
        await truth.system.sandbox.biz.kube.apply(nodeConfigs, edited, { fieldManager: 'kubectl-edit', force: true })
        await eventually(async () => {
          const found = (await truth.config(vm))?.spec.interfaces.find(one => one.macAddress === nic.macAddress)
          assert.equal(found?.mtu, nic.mtu, 'the edit is not reverted')
        })
      },
      ({ macAddress }) => macAddress === nic.macAddress,
    )
  })
}

function editStatus({ vm, edit }: { vm: string; edit: string }): Step {
  return stepOf(`edit the status of ${vm}: ${edit}`, isIdle(vm), async (_, truth) => {
    await truth.step(
      async () => {
        const { status } = (await truth.config(vm)) ?? assert.fail()
        if (!status) return
        await truth.system.sandbox.biz.kube.patchStatus(
          nodeConfigs,
          { namespace, name: vm },
          statusEdits[edit]?.(status) ?? {},
        )
      },
      nic => nic.vm === vm,
    )
  })
}

async function nicAt(truth: Truth, vm: string, at: number): Promise<Wanted> {
  const interfaces = (await truth.config(vm))?.spec.interfaces ?? []
  return interfaces[at % interfaces.length] ?? assert.fail(`${vm} has no interfaces`)
}

/** By the name that the NIC has now: another edit may have changed it. An edit that was made before changes nothing. */
async function editNic(truth: Truth, vm: string, nic: Wanted, edit: string): Promise<void> {
  const node = truth.system.sandbox.nodes.get(vm) ?? assert.fail()
  const { nics } = await truth.system.nodeState(vm)
  const now = nics.find(({ macAddress }) => macAddress === nic.macAddress)
  if (!now || (edit === 'address' && now.addresses.length === 0) || (edit === 'name' && now.name !== nic.name)) return
  await truth.system.sandbox.machine.ip(node.namespace, kernelEdits[edit]?.({ ...nic, name: now.name }) ?? [])
}
