/** The suite for nodes, on network namespaces of this kernel. */
import { builtParts } from '../../src/sandbox/built.ts'
import { file } from '../../src/sandbox/container.ts'
import { namespaceMachine } from '../../src/sandbox/machine.ts'
import { hostConformance } from './host.ts'

hostConformance({
  machine: namespaceMachine,
  image: async () => ({
    entrypoint: ['/multinic/node', '/multinic/agent.cjs'],
    mounts: [file(process.execPath, '/multinic/node'), file((await builtParts()).agent, '/multinic/agent.cjs')],
  }),
})
