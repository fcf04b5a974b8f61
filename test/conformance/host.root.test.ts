/** The host suites on network namespaces of this kernel. */
import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ensureBundles } from '../../sandbox/lifecycle/bundles.ts'
import {
  addNamespace,
  makeStateDir,
  type StateDir,
  stateDir,
  stopAndRemove,
} from '../../sandbox/lifecycle/state-dir.ts'
import { file } from '../../sandbox/nodes/container.ts'
import { namespaceMachine } from '../../sandbox/nodes/machine.ts'
import { kernelHost } from '../../src/agent/host/host.ts'
import { hostConformance } from './host.ts'
import { kernelConformance } from './host-kernel.ts'

kernelConformance(() => {
  let state: StateDir | undefined
  return {
    async create() {
      state = stateDir(await mkdtemp(join(tmpdir(), 'multinic-kernel-')))
      await makeStateDir(state)
      const namespace = `${state.prefix}node`
      await addNamespace(state, namespace)
      return kernelHost({ namespace })
    },
    async remove() {
      if (state) await stopAndRemove(state)
    },
  }
})

hostConformance({
  machine: namespaceMachine,
  image: async () => ({
    entrypoint: ['/multinic/node', '/multinic/agent.cjs'],
    mounts: [file(process.execPath, '/multinic/node'), file((await ensureBundles()).agent, '/multinic/agent.cjs')],
  }),
})
