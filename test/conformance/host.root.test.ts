/** The host suite on network namespaces of this kernel. */
import { ensureBundles } from '../../sandbox/lifecycle/bundles.ts'
import { file } from '../../sandbox/nodes/container.ts'
import { namespaceMachine } from '../../sandbox/nodes/machine.ts'
import { hostConformance } from './host.ts'

hostConformance({
  machine: namespaceMachine,
  image: async () => ({
    entrypoint: ['/multinic/node', '/multinic/agent.cjs'],
    mounts: [file(process.execPath, '/multinic/node'), file((await ensureBundles()).agent, '/multinic/agent.cjs')],
  }),
})
