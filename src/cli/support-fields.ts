/**
 * The fields of objects that a support bundle contains. Everything else stays out: values of environment variables,
 * arguments, unknown annotations and labels, and fields that a later version of Kubernetes adds.
 */
import { bizConfigAnnotations } from '../contract/legacy/biz-config.ts'
import { nodeConfigAnnotations, nodeConfigLabels } from '../contract/node-config.ts'
import { openstackConfigAnnotations } from '../contract/openstack-config.ts'

/** A field that is kept as it is, a list of such fields, or an object with named fields. */
export type Fields = Keep | readonly [Fields] | Group
type Keep = (value: unknown) => unknown
interface Group {
  readonly [name: string]: Fields
}

const removed = 'REMOVED'

/** A text, number or boolean. Credentials in a URL are removed: clients put them into their error messages. */
const text: Keep = value => {
  if (typeof value === 'string') return withoutUserinfo(value)
  return typeof value === 'number' || typeof value === 'boolean' ? value : undefined
}

/** An address, without credentials and without its query: both may be secrets. */
const address: Keep = value =>
  typeof value === 'string' ? value.replace(/[?#].*$/s, '').replace(/^(.*:\/\/)?.*@/s, '$1') : undefined

/** A value that people set freely. Only flags, numbers and times are kept. */
const plain: Keep = value => (/^(true|false|[\dTZ:.+-]{1,40})$/.test(String(value)) ? String(value) : removed)

/** Numbers by a name that the components choose. */
const counts: Keep = value =>
  Object.fromEntries(Object.entries(value ?? {}).filter(([, count]) => typeof count === 'number'))

export function withoutUserinfo(line: string): string {
  return line.replace(/(:\/\/)[^\s/?#"'<>]*@/g, `$1${removed}@`)
}

export function keep(value: unknown, fields: Fields): unknown {
  if (typeof fields === 'function') return fields(value)
  if (typeof value !== 'object' || value === null) return undefined
  if (isList(fields)) return Array.isArray(value) ? value.map(one => keep(one, fields[0])) : undefined
  const kept = Object.entries(fields).flatMap(([name, inner]) => {
    const one = Object.hasOwn(value, name) ? keep((value as Record<string, unknown>)[name], inner) : undefined
    return one === undefined ? [] : [[name, one] as const]
  })
  return Object.fromEntries(kept)
}

function isList(fields: Exclude<Fields, Keep>): fields is readonly [Fields] {
  return Array.isArray(fields)
}

/** Texts by name, and fields with an inner structure. */
function fields(names: string, inner: Group = {}): Group {
  return { ...Object.fromEntries(names.split(' ').map(name => [name, text])), ...inner }
}

function keyed(keys: readonly string[], value: Keep): Group {
  return Object.fromEntries(keys.map(key => [key, value]))
}

const standardLabels = ['name', 'component', 'part-of', 'instance', 'version', 'managed-by']
const labels = keyed(
  [
    ...standardLabels.map(name => `app.kubernetes.io/${name}`),
    ...['hostname', 'os', 'arch'].map(name => `kubernetes.io/${name}`),
    ...['action', 'config-uid', 'backend', 'takeover'].map(name => `multinic.io/${name}`),
    ...Object.values(nodeConfigLabels),
    'job-name',
  ],
  text,
)
const jobAnnotations = ['config', 'generation', 'spec-hash', 'boot-id', 'attempt', 'rollout']
const annotations = {
  ...keyed(
    jobAnnotations.map(name => `multinic.io/${name}`),
    text,
  ),
  ...keyed(
    [nodeConfigAnnotations, openstackConfigAnnotations, bizConfigAnnotations].flatMap(names => Object.values(names)),
    plain,
  ),
  [nodeConfigAnnotations.migratedFrom]: text,
  [nodeConfigAnnotations.traceparent]: text,
}

const metadata = fields('name namespace uid resourceVersion generation creationTimestamp deletionTimestamp', {
  labels,
  annotations,
  finalizers: [text],
  ownerReferences: [fields('apiVersion kind name uid controller')],
})
const whole = (inner: Group) => fields('apiVersion kind', { metadata, ...inner })

/** Messages in the status of our own objects are ours. */
const conditions = [fields('type status reason message lastTransitionTime observedGeneration')] as const
/** A kubelet quotes commands and settings in its messages. */
const foreignConditions = [fields('type status reason lastTransitionTime lastHeartbeatTime')] as const

const interfaces = [
  fields('id name macAddress portId address cidr mtu gateway networkId subnetId source subnetName networkName alias', {
    addresses: [text],
    routes: [fields('destination nexthop')],
    allowedAddressPairs: [text],
  }),
] as const

const settings = {
  ...keyed(['contrabassEndpoint', 'openstackNeutronEndpoint', 'openstackNovaEndpoint', 'violaEndpoint'], address),
  ...fields('contrabassTimeout openstackTimeout violaTimeout downPortFastRetryMax openstackPortBaseline'),
  ...fields('contrabassInsecureTLS openstackInsecureTLS violaInsecureTLS'),
  ...fields('openstackEndpointInterface openstackEndpointRegion openstackNodeNameMetadataKey'),
  ...fields('pollFastInterval pollSlowInterval pollErrorInterval pollFastWindow'),
  openstackPortAllowedStatuses: [text],
  openstackPortOwners: [text],
  rabbitmqUrls: [address],
} as const
const secretRef = fields('name key')

const openstackConfig = whole({
  spec: fields('subnetID subnetName deletionPolicy', {
    subnets: [fields('id name index alias')],
    subnetIDs: [text],
    cloudSecretRef: fields('name key cloud'),
    vmNames: [text],
    vmSelector: fields('namePattern clusterNodes', { tags: [text] }),
    credentials: fields('openstackProviderID k8sProviderID projectID'),
    settings,
    secrets: {
      contrabassEncryptKeySecretRef: secretRef,
      violaTokenSecretRef: secretRef,
      rabbitmqSecretRef: secretRef,
    },
  }),
  status: fields('observedGeneration lastSyncedAt nextSyncAt lastChangeAt lastError', {
    conditions,
    downPortRetry: fields('hash lastAttempt fastAttempts'),
    events: fields('lastEventAt lagMs'),
    nodes: fields('total configured failed pending ready'),
    ports: fields('total selected summary', { skipped: counts, first: [text] }),
    heldRemovals: [text],
    deliveredTo: fields('providerId', { viola: address }),
    orphanedNodes: [fields('providerId nodes', { viola: address })],
    approvedRemovals: plain,
    reservedIndexes: [fields('vmId portId index until')],
  }),
})

const nodeConfig = whole({
  spec: fields('providerId providerName nodeName instanceId instanceName specHash', { interfaces }),
  status: fields('observedGeneration observedSpecHash lastProcessed lastJobName state nics failedAttempts bootID', {
    conditions,
    interfaceStatuses: [
      fields('id name portId macAddress status reason message lastConfigured lastChecked', {
        observed: fields('name ifindex mtu link', { addresses: [text] }),
      }),
    ],
  }),
})

const bizConfig = whole({
  spec: fields('providerId specHash', { nodeConfigs: [fields('attachedNodeId attachedNodeName', { interfaces })] }),
  status: fields('observedGeneration observedSpecHash', {
    conditions,
    nodeStatuses: [
      fields(
        'attachedNodeId attachedNodeName state reason message lastProcessed lastJobName observedGeneration specHash bootID failedAttempts',
        { indexes: [text] },
      ),
    ],
    summary: fields('totalNodes configuredNodes failedNodes pendingNodes'),
  }),
})

const node = whole({
  spec: fields('unschedulable', { podCIDRs: [text], taints: [fields('key effect')] }),
  status: {
    addresses: [fields('type address')],
    conditions: foreignConditions,
    allocatable: fields('cpu memory pods'),
    nodeInfo: fields(
      'systemUUID bootID machineID osImage kernelVersion kubeletVersion containerRuntimeVersion architecture operatingSystem',
    ),
  },
})

const resources = fields('cpu memory')
const securityContext = fields(
  'runAsUser runAsGroup runAsNonRoot fsGroup privileged allowPrivilegeEscalation readOnlyRootFilesystem',
  {
    capabilities: { add: [text], drop: [text] },
    seccompProfile: fields('type'),
    appArmorProfile: fields('type'),
    seLinuxOptions: fields('type'),
  },
)
const podSpec = fields(
  'nodeName hostNetwork hostPID hostIPC dnsPolicy restartPolicy serviceAccountName automountServiceAccountToken priorityClassName terminationGracePeriodSeconds',
  {
    securityContext,
    imagePullSecrets: [fields('name')],
    tolerations: [fields('key operator effect')],
    volumes: [
      fields('name', {
        hostPath: fields('path type'),
        secret: fields('secretName'),
        configMap: fields('name'),
        persistentVolumeClaim: fields('claimName'),
      }),
    ],
    containers: [
      fields('name image imagePullPolicy', {
        env: [fields('name', { valueFrom: { secretKeyRef: secretRef, configMapKeyRef: secretRef } })],
        envFrom: [{ configMapRef: fields('name'), secretRef: fields('name') }],
        ports: [fields('name containerPort hostPort')],
        resources: { requests: resources, limits: resources },
        securityContext,
        volumeMounts: [fields('name mountPath readOnly')],
      }),
    ],
  },
)

const deployment = whole({
  spec: fields('replicas', { strategy: fields('type'), template: { metadata, spec: podSpec } }),
  status: fields('observedGeneration replicas readyReplicas updatedReplicas availableReplicas', {
    conditions: foreignConditions,
  }),
})

const job = whole({
  spec: fields('completions parallelism backoffLimit activeDeadlineSeconds ttlSecondsAfterFinished suspend', {
    template: { metadata, spec: podSpec },
  }),
  status: fields('active succeeded failed ready startTime completionTime', { conditions }),
})

function pod(messages: boolean): Fields {
  const message = messages ? { message: text } : {}
  const state = {
    waiting: fields('reason', message),
    running: fields('startedAt'),
    terminated: fields('exitCode reason startedAt finishedAt', message),
  }
  return whole({
    spec: podSpec,
    status: fields('phase reason startTime hostIP podIP', {
      ...message,
      conditions: messages ? conditions : foreignConditions,
      containerStatuses: [fields('name restartCount ready image imageID', { state, lastState: state })],
    }),
  })
}

function event(messages: boolean): Fields {
  return whole({
    ...fields('type reason count firstTimestamp lastTimestamp eventTime reportingComponent'),
    ...(messages && { message: text }),
    involvedObject: fields('apiVersion kind name namespace uid'),
    source: fields('component'),
  })
}

export const bundleFields = {
  openstackConfig,
  nodeConfig,
  bizConfig,
  node,
  deployment,
  job,
  /** A Pod of a component: a kubelet may quote its arguments. */
  pod: pod(false),
  /** Everything in the Pod of an agent comes from the controller. */
  agentPod: pod(true),
  event: event(false),
  ownEvent: event(true),
}
