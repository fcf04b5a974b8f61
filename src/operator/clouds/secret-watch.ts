/**
 * Watches the Secrets that OpenstackConfigs use, each by its name and no others. A change wakes the objects that use it,
 * and a sync reads it from the cache.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Kube } from '../../kube/api.ts'
import { isForbidden } from '../../kube/errors.ts'
import { createInformer, type Informer } from '../../kube/informer.ts'
import { secrets } from '../../kube/resources.ts'
import type { Key, SecretObject } from '../../kube/types.ts'
import type { Log } from '../../telemetry/log.ts'
import { configError } from '../sync-error.ts'

export interface SecretWatch {
  /** Returns the Secret. Its next change wakes `user`. */
  read(user: string, namespace: string, name: string): Promise<SecretObject | undefined>
  /** Stops watching for a deleted object. */
  forget(user: string): void
  close(): void
}

export interface SecretWatchOptions {
  kube: Pick<Kube, 'list' | 'watch'>
  /** Of the operator. */
  ownNamespace: string
  log: Log
  wake: (user: string) => void
}

interface Watched {
  informer: Informer<SecretObject>
  /** Resolves with the first list, or after the timeout. */
  listed: Promise<unknown>
  users: Set<string>
  stop: AbortController
}

/** If the watch takes longer to start, or is not allowed, the Secret is read directly. */
const watchTimeoutMs = 2_000

export function createSecretWatch({ kube, ownNamespace, log, wake }: SecretWatchOptions): SecretWatch {
  const watched = new Map<string, Watched>()

  function watch(namespace: string, name: string): Watched {
    const stop = new AbortController()
    const informer = createInformer(kube, secrets, { namespace, fieldSelector: selectorOf(name), log })
    const users = new Set<string>()
    // The first list is not a change.
    informer.on(() => {
      if (informer.synced) for (const user of users) wake(user)
    })
    const started = informer.start(stop.signal).catch(() => {})
    return { informer, users, stop, listed: Promise.race([started, sleep(watchTimeoutMs, undefined, { ref: false })]) }
  }

  return {
    async read(user, namespace, name) {
      const key = `${namespace}/${name}`
      const known = watched.get(key) ?? watch(namespace, name)
      watched.set(key, known)
      known.users.add(user)
      await known.listed
      if (known.informer.synced) return known.informer.get({ namespace, name })
      const { items } = await kube
        .list(secrets, { namespace, fieldSelector: selectorOf(name) })
        .catch(error => Promise.reject(isForbidden(error) ? missingRight({ namespace, name }, ownNamespace) : error))
      return items.find(({ metadata }) => metadata.name === name)
    },
    forget(user) {
      for (const [key, { users, stop }] of watched) {
        users.delete(user)
        if (users.size > 0) continue
        stop.abort()
        watched.delete(key)
      }
    },
    close() {
      for (const { stop } of watched.values()) stop.abort()
      watched.clear()
    },
  }
}

function missingRight({ namespace, name }: Key, ownNamespace: string): Error {
  const what = `the operator has no right to read the Secret ${name} in namespace ${namespace}`
  const account = `${ownNamespace}:multinic-operator`
  const binding = `kubectl -n ${namespace} create rolebinding multinic-operator-secrets --clusterrole=multinic-operator-secrets --serviceaccount=${account}`
  return configError([
    namespace === ownNamespace
      ? `${what}: add its name to operator.secretNames of the Helm chart`
      : `${what}: add a rule for the namespace to operator.namespaceRules of the Helm chart; without the chart, run ${binding}`,
  ])
}

/** With it, RBAC for this one Secret is sufficient. */
function selectorOf(name: string): string {
  return `metadata.name=${name}`
}
