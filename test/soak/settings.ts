/**
 * The settings of the replicas, as the chart sets them for production: leader election, TLS and tokens between the components,
 * and Services in front of Viola and the inventory.
 */
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { stringify } from 'yaml'
import type { Cloud } from '../../sandbox/cloud/cloud.ts'
import { sandboxClusterId } from '../../sandbox/cloud/state.ts'
import { agentImage, sandboxNamespace as namespace } from '../../sandbox/lifecycle/components.ts'
import { certificateAuthority } from '../rigs/kubernetes/certificates.ts'
import { adminCaller } from '../support/access.ts'
import type { SandboxCluster } from '../support/sandbox-cluster.ts'
import { shippedFor } from './chart.ts'
import type { ReplicaSettings } from './components.ts'
import type { SoakDatabase } from './database.ts'
import { type ComponentName, componentOf, type ReplicaName, replicaNames } from './names.ts'
import { createService } from './service.ts'

interface Environment {
  management: SandboxCluster
  biz: SandboxCluster
  cloud: Cloud
  database: SoakDatabase
  /** Time to live of finished Jobs. */
  jobTtlSeconds: number
}

/** Below the ports of outgoing connections: a restarted replica finds its port free. */
const ports = { viola: 7_001, inventory: 7_002, replicas: 8_001 }

export async function replicaSettings(
  dir: string,
  { management, biz, cloud, database, jobTtlSeconds }: Environment,
): Promise<Record<ReplicaName, ReplicaSettings>> {
  const routing = join(dir, 'viola-routing.yaml')
  const target = { providerId: sandboxClusterId, namespace, kubeconfig: biz.api.kubeconfig }
  await writeFile(routing, stringify({ strict: true, targets: [target] }), { mode: 0o600 })
  const caller = await adminCaller(dir)
  const authority = await certificateAuthority(dir)
  const certificate = await authority.issue('serving', '/CN=soak', { subjectAltName: 'IP:127.0.0.1' })
  const ca = await readFile(authority.cert, 'utf8')
  const [viola, inventory] = [createService('viola', ports.viola), createService('inventory', ports.inventory)]

  const components: Record<ComponentName, (address: string) => ReplicaSettings> = {
    viola: address => ({
      ...{ address, service: viola, ca },
      env: {
        LISTEN_ADDR: address,
        ROUTING_CONFIG: routing,
        KUBECONFIG: management.api.kubeconfig,
        VIOLA_TOKENS_FILE: caller.tokensFile,
        VIOLA_TLS_CERT_FILE: certificate.cert,
        VIOLA_TLS_KEY_FILE: certificate.key,
      },
    }),
    inventory: address => ({
      ...{ address, service: inventory, ca },
      env: {
        KUBECONFIG: management.api.kubeconfig,
        INVENTORY_ADDR: address,
        INVENTORY_DATABASE_URL: database.url,
        INVENTORY_TOKENS_FILE: caller.tokensFile,
        INVENTORY_TLS_CERT_FILE: certificate.cert,
        INVENTORY_TLS_KEY_FILE: certificate.key,
      },
    }),
    operator: address => ({
      address,
      env: {
        KUBECONFIG: management.api.kubeconfig,
        POD_NAMESPACE: namespace,
        LEADER_ELECT: 'true',
        OPERATOR_ADDR: address,
        CONTRABASS_ENDPOINT: cloud.urls.contrabass,
        VIOLA_ENDPOINT: `https://${viola.address}`,
        VIOLA_TOKEN_FILE: caller.tokenFile,
        VIOLA_CA_FILE: authority.cert,
        INVENTORY_URL: `https://${inventory.address}`,
        INVENTORY_TOKEN_FILE: caller.tokenFile,
        INVENTORY_CA_FILE: authority.cert,
      },
    }),
    controller: address => ({
      address,
      env: {
        KUBECONFIG: biz.api.kubeconfig,
        CONTROLLER_NAMESPACE: namespace,
        LEADER_ELECT: 'true',
        AGENT_IMAGE: agentImage,
        HEALTH_ADDR: address,
        JOB_TTL: `${jobTtlSeconds}s`,
      },
    }),
  }
  const entries = replicaNames.map((name, index): [ReplicaName, ReplicaSettings] => {
    const component = componentOf(name)
    const settings = components[component](`127.0.0.1:${ports.replicas + index}`)
    return [name, { ...settings, env: { ...shippedFor(component).settings, ...settings.env } }]
  })
  return Object.fromEntries(entries) as Record<ReplicaName, ReplicaSettings>
}
