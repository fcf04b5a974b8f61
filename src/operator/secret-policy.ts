/**
 * Admission policy for RABBITMQ_SECRET_ENABLED: RBAC cannot limit the names of new Secrets, and the permission to patch one also
 * shows it. With this policy the ServiceAccount of the operator can write only the Secrets of message buses. A Secret of another
 * type would be the token of another account, or a key that some program trusts.
 */
import { denyingBinding, type Policy, policyApiVersion } from '../contract/admission.ts'
import { openstackConfigGroup } from '../contract/openstack-config.ts'
import { busSecretKeys, busSecretPrefix } from './bus-secrets.ts'

const owner = `one.kind == 'OpenstackConfig' && one.apiVersion.startsWith('${openstackConfigGroup}/')`
const isOfBus = (object: string) =>
  `size(${object}.metadata.?ownerReferences.orValue([])) > 0 && ${object}.metadata.ownerReferences.all(one, ${owner} && ${object}.metadata.name == '${busSecretPrefix}' + one.name)`

/** Every field is one of these, or as it was. A new Secret has no old one. */
const only = (fields: string, oldFields: string, names: readonly string[]) =>
  `${fields}.all(key, key in [${names.map(name => `'${name}'`).join(', ')}] || (key in ${oldFields} && ${fields}[key] == ${oldFields}[key]))`
const remain = (fields: string, oldFields: string) => `${oldFields}.all(key, key in ${fields})`

const ofServer = ['name', 'namespace', 'uid', 'resourceVersion', 'creationTimestamp', 'managedFields']
const validations: [expression: string, message: string][] = [
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

export const operatorSecretsPolicy: Policy = {
  apiVersion: policyApiVersion,
  kind: 'ValidatingAdmissionPolicy',
  metadata: {
    name: 'multinic-operator-secrets',
    labels: { 'app.kubernetes.io/component': 'operator', 'app.kubernetes.io/part-of': 'multinic' },
  },
  spec: {
    failurePolicy: 'Fail',
    matchConstraints: {
      resourceRules: [
        { apiGroups: [''], apiVersions: ['*'], operations: ['CREATE', 'UPDATE'], resources: ['secrets'] },
      ],
    },
    matchConditions: [
      {
        name: 'operator',
        expression: "request.userInfo.username == 'system:serviceaccount:multinic-operator-system:multinic-operator'",
      },
    ],
    variables: [
      { name: 'old', expression: "request.operation == 'CREATE' ? dyn({}) : dyn(oldObject)" },
      { name: 'oldMetadata', expression: 'variables.old.?metadata.orValue({})' },
      { name: 'oldData', expression: 'variables.old.?data.orValue({})' },
      { name: 'data', expression: 'dyn(object).?data.orValue({})' },
    ],
    validations: validations.map(([expression, message]) => ({
      expression,
      message: `the operator may only write the Secrets of message buses: ${message}`,
      reason: 'Forbidden',
    })),
  },
}

export const operatorSecretsPolicyBinding = denyingBinding(operatorSecretsPolicy)
