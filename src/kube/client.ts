/**
 * A Kubernetes API over HTTP: get, list, watch, create, replace, patch, apply, delete.
 *
 * Knows paths, pages and patches; nothing of NICs.
 */
import { type Log, silent } from '../telemetry/log.ts'
import type { CollectionOptions, Kube, ListOptions, WriteOptions } from './api.ts'
import type { ClusterAccess } from './config.ts'
import { isGone, isNotFound, KubeError, kubeErrorIn } from './errors.ts'
import { apiVersionOf, collectionPath, objectPath, tidied } from './paths.ts'
import { type Answer, createTransport, type Request } from './transport.ts'
import type { KubeObject, Resource } from './types.ts'
import { usualTimes, type WatchTimes, watchStream } from './watch.ts'

export interface ConnectOptions {
  log?: Log
  requestTimeoutMs?: number
  /** Tries of a read in all, the first included. */
  attempts?: number
  /** The longest wait before a read is tried again, whatever the server asks for. */
  maxRetryDelayMs?: number
  /** How long watches last: for tests. */
  watchTimes?: WatchTimes
  /** Objects a page of a list. */
  pageSize?: number
}

export interface KubeClient extends Kube {
  readonly access: ClusterAccess
  /** Any request: the answer as it came. Throws KubeError for a status of 400 and above. */
  raw(method: Request['method'], path: string, body?: unknown, headers?: RawHeaders): Promise<Answer>
  close(): Promise<void>
}

export interface RawHeaders {
  accept?: string
  contentType?: string
}

export function connectKube(access: ClusterAccess, options: ConnectOptions = {}): KubeClient {
  const {
    log = silent,
    requestTimeoutMs = 30_000,
    attempts = 4,
    maxRetryDelayMs = 10_000,
    watchTimes = usualTimes,
    pageSize = 500,
  } = options
  const transport = createTransport(access, { log, requestTimeoutMs, attempts, maxRetryDelayMs })

  async function object<T extends KubeObject>(resource: Resource<T>, request: Request): Promise<T> {
    return tidied(resource, (await transport.send(request)).body as T)
  }

  async function pages<T extends KubeObject>(
    resource: Resource<T>,
    options: CollectionOptions<T>,
    limit: number | undefined,
  ) {
    const { keep = (object: T) => object } = options
    const items: T[] = []
    let resourceVersion = ''
    let next: string | undefined
    do {
      const { body } = await transport.send({
        method: 'GET',
        path: collectionPath(resource, options.namespace),
        query: { ...selectors(options), limit: limit?.toString(), continue: next },
        signal: options.signal,
      })
      const page = body as { items?: T[] | null; metadata?: { resourceVersion?: string; continue?: string } }
      for (const item of page.items ?? []) items.push(keep(tidied(resource, item)))
      resourceVersion = page.metadata?.resourceVersion ?? resourceVersion
      next = page.metadata?.continue
    } while (next)
    return { items, resourceVersion }
  }

  return {
    access,

    async get(resource, key) {
      try {
        return await object(resource, { method: 'GET', path: objectPath(resource, key) })
      } catch (error) {
        if (isMissingObject(error)) return undefined
        throw error
      }
    },

    async list(resource, options = {}) {
      for (let attempt = 1; ; attempt++) {
        try {
          // Pages that keep expiring are fetched as one in the end.
          return await pages(resource, options, attempt < 3 ? pageSize : undefined)
        } catch (error) {
          if (!isGone(error) || attempt >= 3) throw error
          log.debug('the list expired between pages', { resource: resource.plural, attempt })
        }
      }
    },

    watch: (resource, options) =>
      watchStream(
        transport,
        resource,
        {
          path: collectionPath(resource, options.namespace),
          query: { ...selectors(options), resourceVersion: options.resourceVersion },
          signal: options.signal,
        },
        watchTimes,
      ),

    create: (resource, body, options) =>
      object(resource, {
        method: 'POST',
        path: collectionPath(resource, namespaceFor(resource, body)),
        body: typed(resource, body),
        ...written(options),
      }),

    async replace(resource, body, options) {
      if (!body.metadata.resourceVersion)
        throw new KubeError(
          409,
          'Conflict',
          `${resource.kind} ${body.metadata.name}: replaced without a resourceVersion`,
        )
      return object(resource, {
        method: 'PUT',
        path: objectPath(resource, body.metadata),
        body: typed(resource, body),
        ...written(options),
      })
    },

    patch: (resource, key, body, options) =>
      object(resource, {
        method: 'PATCH',
        path: objectPath(resource, key),
        body,
        contentType: 'application/merge-patch+json',
        ...written(options),
      }),

    patchStatus: (resource, key, status, options = {}) =>
      object(resource, {
        method: 'PATCH',
        path: objectPath(resource, key, 'status'),
        body: { ...(options.resourceVersion && { metadata: { resourceVersion: options.resourceVersion } }), status },
        contentType: 'application/merge-patch+json',
        ...written(options),
      }),

    apply: (resource, body, options) =>
      object(resource, {
        method: 'PATCH',
        path: objectPath(resource, body.metadata, options.subresource),
        body: typed(resource, body),
        contentType: 'application/apply-patch+yaml',
        ...written(options, { fieldManager: options.fieldManager, force: options.force ? 'true' : undefined }),
      }),

    async delete(resource, key, options = {}) {
      const { propagation, uid } = options
      try {
        await transport.send({
          method: 'DELETE',
          path: objectPath(resource, key),
          body: {
            apiVersion: 'v1',
            kind: 'DeleteOptions',
            ...(propagation && { propagationPolicy: propagation }),
            ...(uid && { preconditions: { uid } }),
            // In the query it would be overlooked: a body makes the server ignore the query.
            ...(options.dryRun && { dryRun: ['All'] }),
          },
          signal: options.signal,
        })
      } catch (error) {
        if (!isNotFound(error)) throw error
      }
    },

    raw: (method, path, body, headers = {}) => transport.send({ method, path, body, ...headers }),

    close: () => transport.close(),
  }
}

function selectors({ labelSelector, fieldSelector }: ListOptions): Record<string, string | undefined> {
  return { labelSelector, fieldSelector }
}

function written(options: WriteOptions = {}, query: Record<string, string | undefined> = {}) {
  return { query: { ...query, dryRun: options.dryRun ? 'All' : undefined }, signal: options.signal }
}

function typed(resource: Resource, body: object): object {
  return { apiVersion: apiVersionOf(resource), kind: resource.kind, ...body }
}

function namespaceFor(resource: Resource, { metadata }: KubeObject): string | undefined {
  if (resource.namespaced && !metadata.namespace)
    throw new Error(`${resource.kind} ${metadata.name}: a namespace is needed`)
  return metadata.namespace
}

/** A 404 without a Status comes from a path that is not served: the kind itself is missing, which is a failure. */
function isMissingObject(error: unknown): boolean {
  const found = kubeErrorIn(error)
  return found?.status === 404 && found.details !== undefined
}
