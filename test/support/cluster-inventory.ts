/**
 * An inventory and its Pod in a cluster, as the chart installs it: the commands find it by the kubeconfig.
 */
import { type RunningInventory, type StartOptions, startInventory } from '../../src/inventory/main.ts'
import type { KubeClient } from '../../src/kube/client.ts'
import { namespaces, pods } from '../../src/kube/resources.ts'
import { silent } from '../../src/telemetry/log.ts'
import { grant, rules } from './access.ts'
import { aWrite } from './inventory.ts'

export interface ClusterInventoryOptions extends Pick<StartOptions, 'addRoutes'> {
  api: { kubeconfig: string }
  kube: KubeClient
  namespace: string
  /** Of its database. */
  file: string
  /** The settings of its certificate, and the Secret that the Pod mounts for it. */
  tls?: Record<string, string> | undefined
  tlsSecret?: string
}

/** It has the node w1 with ten NICs. The namespace also has the ServiceAccount `user`, which has no rights. */
export async function startClusterInventory(options: ClusterInventoryOptions): Promise<RunningInventory> {
  const { api, kube, namespace, file, tls = {}, tlsSecret, addRoutes } = options
  const inventory = await startInventory({
    env: { INVENTORY_ADDR: '127.0.0.1:0', INVENTORY_DB_PATH: file, KUBECONFIG: api.kubeconfig, ...tls },
    log: silent,
    ...(addRoutes && { addRoutes }),
  })
  await inventory.recorder.put([aWrite('w1', { nics: 10 })])
  if (!(await kube.get(namespaces, { name: namespace })))
    await kube.create(namespaces, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } })
  for (const name of ['multinic-reader', 'user'])
    await kube.raw('POST', `/api/v1/namespaces/${namespace}/serviceaccounts`, {
      apiVersion: 'v1',
      kind: 'ServiceAccount',
      metadata: { name },
    })
  await grant(kube, `system:serviceaccount:${namespace}:multinic-reader`, [rules.readInventory])
  const labels = { 'app.kubernetes.io/part-of': 'multinic', 'app.kubernetes.io/component': 'inventory' }
  const ports = [{ name: 'inventory', containerPort: Number(new URL(inventory.url).port) }]
  const env = Object.keys(tls).map(name => ({ name, value: `/etc/multinic/inventory-tls/${name}` }))
  const volumeMounts = [{ name: 'tls', mountPath: '/etc/multinic/inventory-tls' }]
  const containers = [{ name: 'inventory', image: 'multinic', ports, env, volumeMounts }]
  const volumes = [{ name: 'tls', secret: { secretName: tlsSecret } }]
  await kube.create(pods, {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'multinic-inventory-1', namespace, labels },
    spec: { containers, volumes, nodeName: 'here' } as never,
  })
  const conditions = [{ type: 'Ready', status: 'True' }]
  const status = { phase: 'Running', podIP: '127.0.0.1', conditions }
  await kube.patchStatus(pods, { namespace, name: 'multinic-inventory-1' }, status)
  return inventory
}
