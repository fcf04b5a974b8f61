/**
 * The values of the Helm chart: name, default, description and schema of each.
 *
 * `make generate` writes `values.yaml`, `values.schema.json` and the reference page from this. The settings of a component
 * come from the component itself, under the names of its environment variables.
 */
import type { Settings } from '../src/contract/setting.ts'
import { syncSettings } from '../src/contract/settings.ts'
import { attachmentPlugins } from '../src/controller/networks/attachments.ts'
import { componentSettings, isOfAgent } from './component-settings.ts'

type Default = string | number | boolean | readonly unknown[] | Record<string, unknown>

export interface Leaf {
  about: string
  is: Default
  /** JSON Schema of the value. */
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

/** Those that no other value of the chart sets. */
function settingsOf(about: string, table: Settings, keep: (name: string) => boolean = () => true): Leaf {
  const properties = Object.fromEntries(
    Object.entries(table)
      .filter(([name, { helm }]) => helm === undefined && keep(name))
      .map(([name, setting]) => [name, { type: ['string', 'number', 'boolean'], description: setting.about.en }]),
  )
  return { about, is: {}, schema: { type: 'object', additionalProperties: false, properties } }
}

const ofSyncs = Object.fromEntries(Object.values(syncSettings).map(setting => [setting.environment, setting]))

function image(repository: string): Group {
  return {
    about: 'Container image.',
    of: {
      repository: text(repository, 'Image name. global.imageRegistry is prepended.', { minLength: 1 }),
      tag: text('', 'Tag. Default: the version of the chart.'),
      digest: text('', 'Digest (sha256:…). Takes precedence over the tag.', { pattern: '^(sha256:[0-9a-f]{64})?$' }),
      pullPolicy: text('IfNotPresent', 'Image pull policy.', { enum: ['Always', 'IfNotPresent', 'Never'] }),
    },
  }
}

/** Values that every Deployment of the chart has. */
function workload(port: number, memory: { request: string; limit: string }): Record<string, Leaf | Group> {
  return {
    port: count(port, 'Port of the container. With hostNetwork it must be unique on the node.', 1),
    env: list('Additional environment variables, in Pod syntax.'),
    envFrom: list('ConfigMaps and Secrets to load as environment variables, in Pod syntax.'),
    extraVolumes: list('Additional volumes, in Pod syntax (for example for private CAs).'),
    extraVolumeMounts: list('Mounts of the additional volumes.'),
    resources: free(
      { requests: { cpu: '50m', memory: memory.request }, limits: { memory: memory.limit } },
      'Resource requests and limits of the container.',
    ),
    podAnnotations: labels('Annotations of the Pods.'),
    podLabels: labels('Additional labels of the Pods.'),
    nodeSelector: labels('Node selector of the Pods.'),
    tolerations: list('Tolerations of the Pods, in addition to multinic.io/not-ready:NoSchedule.'),
    affinity: free({}, 'Affinity of the Pods.'),
    priorityClassName: text('', 'PriorityClass of the Pods.'),
    topologySpread: flag(
      true,
      'Run replicas on different hosts, and in different zones if possible. Before Kubernetes 1.27, both only if possible.',
    ),
    hostNetwork: flag(false, 'Use the host network, for clusters that have no Pod network yet.'),
    podDisruptionBudget: flag(true, 'Create a PodDisruptionBudget that keeps one replica, if there are several.'),
    serviceAccountAnnotations: labels('Annotations of the ServiceAccount.'),
  }
}

/** docs/guides/operator.md describes the rules; the operator checks them. */
const namespaceRules: Leaf = {
  about:
    'What the OpenstackConfigs of each namespace may use: hosts, openstackProviders, k8sProviders and projects. Objects of multinic-system and of the namespace of the release need no rule. In each namespace that is named exactly, and must exist, the operator may read all Secrets.',
  is: {},
  schema: {
    type: 'object',
    additionalProperties: {
      type: 'object',
      required: ['openstackProviders', 'k8sProviders', 'projects'],
      additionalProperties: false,
      properties: Object.fromEntries(
        ['hosts', 'openstackProviders', 'k8sProviders', 'projects'].map(name => [name, words('').schema]),
      ),
    },
  },
}

const secretName = (about: string) => text('', about, { maxLength: 253 })

export const chartValues: Group = {
  about: 'Chart values.',
  of: {
    global: {
      about: 'Values for all components.',
      of: {
        imageRegistry: text('', 'Registry that is prepended to every image name, for example on an air-gapped site.'),
        imagePullSecrets: words('Names of image pull Secrets for all Pods, including the agent Jobs.'),
        labels: labels('Labels of all objects.'),
      },
    },
    fullname: text('multinic-agent', 'Name prefix of all objects of the controller.', {
      pattern: '^[a-z0-9]([-a-z0-9]{0,40}[a-z0-9])?$',
    }),
    crds: {
      about: 'CustomResourceDefinitions.',
      of: {
        install: flag(
          true,
          'Install and upgrade the CRDs with the chart, unless they were installed in another way. Uninstalling the chart keeps them.',
        ),
      },
    },
    namespace: {
      about: 'Namespace of the release.',
      of: {
        manage: flag(
          false,
          'Let the chart label the namespace so that Pod Security admits the agent Pods (needs helm --take-ownership). Uninstalling the chart keeps the namespace.',
        ),
      },
    },
    controller: {
      about: 'Controller (Biz cluster). Runs an agent Job on each node that must change.',
      of: {
        enabled: flag(true, 'Install the controller.'),
        image: image('multinic-controller'),
        replicas: count(1, 'Number of replicas. Several replicas elect a leader.', 1),
        settings: settingsOf(
          'Settings, see docs/reference/controller-settings.md.',
          componentSettings.controller,
          name => !isOfAgent(name),
        ),
        nodeLabels: flag(
          false,
          'Label Nodes with their proven networks, and remove the taint multinic.io/not-ready:NoSchedule when all NICs of a Node are proven. Adds the permission to patch Nodes, limited by an admission policy.',
        ),
        networkAttachments: {
          about: 'NetworkAttachmentDefinitions of Multus, one for each network with an alias.',
          of: {
            enabled: flag(false, 'Let the controller keep them. Adds permissions in the namespaces.'),
            namespaces: words('Namespaces of the definitions. They must exist.', ['default']),
            plugin: text('ipvlan', 'CNI plugin of the definitions.', { enum: attachmentPlugins }),
            ipam: {
              about:
                'The ipam section of the definitions, by alias. For other aliases, the section that you write into the definition stays.',
              is: {},
              schema: {
                type: 'object',
                additionalProperties: {
                  type: 'object',
                  required: ['type'],
                  properties: { type: { type: 'string' } },
                  additionalProperties: true,
                },
              },
            },
          },
        },
        ...workload(8080, { request: '96Mi', limit: '384Mi' }),
      },
    },
    agent: {
      about: 'Agent Jobs.',
      of: {
        image: image('multinic-agent'),
        priorityClassName: text('', 'PriorityClass of the Jobs.'),
        settings: settingsOf(
          'Settings of every Job, see docs/reference/controller-settings.md.',
          componentSettings.controller,
          isOfAgent,
        ),
      },
    },
    operator: {
      about: 'Operator (management cluster). Reads OpenStack and delivers node configs to Viola.',
      of: {
        enabled: flag(false, 'Install the operator.'),
        image: image('multinic-operator'),
        replicas: count(1, 'Number of replicas. Several replicas elect a leader and need a separate inventory.', 1),
        settings: settingsOf('Settings, see docs/reference/settings.md and operator-settings.md.', {
          ...ofSyncs,
          ...componentSettings.operator,
        }),
        ownNamespaceOnly: flag(
          false,
          'Serve only the OpenstackConfigs of the namespace of the release. The operator then has no rights in other namespaces.',
        ),
        secretNames: words(
          'Secrets in the namespace of the release that OpenstackConfigs there name. The operator may read them, the Secret of operator.cloud, and no others of this namespace.',
          ['contrabass-encrypt-key'],
        ),
        allSecrets: flag(
          false,
          'Let the operator read every Secret of the cluster, for namespaceRules with patterns. Its token is then worth as much as all of them. Otherwise it may read Secrets only in namespaces that namespaceRules name exactly.',
        ),
        cloud: {
          about:
            'Secret with a clouds.yaml, for OpenstackConfigs in the namespace of the release (spec.cloudSecretRef).',
          of: {
            cloudsYaml: text(
              '',
              'Content of the file: helm --set-file operator.cloud.cloudsYaml=clouds.yaml. An upgrade without it keeps the Secret. To use a Secret of your own, leave it empty and name your Secret in the OpenstackConfig.',
            ),
            cacert: text('', 'Certificate of a private CA, for the key cacert of the Secret. Use --set-file here too.'),
            secretName: text('multinic-cloud', 'Name of the Secret.', { minLength: 1, maxLength: 253 }),
          },
        },
        encryptKeySecret: secretName('Secret with CONTRABASS_ENCRYPT_KEY, for the Contrabass in these settings.'),
        violaTokenSecret: secretName(
          'Secret with key token: bearer token for the Viola in these settings. Default: a token of the ServiceAccount with the audience multinic.',
        ),
        violaClientCertSecret: secretName(
          'TLS Secret (tls.crt, tls.key): client certificate for the Viola in these settings.',
        ),
        violaCaSecret: secretName(
          'Secret with key ca.crt: certificates of the CA of the Viola in these settings. Default: those of the system.',
        ),
        namespaceRules,
        inventoryTokenSecret: secretName(
          'Secret with key token: bearer token for the inventory of this chart. Default: a token of the ServiceAccount with the audience multinic.',
        ),
        ...workload(8081, { request: '128Mi', limit: '512Mi' }),
      },
    },
    viola: {
      about: 'Viola API (management cluster). Writes node configs to the Biz clusters.',
      of: {
        enabled: flag(false, 'Install Viola.'),
        image: image('multinic-viola'),
        replicas: count(1, 'Number of replicas.', 1),
        settings: settingsOf('Settings, see docs/reference/viola-settings.md.', componentSettings.viola),
        routingSecret: secretName(
          'Secret with key routing.yaml and the files that it names, mounted at /etc/viola. Without it, all providers use this cluster.',
        ),
        tokensSecret: secretName(
          'Secret with key tokens.yaml: static tokens, each with its user and groups. Tokens of the cluster need no Secret.',
        ),
        tlsSecret: secretName('TLS Secret (tls.crt, tls.key, and ca.crt for ServiceMonitors and client certificates).'),
        ...workload(8080, { request: '96Mi', limit: '384Mi' }),
      },
    },
    inventory: {
      about: 'Inventory with API and dashboard. A separate inventory can serve several operators.',
      of: {
        enabled: flag(false, 'Install a separate inventory. Otherwise the operator contains one.'),
        image: image('multinic-operator'),
        replicas: count(1, 'Number of replicas. Several replicas need PostgreSQL.', 1),
        settings: settingsOf('Settings, see docs/reference/inventory-settings.md.', componentSettings.inventory),
        databaseSecret: secretName(
          'Secret with INVENTORY_DATABASE_URL, to use PostgreSQL instead of the embedded database.',
        ),
        tokensSecret: secretName(
          'Secret with key tokens.yaml: static tokens, each with its user and groups. Tokens of the cluster need no Secret.',
        ),
        tlsSecret: secretName(
          'TLS Secret (tls.crt, tls.key and ca.crt) for the name multinic-inventory.NAMESPACE: the inventory serves HTTPS, here or in the operator.',
        ),
        persistence: {
          about: 'Volume of the embedded database, here or in the operator.',
          of: {
            enabled: flag(
              false,
              'Use a persistent volume. Otherwise the history is lost with the Pod; the configuration is not.',
            ),
            existingClaim: text('', 'Name of an existing PersistentVolumeClaim.'),
            storageClassName: text('', 'StorageClass of a new claim. Default: the default of the cluster.'),
            size: text(
              '1Gi',
              'Size of a new claim. 10,000 nodes with a year of ordinary changes need less than 1 GiB.',
            ),
          },
        },
        ...workload(18081, { request: '96Mi', limit: '384Mi' }),
      },
    },
    access: {
      about: 'Access to the HTTP APIs.',
      of: {
        clusterRoles: flag(
          true,
          'Create the ClusterRoles multinic-reader, multinic-provider-writer and multinic-admin. Off for a second release in the cluster.',
        ),
      },
    },
    networkPolicy: {
      about: 'NetworkPolicies that admit only the required traffic.',
      of: {
        enabled: flag(true, 'Create NetworkPolicies.'),
        from: list(
          'Peers that may reach Viola and the inventory, in NetworkPolicy syntax. Default: the Pods of the namespace of the release.',
        ),
        metricsFrom: list(
          'Peers that may reach the port with metrics of the controller and the operator. Default: everything in the cluster.',
        ),
        egressCidrs: words(
          'CIDRs that the components may connect to, besides DNS: the API servers, OpenStack, Contrabass, the message bus, the database. Default: everything.',
        ),
      },
    },
    monitoring: {
      about: 'Prometheus operator and Grafana.',
      of: {
        serviceMonitor: flag(false, 'Create ServiceMonitors, if the cluster has the Prometheus operator.'),
        prometheusRule: flag(false, 'Create alerts, if the cluster has the Prometheus operator.'),
        grafanaDashboard: flag(false, 'Create a ConfigMap with a dashboard, labeled grafana_dashboard.'),
        labels: labels('Additional labels of these objects, for the selectors of your Prometheus.'),
        interval: text('30s', 'Scrape interval.', { pattern: '^[0-9]+(ms|s|m)$' }),
        runbookUrl: text('', 'Base URL of the documents, for the runbook links of the alerts.'),
      },
    },
  },
}
