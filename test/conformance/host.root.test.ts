/** The suite for nodes, on network namespaces of this kernel. */
import { builtParts } from '../../sandbox/built.ts'
import { file } from '../../sandbox/container.ts'
import { namespaceMachine } from '../../sandbox/machine.ts'
import { hostConformance } from './host.ts'

hostConformance({
  machine: namespaceMachine,
  image: async () => ({
    entrypoint: ['/multinic/node', '/multinic/agent.cjs'],
    mounts: [file(process.execPath, '/multinic/node'), file((await builtParts()).agent, '/multinic/agent.cjs')],
  }),
})
