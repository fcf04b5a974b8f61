/** The host suites on the simulated machine and its kernel. */
import { simulatedHost } from '../../sandbox/nodes/simulated/host.ts'
import { createNamespace } from '../../sandbox/nodes/simulated/kernel.ts'
import { agentEntrypoint, simulatedMachine } from '../../sandbox/nodes/simulated/machine.ts'
import { hostConformance } from './host.ts'
import { kernelConformance } from './host-kernel.ts'

kernelConformance(() => ({
  async create() {
    const namespace = createNamespace('node')
    const all = new Map([[namespace.name, namespace]])
    return simulatedHost({ all, namespace, mounts: [], listening: new Set() })
  },
  async remove() {},
}))

hostConformance({
  machine: simulatedMachine,
  image: async () => ({ entrypoint: [agentEntrypoint], mounts: [] }),
})
