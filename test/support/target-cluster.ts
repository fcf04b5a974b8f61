/**
 * A Kubernetes API with our CRDs and the default namespace, for tests of components that use one.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type KubeApi, startKubeApi } from '../../sandbox/kube/server.ts'
import { crdOf, kinds } from '../../src/contract/crd.ts'
import { connectKube, type KubeClient } from '../../src/kube/client.ts'
import { loadKubeconfig } from '../../src/kube/config.ts'
import { crds, namespaces } from '../../src/kube/resources.ts'
import type { KubeObject } from '../../src/kube/types.ts'
import { silent } from '../../src/telemetry/log.ts'

export interface TargetCluster {
  api: KubeApi
  kube: KubeClient
  /** For files of the test; `close` removes it. */
  dir: string
  close(): Promise<void>
}

export async function startTargetCluster({ namespace = 'multinic-system', port = 0 } = {}): Promise<TargetCluster> {
  const dir = await mkdtemp(join(tmpdir(), 'multinic-biz-'))
  const api = await startKubeApi({ name: 'biz', dir, port, log: silent })
  const kube = connectKube(await loadKubeconfig(api.kubeconfig))
  for (const kind of kinds) await kube.create(crds, crdOf(kind) as KubeObject)
  const exists = await kube.get(namespaces, { name: namespace })
  if (!exists) await kube.create(namespaces, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } })
  return {
    api,
    kube,
    dir,
    async close() {
      await kube.close()
      await api.close()
      await rm(dir, { recursive: true })
    },
  }
}
