/**
 * Admission policies that limit what the ServiceAccount of the operator can write, because RBAC cannot limit the names of new
 * objects: only the Secrets of message buses, and only ConfigMaps with its delivery records. A Secret of another type would be
 * the token of another account. Another ConfigMap could be the CA certificate that all Pods of the namespace trust.
 */
import { denyingBinding, type Policy, policyApiVersion } from '../contract/admission.ts'
import { openstackConfigGroup } from '../contract/openstack-config.ts'
import { busSecretKeys, busSecretPrefix } from './clouds/bus-secrets.ts'
import { deliveredPrefix } from './viola/legacy/post-only-viola.ts'

const owner = `one.kind == 'OpenstackConfig' && one.apiVersion.startsWith('${openstackConfigGroup}/')`
const isOfBus = (object: string) =>
  `size(${object}.metadata.?ownerReferences.orValue([])) > 0 && ${object}.metadata.ownerReferences.all(one, ${owner} && ${object}.metadata.name == '${busSecretPrefix}' + one.name)`

/** Every field is one of these, or as it was. A new Secret has no old one. */
const only = (fields: string, oldFields: string, names: readonly string[]) =>
  `${fields}.all(key, key in [${names.map(name => `'${name}'`).join(', ')}] || (key in ${oldFields} && ${fields}[key] == ${oldFields}[key]))`
const remain = (fields: string, oldFields: string) => `${oldFields}.all(key, key in ${fields})`

const ofServer = ['name', 'namespace', 'uid', 'resourceVersion', 'creationTimestamp', 'managedFields']
const validations: readonly [expression: string, message: string][] = [
  [isOfBus('object'), `only Secrets ${busSecretPrefix}<object> with the OpenstackConfig as owner`],
  [`request.operation == 'CREATE' || (${isOfBus('oldObject')})`, 'no Secret of somebody else'],
  ["object.type == 'Opaque'", 'only Secrets of type Opaque'],
  [only('variables.data', 'variables.oldData', busSecretKeys), 'only the address and the account of the message bus'],
  [
    [
      only('dyn(object)', 'variables.old', ['apiVersion', 'kind', 'metadata', 'type', 'data']),
      only('dyn(object.metadata)', 'variables.oldMetadata', [...ofServer, 'ownerReferences']),
      remain('dyn(object)', 'variables.old'),
      remain('dyn(object.metadata)', 'variables.oldMetadata'),
      remain('variables.data', 'variables.oldData'),
    ].join(' && '),
    'no other fields',
  ],
]

interface WritePolicy {
  resource: 'secrets' | 'configmaps'
  operations: string[]
  variables?: { name: string; expression: string }[]
  validations: readonly [expression: string, message: string][]
}

function operatorPolicy({ resource, operations, variables, validations }: WritePolicy): Policy {
  return {
    apiVersion: policyApiVersion,
    kind: 'ValidatingAdmissionPolicy',
    metadata: {
      name: `multinic-operator-${resource}`,
      labels: { 'app.kubernetes.io/component': 'operator', 'app.kubernetes.io/part-of': 'multinic' },
    },
    spec: {
      failurePolicy: 'Fail',
      matchConstraints: {
        resourceRules: [{ apiGroups: [''], apiVersions: ['*'], operations, resources: [resource] }],
      },
      matchConditions: [
        {
          name: 'operator',
          expression: "request.userInfo.username == 'system:serviceaccount:multinic-operator-system:multinic-operator'",
        },
      ],
      ...(variables && { variables }),
      validations: validations.map(([expression, message]) => ({
        expression,
        message: `the operator may only write ${message}`,
        reason: 'Forbidden',
      })),
    },
  }
}

export const operatorSecretsPolicy = operatorPolicy({
  resource: 'secrets',
  operations: ['CREATE', 'UPDATE'],
  variables: [
    { name: 'old', expression: "request.operation == 'CREATE' ? dyn({}) : dyn(oldObject)" },
    { name: 'oldMetadata', expression: 'variables.old.?metadata.orValue({})' },
    { name: 'oldData', expression: 'variables.old.?data.orValue({})' },
    { name: 'data', expression: 'dyn(object).?data.orValue({})' },
  ],
  validations: validations.map(([expression, message]) => [expression, `the Secrets of message buses: ${message}`]),
})

export const operatorConfigMapsPolicy = operatorPolicy({
  resource: 'configmaps',
  operations: ['CREATE', 'UPDATE', 'DELETE'],
  validations: [[`request.name.startsWith('${deliveredPrefix}')`, 'ConfigMaps with its delivery records']],
})

export const operatorSecretsPolicyBinding = denyingBinding(operatorSecretsPolicy)
export const operatorConfigMapsPolicyBinding = denyingBinding(operatorConfigMapsPolicy)
