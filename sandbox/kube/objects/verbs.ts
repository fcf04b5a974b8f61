/**
 * The verbs of the API for all kinds: get, create, update, patch, apply and delete.
 */
import { applyMergePatch, equalJson } from '../../../src/contract/json.ts'
import {
  alreadyExists,
  badRequest,
  conflict,
  fieldError,
  forbidden,
  invalid,
  notFound,
  type ResourceType,
  type Status,
  success,
} from '../api-errors.ts'
import { type ApiObject, copy, isRecord, listOf, ordered, recordOf, without } from '../json.ts'
import { apiVersion, kindId } from '../kinds/kinds.ts'
import { admit, checkVersion, type WriteOptions, writerOf } from './admission.ts'
import { checkDeclared, checkIdentity } from './identity.ts'
import { applyConfiguration } from './managers.ts'
import { timestamp } from './metadata.ts'
import { applyJsonPatch, applyStrategicMergePatch } from './patch.ts'
import type { Store } from './store.ts'
import type { Target } from './target.ts'

export interface DeleteOptions {
  dryRun?: boolean
  gracePeriodSeconds?: number
  propagationPolicy?: 'Background' | 'Foreground' | 'Orphan'
  uid?: string
  resourceVersion?: string
}

export type PatchType = 'json' | 'merge' | 'strategic' | 'apply'

export interface Written {
  object: ApiObject
  created: boolean
}

export interface Verbs {
  get(target: Target): ApiObject
  create(target: Target, body: unknown, options: WriteOptions): ApiObject
  update(target: Target, body: unknown, options: WriteOptions): Written
  patch(target: Target, type: PatchType, body: unknown, options: WriteOptions & { force?: boolean }): Written
  /** Returns the object if finalizers or a grace period delay the removal, otherwise a Status. */
  remove(target: Target, options?: DeleteOptions): ApiObject | Status
}

export const namespacesId = '/namespaces'
const namespaces: ResourceType = { group: '', plural: 'namespaces', kind: 'Namespace' }

export function createVerbs(store: Store, now: () => Date = () => new Date()): Verbs {
  const find = (target: Target) => store.get(kindId(target.kind), target.namespace, target.name)

  const get = (target: Target): ApiObject => {
    const object = find(target)
    if (!object) throw notFound(target.kind, target.name)
    return object
  }

  const checkNamespace = (target: Target) => {
    if (target.namespace === undefined) return
    const namespace = store.get(namespacesId, undefined, target.namespace)
    if (!namespace) throw notFound(namespaces, target.namespace)
    if (!namespace.metadata.deletionTimestamp) return
    const because = `unable to create new content in namespace ${target.namespace} because it is being terminated`
    throw forbidden(target.kind, target.name, because, [
      {
        reason: 'NamespaceTerminating',
        message: `namespace ${target.namespace} is being terminated`,
        field: 'metadata.namespace',
      },
    ])
  }

  const persist = (target: Target, object: ApiObject, options: WriteOptions, old?: ApiObject): ApiObject => {
    if (object === old) return old
    if (options.dryRun) return object
    if (old && isRemovable(object)) return store.remove(kindId(target.kind), object)
    return store.put(kindId(target.kind), object)
  }

  const create = (
    target: Target,
    body: unknown,
    options: WriteOptions,
    managedFields?: ApiObject['metadata']['managedFields'],
  ): ApiObject => {
    const given = checkIdentity(body, target)
    const named = { ...target, name: given.metadata.name }
    if (target.kind.terminating)
      throw forbidden(named.kind, named.name, 'create not allowed while custom resource definition is terminating')
    checkNamespace(named)
    const admission = { target: named, old: undefined, body: given, options, now: now() }
    const object = admit(managedFields ? { ...admission, managedFields } : admission)
    if (find({ ...target, name: object.metadata.name })) throw alreadyExists(target.kind, object.metadata.name)
    return persist(target, object, options)
  }

  const change = (target: Target, old: ApiObject, body: ApiObject, options: WriteOptions, patch?: string): Written => {
    checkVersion(target, old, body.metadata)
    const object = admit({ target, old, body, options, now: now(), ...(patch !== undefined && { patch }) })
    return { object: persist(target, object, options, old), created: false }
  }

  const apply = (target: Target, body: unknown, options: WriteOptions & { force?: boolean }): Written => {
    if (!options.manager) {
      const place = { group: 'meta.k8s.io', plural: 'patchoptions', kind: 'PatchOptions' }
      throw invalid(place, '', [fieldError.required('fieldManager', 'is required for apply patch')])
    }
    checkDeclared(body, target)
    const config = checkIdentity(body, target)
    if (config.metadata.managedFields) throw badRequest('metadata.managedFields must be nil')
    const old = find(target)
    const { schema } = target.version
    const writer = writerOf(target, options, now())
    if (old) checkVersion(target, old, config.metadata)
    else if (config.metadata.uid || target.subresource) throw notFound(target.kind, target.name)
    const base = old ?? { apiVersion: config.apiVersion, kind: config.kind, metadata: { name: target.name } }
    const { object, managedFields } = applyConfiguration(base, config, schema, writer, options.force === true)
    if (options.manager === 'kubectl') updateLastApplied(object, config)
    if (!old) return { object: create(target, object, options, managedFields), created: true }
    const next = admit({ target, old, body: object, options, now: now(), managedFields })
    return { object: persist(target, next, options, old), created: false }
  }

  return {
    get,
    create,
    update(target, body, options) {
      const given = checkIdentity(body, target)
      const old = find(target)
      if (!old) {
        const mayCreate = target.kind.behaviour.createOnUpdate && !target.subresource && !given.metadata.resourceVersion
        if (!mayCreate) throw notFound(target.kind, target.name)
        return { object: create(target, body, options), created: true }
      }
      if (!given.metadata.resourceVersion && !target.kind.behaviour.unconditionalUpdate) {
        const detail = 'must be specified for an update'
        const place = { ...target.kind, kind: target.kind.plural }
        throw invalid(place, target.name, [fieldError.invalid('metadata.resourceVersion', 0, detail)])
      }
      return change(target, old, given, options)
    },
    patch(target, type, body, options) {
      if (type === 'apply') return apply(target, body, options)
      const old = get(target)
      const current = { ...old, apiVersion: apiVersion(target.kind.group, target.version.name) }
      const result =
        type === 'json'
          ? applyJsonPatch(current, body)
          : type === 'merge'
            ? applyMergePatch(current, body)
            : applyStrategicMergePatch(current, body, target.version.schema)
      const patch = JSON.stringify(result)
      const given = checkIdentity(result, target, patch)
      if (given.metadata.uid !== old.metadata.uid) {
        const error = fieldError.invalid('metadata.uid', given.metadata.uid, 'field is immutable')
        throw invalid(target.kind, target.name, [error])
      }
      return change(target, old, given, options, patch)
    },
    remove(target, options = {}) {
      const old = get(target)
      const { kind, name } = target
      checkPreconditions(target, old, options)
      if (kindId(kind) === namespacesId && ['default', 'kube-system', 'kube-public'].includes(name)) {
        throw forbidden(kind, name, 'this namespace may not be deleted')
      }
      const next = deleted(target, old, options, now())
      if (!next || isRemovable(next)) {
        const gone = options.dryRun ? old : store.remove(kindId(kind), next ?? old)
        if (kind.behaviour.returnsDeleted) return gone
        return success(kind, name, old.metadata.uid)
      }
      if (equalJson(next, old) || options.dryRun) return next
      return store.put(kindId(kind), next)
    },
  }
}

const lastApplied = 'kubectl.kubernetes.io/last-applied-configuration'

/** Keeps the annotation of client-side apply up to date, so that a client can switch back to it. */
function updateLastApplied(object: ApiObject, config: ApiObject): void {
  const { annotations } = object.metadata
  if (annotations?.[lastApplied] === undefined) return
  const lastConfig = ordered({ ...config, metadata: without(config.metadata, 'managedFields') })
  object.metadata.annotations = { ...annotations, [lastApplied]: `${JSON.stringify(lastConfig)}\n` }
}

function checkPreconditions(target: Target, old: ApiObject, { uid, resourceVersion }: DeleteOptions): void {
  const { kind, name } = target
  const place = { ...kind, plural: kind.kind }
  if (uid && uid !== old.metadata.uid) {
    const because = `the UID in the precondition (${uid}) does not match the UID in record (${old.metadata.uid}). The object might have been deleted and then recreated`
    throw conflict(place, name, because)
  }
  if (resourceVersion && resourceVersion !== old.metadata.resourceVersion) {
    const because = `the ResourceVersion in the precondition (${resourceVersion}) does not match the ResourceVersion in record (${old.metadata.resourceVersion}). The object might have been modified`
    throw conflict(place, name, because)
  }
}

/** The object with deletionTimestamp set; undefined if it can be removed immediately. */
function deleted(target: Target, old: ApiObject, options: DeleteOptions, now: Date): ApiObject | undefined {
  const { behaviour } = target.kind
  const { metadata } = old
  const grace = Math.max(0, behaviour.grace?.(old, options.gracePeriodSeconds) ?? 0)
  const policy = options.propagationPolicy
  const others = (metadata.finalizers ?? []).filter(name => !policy || (name !== orphan && name !== foreground))
  const finalizers = [
    ...new Set([
      ...others,
      ...(policy === 'Orphan' ? [orphan] : []),
      ...(policy === 'Foreground' ? [foreground] : []),
      ...(metadata.deletionTimestamp ? [] : (behaviour.finalizersAtDelete ?? [])),
    ]),
  ]
  const next: ApiObject = { ...old, metadata: { ...copy(metadata), finalizers } }
  if (finalizers.length === 0) delete next.metadata.finalizers
  if (metadata.deletionTimestamp) {
    const left = Math.min(grace, metadata.deletionGracePeriodSeconds ?? 0)
    if (left !== metadata.deletionGracePeriodSeconds) {
      next.metadata.deletionGracePeriodSeconds = left
      next.metadata.deletionTimestamp = timestamp(new Date(now.getTime() + left * 1000))
    }
    return next
  }
  if (finalizers.length === 0 && grace === 0 && namespaceFinalizers(old).length === 0) return undefined
  next.metadata.deletionTimestamp = timestamp(new Date(now.getTime() + grace * 1000))
  next.metadata.deletionGracePeriodSeconds = grace
  if (metadata.generation) next.metadata.generation = metadata.generation + 1
  if (kindId(target.kind) === namespacesId) next['status'] = { ...recordOf(old['status']), phase: 'Terminating' }
  return next
}

export const orphan = 'orphan'
export const foreground = 'foregroundDeletion'

/** Reports whether a deleted object has no finalizers and no grace period left. */
function isRemovable(object: ApiObject): boolean {
  const { deletionTimestamp, finalizers, deletionGracePeriodSeconds } = object.metadata
  if (!deletionTimestamp || (deletionGracePeriodSeconds ?? 0) > 0) return false
  return (finalizers ?? []).length === 0 && namespaceFinalizers(object).length === 0
}

/** Only namespaces have finalizers in their spec. */
function namespaceFinalizers(object: ApiObject): unknown[] {
  return object.kind === 'Namespace' && isRecord(object['spec']) ? listOf(object['spec']['finalizers']) : []
}
