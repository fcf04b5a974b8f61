import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startKubeApi } from '../../sandbox/kube/server.ts'
import { silent } from '../../src/telemetry/log.ts'
import { kubeConformance } from './kube.ts'

kubeConformance('the simulated Kubernetes API server', async () => {
  const dir = await mkdtemp(join(tmpdir(), 'multinic-kube-'))
  const api = await startKubeApi({ name: 'conformance', dir, log: silent })
  return {
    kubeconfig: api.kubeconfig,
    async close() {
      await api.close()
      await rm(dir, { recursive: true })
    },
  }
})
