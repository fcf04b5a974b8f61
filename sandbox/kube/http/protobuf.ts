/**
 * Decodes the protobuf bodies that kubectl sends since 1.32 for `create KIND NAME` and `auth can-i`: it has no fallback to JSON.
 * An unknown field is rejected with its number, never dropped.
 */
import { Buffer } from 'node:buffer'
import { ApiError } from '../api-errors.ts'
import type { Fields } from '../json.ts'

/**
 * The fields of each message in the order of their numbers, as `name` (text) or `name:type`; `-` is not read. `[]` is a list, `{}`
 * a map with string keys.
 */
const messages: Record<string, string> = {
  ObjectMeta:
    'name generateName namespace - - - - - - - labels:string{} annotations:string{} - finalizers:string[] - - -',
  Namespace: 'metadata:ObjectMeta - -',
  ConfigMap: 'metadata:ObjectMeta data:string{} binaryData:bytes{} immutable:bool',
  Secret: 'metadata:ObjectMeta data:bytes{} type stringData:string{} immutable:bool',
  ServiceAccount: 'metadata:ObjectMeta - - automountServiceAccountToken:bool',
  Role: 'metadata:ObjectMeta rules:PolicyRule[]',
  ClusterRole: 'metadata:ObjectMeta rules:PolicyRule[]',
  PolicyRule: 'verbs:string[] apiGroups:string[] resources:string[] resourceNames:string[] nonResourceURLs:string[]',
  RoleBinding: 'metadata:ObjectMeta subjects:Subject[] roleRef:RoleRef',
  ClusterRoleBinding: 'metadata:ObjectMeta subjects:Subject[] roleRef:RoleRef',
  Subject: 'kind apiGroup name namespace',
  RoleRef: 'apiGroup kind name',
  SelfSubjectAccessReview: 'metadata:ObjectMeta spec:AccessSpec -',
  AccessSpec: 'resourceAttributes:ResourceAttributes nonResourceAttributes:NonResourceAttributes',
  ResourceAttributes: 'namespace verb group version resource subresource name',
  NonResourceAttributes: 'path verb',
  SelfSubjectRulesReview: 'metadata:ObjectMeta spec:RulesSpec -',
  RulesSpec: 'namespace',
  SelfSubjectReview: 'metadata:ObjectMeta -',
  TokenRequest: 'metadata:ObjectMeta spec:TokenSpec -',
  TokenSpec: 'audiences:string[] - - expirationSeconds:int',
}

const magic = Buffer.from('k8s\0')

/** A varint, or the bytes of a length-delimited field. */
type Value = bigint | Buffer

export function decodeBody(bytes: Buffer): Fields {
  if (!bytes.subarray(0, 4).equals(magic))
    throw unreadable('the body does not start with the Kubernetes protobuf prefix')
  const [type, object] = bytesAt(bytes.subarray(4), 1, 2)
  const [apiVersion, kind] = bytesAt(type, 1, 2).map(String)
  if (!messages[kind ?? '']) throw unreadable(`protobuf is not supported for ${kind}`)
  return { apiVersion, kind, ...decode(object, kind ?? '') }
}

function decode(bytes: Buffer, type: string): Fields {
  const result: Fields = {}
  const fields = messages[type]?.split(' ') ?? []
  for (const [number, value] of readMessage(bytes)) {
    const [name, kind = 'string'] = fields[number - 1]?.split(':') ?? []
    if (name === '-' || (name === undefined && value.toString() === '')) continue
    if (name === undefined) throw unreadable(`protobuf field ${number} of ${type} is not supported`)
    const known = result[name]
    if (kind.endsWith('[]')) result[name] = [...(Array.isArray(known) ? known : []), single(value, kind.slice(0, -2))]
    else if (kind.endsWith('{}')) {
      const [key, inner] = bytesAt(value, 1, 2)
      result[name] = { ...(known as Fields | undefined), [String(key)]: single(inner, kind.slice(0, -2)) }
    } else if (value.toString() !== '') result[name] = single(value, kind)
  }
  return result
}

function single(value: Value, type: string): unknown {
  if (typeof value === 'bigint') return type === 'bool' ? value === 1n : Number(value)
  if (type === 'string') return value.toString()
  return type === 'bytes' ? value.toString('base64') : decode(value, type)
}

/** The bytes of two fields; empty if they are missing. */
function bytesAt(message: Value, ...numbers: [number, number]): [Buffer, Buffer] {
  const fields = new Map(Buffer.isBuffer(message) ? readMessage(message) : [])
  const [first, second] = numbers.map(number => fields.get(number))
  return [Buffer.isBuffer(first) ? first : Buffer.alloc(0), Buffer.isBuffer(second) ? second : Buffer.alloc(0)]
}

/** Numbers and values of the fields of a message, in order. */
function readMessage(bytes: Buffer): [number: number, value: Value][] {
  const fields: [number, Value][] = []
  let at = 0
  const varint = () => {
    let value = 0n
    for (let shift = 0n; ; shift += 7n) {
      const byte = bytes[at++]
      if (byte === undefined) throw unreadable('truncated protobuf message')
      value |= BigInt(byte & 0x7f) << shift
      if (byte < 0x80) return value
    }
  }
  while (at < bytes.length) {
    const tag = varint()
    const [number, type] = [Number(tag >> 3n), tag & 7n]
    if (type === 0n) fields.push([number, varint()])
    else if (type === 2n) {
      const end = Number(varint()) + at
      if (end > bytes.length) throw unreadable('truncated protobuf message')
      fields.push([number, bytes.subarray(at, end)])
      at = end
    } else throw unreadable(`unsupported protobuf wire type ${type}`)
  }
  return fields
}

function unreadable(because: string): ApiError {
  return new ApiError(415, 'UnsupportedMediaType', `${because}; send application/json instead`)
}
