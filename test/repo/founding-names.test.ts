/**
 * The names of the founding documents and of the Go implementation, which users' scripts, values and objects contain. They stay;
 * every other name of ours may change until the first release.
 */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { existsSync, globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { root } from './sources.ts'

interface Names {
  /** What defines the names: each has to be a whole word of one of these files. */
  in: string[]
  names: string
}

const names: Record<string, Names> = {
  'environment variables of the operator': {
    in: ['docs/reference/operator-settings.md', 'docs/reference/settings.md', 'docs/reference/inventory-settings.md'],
    names: `CONTRABASS_ENDPOINT CONTRABASS_ENCRYPT_KEY CONTRABASS_TIMEOUT CONTRABASS_INSECURE_TLS CONTRABASS_CA_FILE
      OPENSTACK_TIMEOUT OPENSTACK_INSECURE_TLS OPENSTACK_NEUTRON_ENDPOINT OPENSTACK_NOVA_ENDPOINT OPENSTACK_CA_FILE
      OPENSTACK_ENDPOINT_INTERFACE OPENSTACK_ENDPOINT_REGION OPENSTACK_NODE_NAME_METADATA_KEY OPENSTACK_PORT_ALLOWED_STATUSES
      OPENSTACK_PORT_BASELINE OPENSTACK_PORT_OWNERS DOWN_PORT_FAST_RETRY_MAX POLL_FAST_INTERVAL POLL_SLOW_INTERVAL
      POLL_ERROR_INTERVAL POLL_FAST_WINDOW VIOLA_ENDPOINT VIOLA_TIMEOUT VIOLA_INSECURE_TLS VIOLA_TOKEN_FILE
      VIOLA_CLIENT_CERT_FILE VIOLA_CLIENT_KEY_FILE VIOLA_CA_FILE RABBITMQ_SECRET_ENABLED WATCH_NAMESPACES INVENTORY_ENABLED
      INVENTORY_ADDR INVENTORY_DB_PATH INVENTORY_DATABASE_URL`,
  },
  'settings of the agent': {
    in: ['docs/reference/controller-settings.md'],
    names: `NETWORK_POLICY_ROUTING_ENABLED NETWORK_ROUTING_TABLE_BASE NETWORK_ROUTE_METRIC NETWORK_NOPREFIXROUTE
      NETWORK_SET_ARP_SYSCTLS NETWORK_SET_RP_FILTER_LOOSE NETWORK_RELOAD NIC_WAIT PREFLIGHT_ALLOW_UP`,
  },
  'environment variables of the controller': {
    in: ['docs/reference/controller-settings.md'],
    names:
      'CONTROLLER_NAMESPACE POD_NAMESPACE AGENT_IMAGE KUBECONFIG MAX_UNAVAILABLE FAILURE_BUDGET DRIFT_INTERVAL DRIFT_POLICY',
  },
  OpenstackConfig: {
    in: ['deployments/crds/multinic.example.com_openstackconfigs.yaml'],
    names: `multinic.example.com v1alpha1 OpenstackConfig OpenstackConfigList openstackconfigs openstackconfig osc Namespaced
      subnetIDs subnetID subnetName vmNames credentials openstackProviderID k8sProviderID projectID dataPlatformDB username password
      domainName providerID settings contrabassEndpoint contrabassEncryptKey contrabassTimeout contrabassInsecureTLS
      openstackTimeout openstackInsecureTLS openstackNeutronEndpoint openstackNovaEndpoint openstackEndpointInterface
      openstackEndpointRegion openstackNodeNameMetadataKey openstackPortAllowedStatuses openstackPortBaseline openstackPortOwners
      downPortFastRetryMax pollFastInterval pollSlowInterval pollErrorInterval pollFastWindow violaEndpoint violaTimeout
      violaInsecureTLS secrets contrabassEncryptKeySecretRef violaTokenSecretRef deletionPolicy Retain observedGeneration conditions
      lastSyncedAt lastError downPortRetry lastAttempt fastAttempts nextSyncAt`,
  },
  MultiNicNodeConfig: {
    in: ['deployments/crds/multinic.io_multinicnodeconfigs.yaml'],
    names: `multinic.io v1 v1alpha1 MultiNicNodeConfig multinicnodeconfigs multinicnodeconfig mnnc providerId nodeName instanceId specHash
      interfaces portId id name macAddress address cidr mtu addresses gateway routes networkId subnetId source observedGeneration
      observedSpecHash lastProcessed lastJobName state Pending InProgress Configured Failed conditions interfaceStatuses status reason
      message lastConfigured lastChecked Node State NICs Reason Age`,
  },
  MultiNicBizConfig: {
    in: ['deployments/crds/multinic.io_multinicbizconfigs.yaml'],
    names: `multinic.io v1 MultiNicBizConfig multinicbizconfigs mnbc multinicclusterconfig multinicclusterconfigs providerId specHash
      nodeConfigs attachedNodeId attachedNodeName interfaces portId macAddress address cidr mtu nodeStatuses state lastProcessed
      lastJobName summary totalNodes configuredNodes failedNodes pendingNodes`,
  },
  'labels, annotations and finalizers': {
    in: ['src/contract/**/*.ts', 'src/controller/*.ts', 'src/operator/**/*.ts'],
    names: `multinic.io/node-name multinic.io/instance-id multinic.io/provider-id multinic.io/action multinic.io/backend
      multinic.io/paused multinic.io/retry multinic.io/force-delete multinic.io/force-reconcile
      app.kubernetes.io/name app.kubernetes.io/managed-by`,
  },
  'conditions and reasons': {
    in: ['src/contract/**/*.ts', 'src/operator/status/conditions.ts', 'src/controller/**/*.ts'],
    names: `Ready Degraded Progressing NodesReady EventsConnected RemovalHeld RemovalPending Applied Synced NoChange
      AllInterfacesConfigured ProcessingNodes WrongMachine ConfigError ContrabassError KeystoneError NeutronEndpointError
      NeutronPortError SubnetRequired NeutronSubnetError SubnetNotFound SubnetNotUnique NovaError ViolaPostError`,
  },
  endpoints: {
    in: ['docs/reference/*.openapi.yaml', 'src/contract/*.ts', 'src/openstack/contrabass.ts', 'src/operator/app.ts'],
    names: `/v1/k8s/multinic/node-configs /v1/inventory/node-configs /v1/inventory/node-configs/{nodeName}
      /v1/inventory/node-configs/{nodeName}/history /v1/inventory/records /v1/interfaces/providers /v1/interfaces/node-configs
      /v1/interfaces/node-configs/by-instance/{instanceId} /v1/operator/verdicts /v1/operator/plan x-provider-id
      /v1/contrabass/admin/infra/provider/ /api/providers/`,
  },
  'fields of answers': {
    in: [
      'src/contract/**/*.ts',
      'src/openstack/contrabass.ts',
      'src/controller/health.ts',
      'docs/reference/*.openapi.yaml',
    ],
    names: `applied output results nodeName action created updated unchanged failed expectedSpecHash lastConfigHash updatedAt
      uptime processed_configs active_jobs crd_watcher_status last_crd_processed healthy degraded unhealthy running stopped
      adminId adminPw domain rabbitMQUrls rabbitMQId rabbitMQPw returnCode`,
  },
  'Secrets and their keys': {
    in: ['src/operator/**/*.ts', 'src/contract/**/*.ts', 'config/**/*.yaml'],
    names: `contrabass-encrypt-key CONTRABASS_ENCRYPT_KEY RABBITMQ_URLS RABBITMQ_USER RABBITMQ_PASSWORD operator-secret`,
  },
  'keys of the routing file': {
    in: ['src/viola/targets/*.ts'],
    names: 'strict default targets providerId namespace kubeApiServer kubeToken kubeCaPath',
  },
  'objects of kustomize and the chart': {
    in: ['config/**/*.yaml', 'test/golden/helm/*.yaml', 'Makefile'],
    names: `multinic-operator-system multinic-system operator-config operator-secret multinic-agent multinic-agent-job
      multinic-agent-controller viola-api app.kubernetes.io/component namePrefix multinic-operator- inventory-service`,
  },
  images: {
    in: ['scripts/image.ts'],
    names: 'multinic-operator multinic-controller multinic-agent multinic-viola-test-api',
  },
  'words of the log of the agent': {
    in: ['src/agent/**/*.ts'],
    names: 'DetectActiveInterfaces CleanupOrphanedConfigs orphaned',
  },
  'files on a node': {
    in: ['src/agent/paths.ts', 'src/agent/backends/*.ts', 'src/contract/backend.ts', 'src/agent/apply/files.ts'],
    names: `/etc/netplan /etc/NetworkManager/system-connections /etc/sysconfig/network-scripts /etc/systemd/network /etc/sysctl.d
      /var/lib/multinic backup ifcfg- .nmconnection .link`,
  },
  'values of the chart': {
    in: ['deployments/helm/values.yaml'],
    names: 'controller operator viola inventory agent image tag replicas enabled',
  },
}

for (const [group, { in: patterns, names: list }] of Object.entries(names)) {
  test(`${group} have their names of the founding documents`, () => {
    const files = patterns.flatMap(pattern => globSync(pattern, { cwd: root }))
    assert.ok(files.length > 0, `no file: ${patterns.join(', ')}`)
    const text = files.map(file => readFileSync(join(root, file), 'utf8')).join('\n')
    const missing = list.split(/\s+/).filter(name => !isWordOf(text, name))
    assert.deepEqual(missing, [])
  })
}

function isWordOf(text: string, name: string): boolean {
  const start = /^\w/.test(name) ? '(?<![\\w-])' : ''
  const end = /\w$/.test(name) ? '(?![\\w])' : ''
  return new RegExp(`${start}${name.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')}${end}`).test(text)
}

const files = `Dockerfile Dockerfile.agent Dockerfile.controller Dockerfile.viola-test-api Makefile README.md
  config/crd/kustomization.yaml config/default/kustomization.yaml config/manager/manager.yaml config/manager/operator-config.yaml
  config/manager/operator-secret.yaml config/samples/kustomization.yaml config/test/viola-test-api.yaml
  deployments/crds/multinic.example.com_openstackconfigs.yaml deployments/crds/multinic.io_multinicnodeconfigs.yaml
  deployments/helm/Chart.yaml deployments/helm/values.yaml deployments/helm/values-dev.yaml deployments/helm/values-staging.yaml
  deployments/helm/values-production.yaml deployments/helm/values-mgmt.yaml scripts/build-and-deploy.sh
  test/sample-multinicclusterconfig.yaml test/sample-multinicclusterconfig-dev.yaml`

test('the files that the founding documents name exist', () => {
  assert.deepEqual(
    files.split(/\s+/).filter(file => !existsSync(join(root, file))),
    [],
  )
})

/** Of the founding documents, without those that need Go. The end-to-end tests run them against a cluster. */
const commands: string[][] = [
  ['make', '--dry-run', 'install'],
  ['make', '--dry-run', 'uninstall'],
  ['make', '--dry-run', 'deploy', 'IMG=registry.example.com/multinic-operator:1'],
  ['make', '--dry-run', 'undeploy'],
  ['make', '--dry-run', 'test'],
  ['make', '--dry-run', 'build'],
  ['make', '--dry-run', 'fmt'],
  ['make', 'help'],
  ...['dev', 'staging', 'production'].map(type => ['scripts/build-and-deploy.sh', '--type', type, '--dry-run']),
]

for (const [program = '', ...args] of commands)
  test(`${[program, ...args].join(' ')} is a command`, () => {
    const { status, stdout, stderr } = spawnSync(program, args, { cwd: root, encoding: 'utf8' })
    assert.equal(status, 0, `${stdout}${stderr}`)
  })
