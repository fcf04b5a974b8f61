/**
 * The values of the Helm chart: names, defaults, what they mean and what may stand there, in one place.
 *
 * `values.yaml`, `values.schema.json` and the reference page are written from this by `make generate`. The settings of each
 * part come from the part itself, under the very names of its environment variables.
 */
import type { ZodType } from 'zod'
import { settingEnvironment, settings } from '../src/contract/settings.ts'
import { controllerSettings } from '../src/controller/config.ts'
import { inventorySettings } from '../src/inventory/config.ts'
import { processSettings } from '../src/operator/config.ts'
import { violaSettings } from '../src/viola/config.ts'

type Default = string | number | boolean | readonly unknown[] | Record<string, unknown>

export interface Leaf {
  about: string
  is: Default
  /** JSON Schema of what may stand here. */
  schema: Record<string, unknown>
}

export interface Group {
  about: string
  of: Record<string, Leaf | Group>
}

const text = (is: string, about: string, more: object = {}): Leaf => ({
  about,
  is,
  schema: { type: 'string', ...more },
})
const flag = (is: boolean, about: string): Leaf => ({ about, is, schema: { type: 'boolean' } })
const count = (is: number, about: string, minimum = 0): Leaf => ({ about, is, schema: { type: 'integer', minimum } })
const words = (about: string, is: string[] = []): Leaf => ({
  about,
  is,
  schema: { type: 'array', items: { type: 'string', minLength: 1 } },
})
const list = (about: string): Leaf => ({ about, is: [], schema: { type: 'array', items: { type: 'object' } } })
const labels = (about: string): Leaf => ({
  about,
  is: {},
  schema: { type: 'object', additionalProperties: { type: 'string' } },
})
const free = (is: Record<string, unknown>, about: string): Leaf => ({ about, is, schema: { type: 'object' } })

/** What Kubernetes or the chart itself sets. */
const ours = new Set([
  'KUBERNETES_SERVICE_HOST',
  'KUBERNETES_SERVICE_PORT',
  'POD_NAME',
  'POD_NAMESPACE',
  'CONTROLLER_NAMESPACE',
  'LEADER_ELECT',
  'AGENT_IMAGE',
  'AGENT_IMAGE_PULL_POLICY',
  'AGENT_SERVICE_ACCOUNT',
  'AGENT_PULL_SECRETS',
  'AGENT_PRIORITY_CLASS',
  'HEALTH_ADDR',
  'LISTEN_ADDR',
  'OPERATOR_ADDR',
  'INVENTORY_ADDR',
  'INVENTORY_ENABLED',
  'INVENTORY_URL',
  'INVENTORY_WEB_DIR',
  'INVENTORY_DB_PATH',
  'INVENTORY_DATABASE_URL',
  'INVENTORY_TOKENS_FILE',
  'INVENTORY_TOKEN_FILE',
  'OPERATOR_TOKENS_FILE',
  'VIOLA_TOKENS_FILE',
  'VIOLA_TOKEN_FILE',
  'ROUTING_CONFIG',
  'KUBECONFIG',
  'KUBE_TOKEN',
  'CONTRABASS_ENCRYPT_KEY',
])

const isOfAgent = (name: string) => /^(NETWORK_|NIC_|PREFLIGHT_|PROBE_)/.test(name)

function settingsOf(about: string, described: Record<string, string>): Leaf {
  const properties = Object.fromEntries(
    Object.entries(described)
      .filter(([name]) => !ours.has(name))
      .map(([name, description]) => [name, { type: ['string', 'number', 'boolean'], description }]),
  )
  return { about, is: {}, schema: { type: 'object', additionalProperties: false, properties } }
}

function shapeOf(shape: Record<string, ZodType>, keep: (name: string) => boolean = () => true): Record<string, string> {
  return Object.fromEntries(
    Object.entries(shape)
      .filter(([name]) => keep(name))
      .map(([name, setting]) => [name, setting.description ?? '']),
  )
}

const syncSettings = Object.fromEntries(
  Object.entries(settingEnvironment).map(([name, variable]) => [
    variable,
    settings.shape[name as keyof typeof settings.shape].description ?? '',
  ]),
)

function image(repository: string): Group {
  return {
    about: 'Its image.',
    of: {
      repository: text(repository, 'Name of the image; global.imageRegistry is put in front.', { minLength: 1 }),
      tag: text('', 'Tag; empty means the version of the chart.'),
      digest: text('', 'Digest (sha256:…); it counts instead of the tag.', { pattern: '^(sha256:[0-9a-f]{64})?$' }),
      pullPolicy: text('IfNotPresent', 'When it is pulled.', { enum: ['Always', 'IfNotPresent', 'Never'] }),
    },
  }
}

/** What every Deployment of ours has. */
function workload(port: number, memory: { request: string; limit: string }): Record<string, Leaf | Group> {
  return {
    port: count(port, 'Where it listens in its Pod; on the network of the host no two may be the same.', 1),
    env: list('More environment variables, as in a Pod.'),
    envFrom: list('ConfigMaps and Secrets whose keys become environment variables, as in a Pod.'),
    extraVolumes: list('More volumes, as in a Pod (private CAs, for instance).'),
    extraVolumeMounts: list('Where they are mounted.'),
    resources: free(
      { requests: { cpu: '50m', memory: memory.request }, limits: { memory: memory.limit } },
      'Requests and limits of the container.',
    ),
    podAnnotations: labels('Annotations of its Pods.'),
    podLabels: labels('More labels of its Pods.'),
    nodeSelector: labels('Nodes that it may run on.'),
    tolerations: list('Taints that it bears.'),
    affinity: free({}, 'Affinity of its Pods.'),
    priorityClassName: text('', 'PriorityClass of its Pods.'),
    topologySpread: flag(true, 'Spread replicas over hosts and zones, where that is possible.'),
    hostNetwork: flag(false, 'Run on the network of the host: for clusters whose Pod network is not there yet.'),
    podDisruptionBudget: flag(true, 'Keep one replica during voluntary disruptions; made when there are several.'),
    serviceAccountAnnotations: labels('Annotations of its ServiceAccount.'),
  }
}

const secretName = (about: string) => text('', about, { maxLength: 253 })

export const chartValues: Group = {
  about: 'Values of the chart.',
  of: {
    global: {
      about: 'For all parts.',
      of: {
        imageRegistry: text('', 'Put in front of every image, with a slash: the registry of an air-gapped site.'),
        imagePullSecrets: words('Names of pull Secrets, for our Pods and for the Jobs of the agent.'),
        labels: labels('Labels of every object.'),
      },
    },
    fullname: text('multinic-agent', 'Begin of the names of all objects of the controller.', {
      pattern: '^[a-z0-9]([-a-z0-9]{0,40}[a-z0-9])?$',
    }),
    crds: {
      about: 'CustomResourceDefinitions.',
      of: {
        install: flag(
          true,
          'Install and upgrade them with the chart, unless somebody else brought them. They stay when the chart is uninstalled.',
        ),
      },
    },
    namespace: {
      about: 'The namespace of the release.',
      of: {
        manage: flag(
          false,
          'Let the chart label it, so that Pod Security lets the agent’s Pods in (with helm --take-ownership); it stays when the chart goes.',
        ),
      },
    },
    controller: {
      about: 'The controller (Biz cluster): runs an agent Job on each node that has to change.',
      of: {
        enabled: flag(true, 'Install it.'),
        image: image('multinic-controller'),
        replicas: count(1, 'Replicas; with more than one they elect a leader.', 1),
        settings: settingsOf(
          'Settings, by the names of docs/reference/controller-settings.md.',
          shapeOf(controllerSettings.shape, name => !isOfAgent(name)),
        ),
        ...workload(8080, { request: '96Mi', limit: '384Mi' }),
      },
    },
    agent: {
      about: 'The agent: what its Jobs run with.',
      of: {
        image: image('multinic-agent'),
        priorityClassName: text('', 'PriorityClass of the Jobs.'),
        settings: settingsOf(
          'Settings, by the names of docs/reference/controller-settings.md; they reach every Job.',
          shapeOf(controllerSettings.shape, isOfAgent),
        ),
      },
    },
    operator: {
      about: 'The operator (management cluster): looks at OpenStack and delivers node configs to Viola.',
      of: {
        enabled: flag(false, 'Install it.'),
        image: image('multinic-operator'),
        replicas: count(
          1,
          'Replicas; with more than one they elect a leader, and the inventory must be on its own.',
          1,
        ),
        settings: settingsOf('Settings, by the names of docs/reference/settings.md and operator-settings.md.', {
          ...syncSettings,
          ...shapeOf(processSettings.shape),
        }),
        encryptKeySecret: secretName('Secret with CONTRABASS_ENCRYPT_KEY, for Contrabass as set here.'),
        violaTokenSecret: secretName('Secret with the key token: bearer token for Viola as set here.'),
        violaClientCertSecret: secretName('TLS Secret (tls.crt, tls.key): client certificate for Viola as set here.'),
        inventoryTokenSecret: secretName('Secret with the key token: admin token for the inventory of this chart.'),
        ...workload(8081, { request: '128Mi', limit: '512Mi' }),
      },
    },
    viola: {
      about: 'The Viola API (management cluster): applies node configs in the right Biz cluster.',
      of: {
        enabled: flag(false, 'Install it.'),
        image: image('multinic-viola-test-api'),
        replicas: count(1, 'Replicas.', 1),
        settings: settingsOf(
          'Settings, by the names of docs/reference/viola-settings.md.',
          shapeOf(violaSettings.shape),
        ),
        routingSecret: secretName(
          'Secret with the key routing.yaml, and the files that it names, mounted at /etc/viola. Without it there is one target: this cluster.',
        ),
        tokensSecret: secretName(
          'Secret with the key tokens.yaml: who may write which providers. Without it everybody may.',
        ),
        tlsSecret: secretName('TLS Secret (tls.crt, tls.key; ca.crt for client certificates).'),
        ...workload(8080, { request: '96Mi', limit: '256Mi' }),
      },
    },
    inventory: {
      about: 'The inventory: API and dashboard. On its own it also serves several operators.',
      of: {
        enabled: flag(false, 'Install it on its own; otherwise the operator holds one.'),
        image: image('multinic-operator'),
        replicas: count(1, 'Replicas; more than one needs PostgreSQL.', 1),
        settings: settingsOf(
          'Settings, by the names of docs/reference/inventory-settings.md.',
          shapeOf(inventorySettings.shape),
        ),
        databaseSecret: secretName('Secret with INVENTORY_DATABASE_URL: PostgreSQL instead of the embedded database.'),
        tokensSecret: secretName(
          'Secret with the key tokens.yaml: who may read and write. Without it reading is open.',
        ),
        persistence: {
          about: 'The volume of the embedded database, of this part or of the operator that holds it.',
          of: {
            enabled: flag(false, 'Keep it; otherwise history is lost with the Pod (configuration never is).'),
            existingClaim: text('', 'A PersistentVolumeClaim that is there already.'),
            storageClassName: text('', 'StorageClass of a new one; empty means the default of the cluster.'),
            size: text('1Gi', 'Size of a new one. 10,000 nodes with a year of ordinary changes need less than 1 GiB.'),
          },
        },
        ...workload(18081, { request: '96Mi', limit: '384Mi' }),
      },
    },
    networkPolicy: {
      about: 'NetworkPolicies: only what is needed comes in.',
      of: {
        enabled: flag(false, 'Make them.'),
        from: list(
          'Who may reach Viola and the inventory, as peers of a NetworkPolicy; empty means everybody in the cluster.',
        ),
        metricsFrom: list('Who may reach the metrics; empty means everybody in the cluster.'),
      },
    },
    monitoring: {
      about: 'For the Prometheus operator and Grafana.',
      of: {
        serviceMonitor: flag(false, 'Make ServiceMonitors, where the cluster has the Prometheus operator.'),
        prometheusRule: flag(false, 'Make alerts, where the cluster has the Prometheus operator.'),
        grafanaDashboard: flag(false, 'Make a ConfigMap with a board, labelled grafana_dashboard.'),
        labels: labels('More labels of these, so that your Prometheus finds them.'),
        interval: text('30s', 'How often metrics are read.', { pattern: '^[0-9]+(ms|s|m)$' }),
        runbookUrl: text('', 'Where the documents are served; put before troubleshooting links of alerts.'),
      },
    },
  },
}
