/**
 * Admission policies that limit what the ServiceAccount of the controller can change of a Node. The permissions to patch it
 * cover much more.
 */
import { policyApiVersion as apiVersion, type Policy } from '../contract/admission.ts'
import { isController } from './agent-policy.ts'

export interface NodePolicy {
  name: string
  resource: 'nodes' | 'nodes/status'
  /** What must be true of a change. */
  conditions: readonly string[]
  message: string
}

export function nodePolicy({ name, resource, conditions, message }: NodePolicy): Policy {
  return {
    apiVersion,
    kind: 'ValidatingAdmissionPolicy',
    metadata: {
      name,
      labels: { 'app.kubernetes.io/component': 'controller', 'app.kubernetes.io/part-of': 'multinic' },
    },
    spec: {
      failurePolicy: 'Fail',
      matchConstraints: {
        resourceRules: [{ apiGroups: [''], apiVersions: ['*'], operations: ['UPDATE'], resources: [resource] }],
      },
      matchConditions: [{ name: 'controller', expression: isController }],
      validations: [{ expression: conditions.join(' && '), message, reason: 'Forbidden' }],
    },
  }
}

/**
 * Every field of a part of the Node, or of the Node itself, stays as it is, except these. A list of the fields that must stay
 * would not have those of the next version of Kubernetes. `dyn` lets CEL iterate over the fields of an object.
 */
export function unchangedExcept(part: 'metadata' | 'spec' | 'status' | undefined, except: readonly string[]): string[] {
  const fieldsOf = (object: string) => (part ? `dyn(${object}.?${part}.orValue({}))` : `dyn(${object})`)
  const fieldsIn = (one: string, other: string) =>
    `${fieldsOf(one)}.all(key, key in [${except.map(field => `'${field}'`).join(', ')}] || (key in ${fieldsOf(other)} && ${fieldsOf(one)}[key] == ${fieldsOf(other)}[key]))`
  return [fieldsIn('object', 'oldObject'), fieldsIn('oldObject', 'object')]
}

/** The API server sets them. */
export const serverFields = ['managedFields', 'generation']
