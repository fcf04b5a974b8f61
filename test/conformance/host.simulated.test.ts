/** The suite for nodes, on the machine in memory. */
import { agentEntrypoint, simulatedMachine } from '../../sandbox/nodes/simulated/machine.ts'
import { hostConformance } from './host.ts'

hostConformance({
  machine: simulatedMachine,
  image: async () => ({ entrypoint: [agentEntrypoint], mounts: [] }),
})
