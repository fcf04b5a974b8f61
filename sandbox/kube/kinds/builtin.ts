/**
 * The built-in kinds: names, types, defaults and validation.
 */

import { equalJson } from '../../../src/contract/json.ts'
import { badRequest, type FieldError, fieldError } from '../api-errors.ts'
import { type ApiObject, numberOf, recordOf, textOf } from '../json.ts'
import { columns } from './columns.ts'
import { definitionErrors, prepareDefinition } from './definitions.ts'
import type { Behaviour, Column, Kind } from './kinds.ts'
import { defaultPodSpec, podChangeErrors, podGrace, podSpecErrors, qosClass } from './pods.ts'
import { typeSchema } from './types.ts'

interface KindInput {
  group?: string
  kind: string
  plural?: string
  shortNames?: string[]
  categories?: string[]
  namespaced?: boolean
  status?: boolean
  /** Type in types-table.ts, if its name differs from the kind. */
  type?: string
  columns?: readonly Column[]
  behaviour?: Behaviour
}

function builtin(given: KindInput): Kind {
  const { group = '', kind, plural = `${kind.toLowerCase()}s`, namespaced = true, status = false } = given
  const type = typeSchema(given.type ?? kind)
  const text = typeSchema('string')
  const properties = { apiVersion: text, kind: text, metadata: typeSchema('ObjectMeta'), ...type.properties }
  return {
    group,
    kind,
    plural,
    singular: kind.toLowerCase(),
    listKind: `${kind}List`,
    shortNames: given.shortNames ?? [],
    categories: given.categories ?? [],
    namespaced,
    custom: false,
    versions: [
      { name: 'v1', served: true, schema: { ...type, properties }, status, columns: given.columns ?? columns.plain },
    ],
    behaviour: { unconditionalUpdate: true, ...given.behaviour },
  }
}

const namespace: Behaviour = {
  prepare(object, old) {
    object.metadata.labels = { ...object.metadata.labels, 'kubernetes.io/metadata.name': object.metadata.name }
    if (old) return
    object['spec'] = { finalizers: ['kubernetes'] }
    object['status'] = { phase: 'Active' }
  },
  keepsStatusAtCreate: true,
}

const pod: Behaviour = {
  generation: true,
  prepare(object, old) {
    const spec = recordOf(object['spec'])
    defaultPodSpec(spec)
    spec['enableServiceLinks'] ??= true
    if (!old) object['status'] = { phase: 'Pending', qosClass: qosClass(spec) }
  },
  validate: (object, old) => [
    ...podSpecErrors(recordOf(object['spec']), 'spec'),
    ...(old ? podChangeErrors(object, old) : []),
  ],
  keepsStatusAtCreate: true,
  grace: podGrace,
  returnsDeleted: true,
}

const job: Behaviour = {
  generation: true,
  prepare(object, old) {
    const spec = recordOf(object['spec'])
    spec['parallelism'] ??= 1
    spec['completions'] ??= 1
    spec['backoffLimit'] ??= 6
    spec['completionMode'] ??= 'NonIndexed'
    spec['suspend'] ??= false
    spec['manualSelector'] ??= false
    spec['podReplacementPolicy'] ??= 'TerminatingOrFailed'
    const template = recordOf(spec['template'])
    const restartPolicy = recordOf(template['spec'])['restartPolicy']
    defaultPodSpec(recordOf(template['spec']))
    if (restartPolicy === undefined) delete recordOf(template['spec'])['restartPolicy']
    if (old) {
      spec['selector'] ??= recordOf(old['spec'])['selector']
      const oldTemplate = recordOf(recordOf(old['spec'])['template'])
      if (!recordOf(template['metadata'])['labels']) template['metadata'] = oldTemplate['metadata']
      return
    }
    const uid = object.metadata.uid ?? ''
    const metadata = recordOf(template['metadata'])
    template['metadata'] = {
      ...metadata,
      labels: {
        ...recordOf(metadata['labels']),
        'batch.kubernetes.io/controller-uid': uid,
        'batch.kubernetes.io/job-name': object.metadata.name,
        'controller-uid': uid,
        'job-name': object.metadata.name,
      },
    }
    object.metadata.labels ??= recordOf(recordOf(template['metadata'])['labels']) as Record<string, string>
    spec['selector'] = { matchLabels: { 'batch.kubernetes.io/controller-uid': uid } }
  },
  validate(object, old) {
    const spec = recordOf(object['spec'])
    const template = recordOf(recordOf(spec['template'])['spec'])
    const errors: FieldError[] = podSpecErrors(template, 'spec.template.spec')
    const policy = template['restartPolicy']
    const allowed = ['OnFailure', 'Never']
    if (policy === undefined) {
      errors.push(fieldError.required('spec.template.spec.restartPolicy', 'valid values: "OnFailure", "Never"'))
    } else if (!allowed.includes(textOf(policy))) {
      errors.push(fieldError.unsupported('spec.template.spec.restartPolicy', policy, allowed))
    }
    if (spec['podFailurePolicy'] !== undefined && policy === 'OnFailure') {
      const detail = 'only "Never" is supported when podFailurePolicy is specified'
      errors.push(fieldError.invalid('spec.template.spec.restartPolicy', policy, detail))
    }
    for (const name of [
      'parallelism',
      'completions',
      'backoffLimit',
      'activeDeadlineSeconds',
      'ttlSecondsAfterFinished',
    ]) {
      const value = spec[name]
      if (value === undefined || (Number.isInteger(value) && numberOf(value) >= 0)) continue
      errors.push(fieldError.invalid(`spec.${name}`, value, 'must be greater than or equal to 0'))
    }
    const was = recordOf(old?.['spec'])
    for (const name of old ? ['selector', 'completions', 'template'] : []) {
      if (!equalJson(spec[name], was[name])) {
        errors.push(fieldError.invalid(`spec.${name}`, spec[name], 'field is immutable'))
      }
    }
    return errors
  },
}

const secret: Behaviour = {
  prepare(object) {
    object['type'] ??= 'Opaque'
    const plain = recordOf(object['stringData'])
    if (Object.keys(plain).length > 0) {
      const encoded = Object.entries(plain).map(([key, value]) => [key, Buffer.from(textOf(value)).toString('base64')])
      object['data'] = { ...recordOf(object['data']), ...Object.fromEntries(encoded) }
    }
    delete object['stringData']
    checkBase64(object)
  },
  validate: dataErrors,
}

/** Fails in decoding, before validation, as in the real server. */
function checkBase64(object: ApiObject): void {
  for (const value of Object.values(recordOf(object['data']))) {
    const wrong = /[^A-Za-z0-9+/=\s]/.exec(textOf(value))
    if (wrong) {
      const reason = `illegal base64 data at input byte ${wrong.index}`
      throw badRequest(`Secret in version "v1" cannot be handled as a Secret: ${reason}`)
    }
  }
}

const keyDetail =
  "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')"

function dataErrors(object: ApiObject, old: ApiObject | undefined): FieldError[] {
  const parts = ['data', 'binaryData']
  const wrong = parts.flatMap(part =>
    Object.keys(recordOf(object[part]))
      .filter(key => !/^[-._a-zA-Z0-9]+$/.test(key))
      .map(key => fieldError.invalid(`${part}[${key}]`, key, keyDetail)),
  )
  if (old?.['immutable'] !== true) return wrong
  const changed = parts.filter(name => !equalJson(object[name], old[name]))
  return [...wrong, ...changed.map(name => fieldError.forbidden(name, 'field is immutable when `immutable` is set'))]
}

const event: Behaviour = { createOnUpdate: true, validate: namespaceOfEvent }

/** An Event is in the namespace of its object; Events of cluster-scoped objects are in `default`. */
function namespaceOfEvent(object: ApiObject): FieldError[] {
  const about = textOf(recordOf(object['involvedObject'])['namespace'])
  const own = object.metadata.namespace ?? ''
  if (about === own || (about === '' && ['default', 'kube-system'].includes(own))) return []
  return [fieldError.invalid('involvedObject.namespace', about, 'does not match event.namespace')]
}

const rbac = 'rbac.authorization.k8s.io'
const freeNames: Behaviour = { anyPathName: true }

export const builtinKinds: readonly Kind[] = [
  builtin({
    kind: 'Namespace',
    shortNames: ['ns'],
    namespaced: false,
    status: true,
    behaviour: namespace,
  }),
  builtin({
    kind: 'Node',
    shortNames: ['no'],
    namespaced: false,
    status: true,
    columns: columns.nodes,
    behaviour: { keepsStatusAtCreate: true },
  }),
  builtin({
    kind: 'Pod',
    shortNames: ['po'],
    categories: ['all'],
    status: true,
    columns: columns.pods,
    behaviour: pod,
  }),
  builtin({
    kind: 'Secret',
    behaviour: secret,
  }),
  builtin({
    kind: 'ConfigMap',
    shortNames: ['cm'],
    behaviour: { validate: dataErrors },
  }),
  builtin({
    kind: 'ServiceAccount',
    shortNames: ['sa'],
    behaviour: { returnsDeleted: true },
  }),
  builtin({
    kind: 'Service',
    shortNames: ['svc'],
    categories: ['all'],
  }),
  builtin({
    kind: 'Event',
    shortNames: ['ev'],
    columns: columns.events,
    behaviour: event,
  }),
  builtin({
    group: 'batch',
    kind: 'Job',
    categories: ['all'],
    status: true,
    columns: columns.jobs,
    behaviour: job,
  }),
  builtin({
    group: 'coordination.k8s.io',
    kind: 'Lease',
    behaviour: { unconditionalUpdate: false, createOnUpdate: true },
  }),
  builtin({ group: rbac, kind: 'Role', behaviour: freeNames }),
  builtin({ group: rbac, kind: 'RoleBinding', behaviour: freeNames }),
  builtin({
    group: rbac,
    kind: 'ClusterRole',
    namespaced: false,
    behaviour: freeNames,
  }),
  builtin({
    group: rbac,
    kind: 'ClusterRoleBinding',
    type: 'RoleBinding',
    namespaced: false,
    behaviour: freeNames,
  }),
  builtin({
    group: 'apiextensions.k8s.io',
    kind: 'CustomResourceDefinition',
    shortNames: ['crd', 'crds'],
    categories: ['api-extensions'],
    namespaced: false,
    status: true,
    behaviour: {
      generation: true,
      keepsStatusAtCreate: true,
      prepare: prepareDefinition,
      validate: definitionErrors,
      finalizersAtDelete: ['customresourcecleanup.apiextensions.k8s.io'],
    },
  }),
]

/** Namespaces of a new cluster. */
export const initialNamespaces = ['default', 'kube-node-lease', 'kube-public', 'kube-system']
