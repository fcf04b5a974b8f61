/**
 * Virtual machines for the nodes of a sandbox. This process runs in the network namespace with the bridges of the cloud.
 */
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { PodSpec } from '../../../src/kube/types.ts'
import { run } from '../process.ts'
import { buildPayload, checkVolumes, runContainer } from './container.ts'
import { createMachine, imageFacts, type Machine, type MachineOptions } from './machine.ts'
import type { Nic } from './network.ts'
import { waitForBoot } from './state.ts'

export type MachineInput = Pick<MachineOptions, 'primary' | 'uuid' | 'files'> & { nics: readonly Nic[] }

const facts = 'cat /proc/sys/kernel/random/boot_id; . /etc/os-release; echo "$PRETTY_NAME"'

export async function serveMachines(dir: string) {
  const image = (await run(join(import.meta.dirname, 'image.sh'), ['netplan'])).stdout.trim()
  const payload = await buildPayload(dir, imageFacts(image).arch)
  const machines = new Map<string, Machine>()
  const found = (name: string) => {
    const machine = machines.get(name)
    if (!machine) throw new Error(`machine ${name} not found`)
    return machine
  }
  const create = async (name: string, input: MachineInput) => {
    const own = join(dir, name)
    await mkdir(own)
    const machine = await createMachine({ dir: own, image, payload, ...input })
    machines.set(name, machine)
    return machine
  }
  return {
    addresses: {},
    methods: {
      /** Boots a machine, or boots it again. */
      async boot(name: string, input: MachineInput) {
        const known = machines.get(name)
        const machine = known ?? (await create(name, input))
        machine.nics.splice(0, machine.nics.length, ...input.nics)
        await (known ? machine.reboot() : machine.start())
        await waitForBoot(machine)
        const [bootID, osImage] = (await machine.exec(facts)).split('\n')
        return { bootID, osImage }
      },
      plug: (name: string, nic: Nic) => found(name).plug(nic),
      unplug: (name: string, nic: string) => found(name).unplug(nic),
      run: (name: string, script: string) => found(name).run(script),
      checkVolumes: (name: string, spec: PodSpec) => checkVolumes(found(name), spec),
      runContainer: (name: string, spec: PodSpec, id: string) => runContainer(found(name), spec, id),
      signal: (name: string, id: string, signal: string) => found(name).run(`runc kill ${id} ${signal}`),
      remove: (name: string) => found(name).remove(),
    },
    async close() {
      for (const machine of machines.values()) await machine.remove()
    },
  }
}
