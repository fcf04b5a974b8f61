/**
 * Decodes protobuf bodies, which recent versions of kubectl send (create, auth can-i), into JSON objects.
 *
 * Knows only the fields that kubectl sets. An unknown field is rejected with its number, never dropped.
 */
import { Buffer } from 'node:buffer'
import { ApiError } from '../api-errors.ts'
import type { Fields } from '../json.ts'
import { readMessage } from './protobuf-wire.ts'

/**
 * Name and type by field number. A type is a message of this table or `string`, `int`, `bool`, `bytes`, `time`, `quantity`,
 * `skip`. `[]` is a list, `{}` a map with string keys, and `?` means that zero is absent.
 */
const messages: Record<string, Record<number, string>> = {
  ObjectMeta: {
    1: 'name string',
    2: 'generateName string',
    3: 'namespace string',
    4: 'selfLink string',
    5: 'uid string',
    6: 'resourceVersion string',
    7: 'generation int?',
    8: 'creationTimestamp time',
    9: 'deletionTimestamp time',
    10: 'deletionGracePeriodSeconds int',
    11: 'labels string{}',
    12: 'annotations string{}',
    13: 'ownerReferences OwnerReference[]',
    14: 'finalizers string[]',
    17: 'managedFields skip',
  },
  OwnerReference: {
    1: 'kind string',
    3: 'name string',
    4: 'uid string',
    5: 'apiVersion string',
    6: 'controller bool',
    7: 'blockOwnerDeletion bool',
  },
  DeleteOptions: {
    1: 'gracePeriodSeconds int',
    2: 'preconditions Preconditions',
    3: 'orphanDependents bool',
    4: 'propagationPolicy string',
    5: 'dryRun string[]',
  },
  Preconditions: { 1: 'uid string', 2: 'resourceVersion string' },
  Namespace: { 1: 'metadata ObjectMeta', 2: 'spec skip', 3: 'status skip' },
  ConfigMap: { 1: 'metadata ObjectMeta', 2: 'data string{}', 3: 'binaryData bytes{}', 4: 'immutable bool' },
  Secret: {
    1: 'metadata ObjectMeta',
    2: 'data bytes{}',
    3: 'type string',
    4: 'stringData string{}',
    5: 'immutable bool',
  },
  ServiceAccount: {
    1: 'metadata ObjectMeta',
    2: 'secrets ObjectReference[]',
    3: 'imagePullSecrets LocalObjectReference[]',
    4: 'automountServiceAccountToken bool',
  },
  ObjectReference: {
    1: 'kind string',
    2: 'namespace string',
    3: 'name string',
    4: 'uid string',
    5: 'apiVersion string',
  },
  LocalObjectReference: { 1: 'name string' },
  Job: { 1: 'metadata ObjectMeta', 2: 'spec JobSpec', 3: 'status skip' },
  JobSpec: {
    1: 'parallelism int',
    2: 'completions int',
    3: 'activeDeadlineSeconds int',
    6: 'template PodTemplateSpec',
    7: 'backoffLimit int',
    8: 'ttlSecondsAfterFinished int',
    9: 'completionMode string',
    10: 'suspend bool',
    14: 'podReplacementPolicy string',
  },
  PodTemplateSpec: { 1: 'metadata ObjectMeta', 2: 'spec PodSpec' },
  Pod: { 1: 'metadata ObjectMeta', 2: 'spec PodSpec', 3: 'status skip' },
  PodSpec: {
    2: 'containers Container[]',
    3: 'restartPolicy string',
    4: 'terminationGracePeriodSeconds int',
    6: 'dnsPolicy string',
    7: 'nodeSelector string{}',
    8: 'serviceAccountName string',
    9: 'serviceAccount string',
    10: 'nodeName string',
    11: 'hostNetwork bool?',
    12: 'hostPID bool?',
    13: 'hostIPC bool?',
    16: 'hostname string',
    17: 'subdomain string',
    19: 'schedulerName string',
    20: 'initContainers Container[]',
    21: 'automountServiceAccountToken bool',
    24: 'priorityClassName string',
  },
  Container: {
    1: 'name string',
    2: 'image string',
    3: 'command string[]',
    4: 'args string[]',
    5: 'workingDir string',
    7: 'env EnvVar[]',
    8: 'resources ResourceRequirements',
    13: 'terminationMessagePath string',
    14: 'imagePullPolicy string',
    16: 'stdin bool?',
    17: 'stdinOnce bool?',
    18: 'tty bool?',
    20: 'terminationMessagePolicy string',
  },
  EnvVar: { 1: 'name string', 2: 'value string' },
  ResourceRequirements: { 1: 'limits quantity{}', 2: 'requests quantity{}' },
  Role: { 1: 'metadata ObjectMeta', 2: 'rules PolicyRule[]' },
  ClusterRole: { 1: 'metadata ObjectMeta', 2: 'rules PolicyRule[]' },
  PolicyRule: {
    1: 'verbs string[]',
    2: 'apiGroups string[]',
    3: 'resources string[]',
    4: 'resourceNames string[]',
    5: 'nonResourceURLs string[]',
  },
  RoleBinding: { 1: 'metadata ObjectMeta', 2: 'subjects Subject[]', 3: 'roleRef RoleRef' },
  ClusterRoleBinding: { 1: 'metadata ObjectMeta', 2: 'subjects Subject[]', 3: 'roleRef RoleRef' },
  Subject: { 1: 'kind string', 2: 'apiGroup string', 3: 'name string', 4: 'namespace string' },
  RoleRef: { 1: 'apiGroup string', 2: 'kind string', 3: 'name string' },
  SelfSubjectAccessReview: { 1: 'metadata ObjectMeta', 2: 'spec AccessSpec', 3: 'status skip' },
  AccessSpec: { 1: 'resourceAttributes ResourceAttributes', 2: 'nonResourceAttributes NonResourceAttributes' },
  ResourceAttributes: {
    1: 'namespace string',
    2: 'verb string',
    3: 'group string',
    4: 'version string',
    5: 'resource string',
    6: 'subresource string',
    7: 'name string',
  },
  NonResourceAttributes: { 1: 'path string', 2: 'verb string' },
  SelfSubjectRulesReview: { 1: 'metadata ObjectMeta', 2: 'spec RulesSpec', 3: 'status skip' },
  RulesSpec: { 1: 'namespace string' },
  SelfSubjectReview: { 1: 'metadata ObjectMeta', 2: 'status skip' },
}

const magic = Buffer.from('k8s\0')

export function decodeBody(bytes: Buffer): Fields {
  if (!bytes.subarray(0, 4).equals(magic))
    throw unreadable('the body does not start with the Kubernetes protobuf prefix')
  const envelope = readMessage(bytes.subarray(4))
  const bytesOf = (number: number) => {
    const { value } = envelope.find(field => field.number === number) ?? {}
    return Buffer.isBuffer(value) ? value : Buffer.alloc(0)
  }
  const [apiVersion = '', kind = ''] = [1, 2].map(number => {
    const { value } = readMessage(bytesOf(1)).find(field => field.number === number) ?? {}
    return Buffer.isBuffer(value) ? value.toString() : ''
  })
  if (!messages[kind]) throw unreadable(`protobuf is not supported for ${kind}`)
  return { apiVersion, kind, ...decode(bytesOf(2), kind) }
}

function decode(bytes: Buffer, type: string): Fields {
  const result: Fields = {}
  for (const { number, value } of readMessage(bytes)) {
    const field = messages[type]?.[number]
    if (!field) {
      if (Buffer.isBuffer(value) && value.length === 0) continue
      throw unreadable(`protobuf field ${number} of ${type} is not supported`)
    }
    const [name = '', kind = ''] = field.split(' ')
    if (kind.endsWith('[]')) {
      const list = Array.isArray(result[name]) ? result[name] : []
      result[name] = [...list, single(value, kind.slice(0, -2))]
    } else if (kind.endsWith('{}')) {
      result[name] = { ...(result[name] as Fields | undefined), ...entry(value, kind.slice(0, -2)) }
    } else {
      const plain = single(value, kind.replace('?', ''))
      const isAbsent = plain === undefined || plain === '' || (kind.endsWith('?') && !plain)
      if (!isAbsent) result[name] = plain
    }
  }
  return result
}

function entry(value: bigint | Buffer, type: string): Fields {
  const [key, inner] = [1, 2].map(
    number => readMessage(Buffer.isBuffer(value) ? value : Buffer.alloc(0)).find(one => one.number === number)?.value,
  )
  return { [Buffer.isBuffer(key) ? key.toString() : '']: single(inner ?? Buffer.alloc(0), type) }
}

function single(value: bigint | Buffer, type: string): unknown {
  if (typeof value === 'bigint') return type === 'bool' ? value === 1n : Number(BigInt.asIntN(64, value))
  if (type === 'string') return value.toString()
  if (type === 'bytes') return value.toString('base64')
  if (type === 'skip') return undefined
  if (type === 'quantity') return decodeQuantity(value)
  if (type === 'time') return decodeTime(value)
  return decode(value, type)
}

function decodeQuantity(bytes: Buffer): string {
  const { value } = readMessage(bytes)[0] ?? {}
  return Buffer.isBuffer(value) ? value.toString() : ''
}

function decodeTime(bytes: Buffer): string | undefined {
  const seconds = readMessage(bytes).find(field => field.number === 1)?.value
  return typeof seconds === 'bigint' ? new Date(Number(seconds) * 1000).toISOString() : undefined
}

function unreadable(because: string): ApiError {
  return new ApiError(415, 'UnsupportedMediaType', `${because}; send application/json instead`)
}
