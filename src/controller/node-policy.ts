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

/** The fields of a part of the Node stay as they are. */
export function unchanged(part: 'metadata' | 'spec' | 'status', fields: readonly string[]): string[] {
  return fields.map(field => `object.${part}.?${field} == oldObject.${part}.?${field}`)
}
