/**
 * A cluster for tests: with a manual clock, a small CRD, and short functions for the verbs.
 */
import { silent } from '../../src/telemetry/log.ts'
import { ApiError, type Status } from './api-errors.ts'
import { type Cluster, createCluster } from './cluster.ts'
import { type ApiObject, type Fields, isRecord } from './json.ts'
import { apiVersion } from './kinds/kinds.ts'
import type { Schema } from './kinds/schema.ts'
import { type Target, targetFor } from './objects/target.ts'
import type { DeleteOptions, PatchType } from './objects/verbs.ts'

export const widgetsId = 'test.example.com/widgets'

const widgetSchema: Schema = {
  type: 'object',
  required: ['spec'],
  properties: {
    spec: {
      type: 'object',
      required: ['size'],
      properties: {
        size: { type: 'integer', minimum: 1, maximum: 10 },
        color: { type: 'string', default: 'grey', maxLength: 8 },
        owner: {
          type: 'string',
          maxLength: 20,
          'x-kubernetes-validations': [{ rule: 'self == oldSelf', message: 'owner is immutable' }],
        },
        tags: { type: 'array', maxItems: 20, items: { type: 'string' } },
        settings: { type: 'object', additionalProperties: { type: 'string' } },
        parts: {
          type: 'array',
          'x-kubernetes-list-type': 'map',
          'x-kubernetes-list-map-keys': ['name'],
          items: {
            type: 'object',
            required: ['name'],
            properties: { name: { type: 'string' }, weight: { type: 'integer' }, note: { type: 'string' } },
          },
        },
      },
      'x-kubernetes-validations': [
        { rule: '!has(self.tags) || size(self.tags) <= self.size', message: 'more tags than size' },
      ],
    },
    status: {
      type: 'object',
      properties: {
        phase: { type: 'string' },
        conditions: {
          type: 'array',
          'x-kubernetes-list-type': 'map',
          'x-kubernetes-list-map-keys': ['type'],
          items: {
            type: 'object',
            required: ['type'],
            properties: { type: { type: 'string' }, status: { type: 'string' }, reason: { type: 'string' } },
          },
        },
      },
    },
  },
}

export function widgetDefinition(schema: Schema = widgetSchema): Fields {
  const version = (name: string, storage: boolean) => ({
    name,
    served: true,
    storage,
    schema: { openAPIV3Schema: schema },
    subresources: { status: {} },
    additionalPrinterColumns: [
      { name: 'Size', type: 'integer', jsonPath: '.spec.size' },
      { name: 'Reason', type: 'string', jsonPath: '.status.conditions[?(@.type=="Ready")].reason' },
      { name: 'Color', type: 'string', jsonPath: '.spec.color', priority: 1 },
    ],
  })
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: 'widgets.test.example.com' },
    spec: {
      group: 'test.example.com',
      scope: 'Namespaced',
      names: { plural: 'widgets', kind: 'Widget', shortNames: ['wd'] },
      versions: [version('v1alpha1', false), version('v1', true)],
    },
  }
}

export interface CallOptions {
  namespace?: string
  subresource?: string
  manager?: string
  dryRun?: boolean
  force?: boolean
}

export function aCluster(start = '2026-01-01T00:00:00Z') {
  let time = Date.parse(start)
  const cluster: Cluster = createCluster({ log: silent, now: () => new Date(time) })
  const at = (id: string, name: string, { namespace = 'default', subresource }: CallOptions = {}) => {
    const target = targetFor(cluster.kinds, id, { name, ...(subresource && { subresource }) })
    return target.kind.namespaced ? { ...target, namespace } : target
  }
  const writeOptions = ({ manager = 'test', dryRun = false, force = false }: CallOptions) => ({
    manager,
    dryRun,
    force,
  })
  return {
    ...cluster,
    advance(seconds: number) {
      time += seconds * 1000
    },
    create: (id: string, object: Fields, options: CallOptions = {}): ApiObject =>
      cluster.verbs.create(at(id, '', options), typed(at(id, ''), object), writeOptions(options)),
    patch: (id: string, name: string, type: PatchType, body: unknown, options: CallOptions = {}): ApiObject =>
      cluster.verbs.patch(
        at(id, name, options),
        type,
        type === 'apply' && isRecord(body) ? typed(at(id, ''), body) : body,
        writeOptions(options),
      ).object,
    get: (id: string, name: string, options: CallOptions = {}): ApiObject => cluster.verbs.get(at(id, name, options)),
    remove: (id: string, name: string, deleting: DeleteOptions = {}, options: CallOptions = {}): ApiObject | Status =>
      cluster.verbs.remove(at(id, name, options), deleting),
    has: (id: string, name: string, namespace: string | undefined = 'default'): boolean =>
      cluster.store.get(id, namespace, name) !== undefined,
  }
}

function typed({ kind, version }: Target, object: Fields): Fields {
  return { apiVersion: apiVersion(kind.group, version.name), kind: kind.kind, ...object }
}

export function aWidget(name: string, spec: Fields = {}, metadata: Fields = {}): Fields {
  return { metadata: { name, ...metadata }, spec: { size: 3, ...spec } }
}

/** The Status of a rejected call. */
export function rejectionOf(attempt: () => unknown): Status {
  try {
    attempt()
  } catch (error) {
    if (error instanceof ApiError) return error.status
    throw error
  }
  throw new Error('expected the call to be rejected')
}

/** Runs all pending setImmediate callbacks. */
export async function flushImmediates(): Promise<void> {
  for (let turn = 0; turn < 10; turn++) await new Promise(resolve => setImmediate(resolve))
}

export function specOf(object: ApiObject): Fields {
  return isRecord(object['spec']) ? object['spec'] : {}
}

export function statusOf(object: ApiObject): Fields {
  return isRecord(object['status']) ? object['status'] : {}
}
