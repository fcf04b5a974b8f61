/** The host suite on the simulated machine. */
import { agentEntrypoint, simulatedMachine } from '../../sandbox/nodes/simulated/machine.ts'
import { hostConformance } from './host.ts'

hostConformance({
  machine: simulatedMachine,
  image: async () => ({ entrypoint: [agentEntrypoint], mounts: [] }),
})
