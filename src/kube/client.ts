/**
 * Client of a Kubernetes API: get, list, watch, create, replace, patch, apply, delete.
 */
import type { StartCall } from '../telemetry/client-metrics.ts'
import { type Log, silent } from '../telemetry/log.ts'
import type { CollectionOptions, Kube, ListOptions, WriteOptions } from './api.ts'
import type { ClusterAccess } from './config.ts'
import { isGone, isNotFound, KubeError, kubeErrorIn } from './errors.ts'
import { apiVersionOf, collectionPath, normalized, objectPath } from './paths.ts'
import { createTransport, type KubeResponse, type Request } from './transport.ts'
import type { KubeObject, Resource } from './types.ts'
import { defaultWatchTimes, type WatchTimes, watchStream } from './watch.ts'
import { maxKeptBytes, perPage, weightOf } from './weight.ts'

export interface ConnectOptions {
  log?: Log
  requestTimeoutMs?: number
  /** Attempts of a read in total. */
  attempts?: number
  /** The maximum delay before a read is retried, whatever Retry-After says. */
  maxRetryDelayMs?: number
  /** Duration of watches, for tests. */
  watchTimes?: WatchTimes
  /** Objects per page of a list. */
  pageSize?: number
  startCall?: StartCall | undefined
}

export interface KubeClient extends Kube {
  readonly access: ClusterAccess
  /** Any request, with the response unchanged. Throws KubeError for a status of 300 and above. */
  raw(method: Request['method'], path: string, body?: unknown, headers?: RawHeaders): Promise<KubeResponse>
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
    watchTimes = defaultWatchTimes,
    pageSize = 200,
    startCall,
  } = options
  const transport = createTransport(access, { log, requestTimeoutMs, attempts, maxRetryDelayMs, startCall })

  async function object<T extends KubeObject>(resource: Resource<T>, request: Request): Promise<T> {
    return normalized(resource, (await transport.send(request)).body as T)
  }

  async function pages<T extends KubeObject>(
    resource: Resource<T>,
    options: CollectionOptions<T>,
    limit: number | undefined,
  ) {
    const { keep = (object: T) => object } = options
    const items: T[] = []
    let kept = 0
    let resourceVersion = ''
    let next: string | undefined
    do {
      const { body } = await transport.send({
        method: 'GET',
        path: collectionPath(resource, options.namespace),
        query: { ...selectors(options), limit: limit?.toString(), continue: next },
        signal: options.signal,
      })
      const page = pageOf<T>(resource, body)
      kept += perPage
      for (const item of page.items ?? []) {
        const object = keep(normalized(resource, item))
        kept += weightOf(object)
        items.push(object)
        if (kept > maxKeptBytes) break
      }
      if (kept > maxKeptBytes) throw new Error(`list of ${resource.plural}: more than ${maxKeptBytes} bytes`)
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
          // The last attempt reads the list as one page, which cannot expire.
          return await pages(resource, options, attempt < 3 ? pageSize : undefined)
        } catch (error) {
          if (!isGone(error) || attempt >= 3) throw error
          log.debug('list expired between pages, reading it again', { resource: resource.plural, attempt })
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
          onOpen: options.onOpen,
        },
        watchTimes,
      ),

    create: (resource, body, options) =>
      object(resource, {
        method: 'POST',
        path: collectionPath(resource, namespaceFor(resource, body)),
        body: withType(resource, body),
        ...writeParameters(options),
      }),

    async replace(resource, body, options) {
      if (!body.metadata.resourceVersion)
        throw new KubeError(409, 'Conflict', `${resource.kind} ${body.metadata.name}: replace needs a resourceVersion`)
      return object(resource, {
        method: 'PUT',
        path: objectPath(resource, body.metadata),
        body: withType(resource, body),
        ...writeParameters(options),
      })
    },

    patch: (resource, key, body, options) =>
      object(resource, {
        method: 'PATCH',
        path: objectPath(resource, key),
        body,
        contentType: Array.isArray(body) ? 'application/json-patch+json' : 'application/merge-patch+json',
        ...writeParameters(options),
      }),

    patchStatus: (resource, key, status, options = {}) =>
      object(resource, {
        method: 'PATCH',
        path: objectPath(resource, key, 'status'),
        body: { ...(options.resourceVersion && { metadata: { resourceVersion: options.resourceVersion } }), status },
        contentType: 'application/merge-patch+json',
        ...writeParameters(options),
      }),

    apply: (resource, body, options) =>
      object(resource, {
        method: 'PATCH',
        path: objectPath(resource, body.metadata, options.subresource),
        body: withType(resource, body),
        contentType: 'application/apply-patch+yaml',
        ...writeParameters(options, { fieldManager: options.fieldManager, force: options.force ? 'true' : undefined }),
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
            // Not in the query: the server ignores the query of a DELETE with a body.
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

interface Page<T> {
  items: T[] | null
  metadata?: { resourceVersion?: string; continue?: string }
}

/** Something else, such as the page of a proxy, must not pass for an empty list: all objects would seem to be deleted. */
function pageOf<T>(resource: Resource, body: unknown): Page<T> {
  const items = typeof body === 'object' && body !== null && 'items' in body ? body.items : undefined
  if (items !== null && !Array.isArray(items)) throw new Error(`list of ${resource.plural}: the response is not a list`)
  return body as Page<T>
}

function selectors({ labelSelector, fieldSelector }: ListOptions): Record<string, string | undefined> {
  return { labelSelector, fieldSelector }
}

function writeParameters(options: WriteOptions = {}, query: Record<string, string | undefined> = {}) {
  return { query: { ...query, dryRun: options.dryRun ? 'All' : undefined }, signal: options.signal }
}

function withType(resource: Resource, body: object): object {
  return { apiVersion: apiVersionOf(resource), kind: resource.kind, ...body }
}

function namespaceFor(resource: Resource, { metadata }: KubeObject): string | undefined {
  if (resource.namespaced && !metadata.namespace)
    throw new Error(`${resource.kind} ${metadata.name}: metadata.namespace is required`)
  return metadata.namespace
}

/** A 404 without details means that the kind does not exist: that is an error, unlike a missing object. */
function isMissingObject(error: unknown): boolean {
  const found = kubeErrorIn(error)
  return found?.status === 404 && found.details !== undefined
}
