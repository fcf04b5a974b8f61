/**
 * The Secrets that OpenstackConfigs use, and no others: each is watched by its name, so a change wakes the objects that
 * use it and a sync need not read it again.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Kube } from '../kube/api.ts'
import { createInformer, type Informer } from '../kube/informer.ts'
import { secrets } from '../kube/resources.ts'
import type { SecretObject } from '../kube/types.ts'
import type { Log } from '../telemetry/log.ts'

export interface SecretWatch {
  /** The Secret as it is now; its next change wakes `user`. */
  read(user: string, namespace: string, name: string): Promise<SecretObject | undefined>
  /** The object is gone. */
  forget(user: string): void
  close(): void
}

export interface SecretWatchOptions {
  kube: Pick<Kube, 'list' | 'watch'>
  log: Log
  wake: (user: string) => void
}

interface Watched {
  informer: Informer<SecretObject>
  /** Settles with the first list, or when it was waited for long enough. */
  listed: Promise<unknown>
  users: Set<string>
  stop: AbortController
}

/** A Secret whose watch takes longer to start, or may not be watched, is read instead. */
const patienceMs = 2_000

export function createSecretWatch({ kube, log, wake }: SecretWatchOptions): SecretWatch {
  const watched = new Map<string, Watched>()

  function watch(namespace: string, name: string): Watched {
    const stop = new AbortController()
    const informer = createInformer(kube, secrets, { namespace, fieldSelector: selectorOf(name), log })
    const users = new Set<string>()
    // What the first list tells is no change.
    informer.on(() => {
      if (informer.synced) for (const user of users) wake(user)
    })
    const started = informer.start(stop.signal).catch(() => {})
    return { informer, users, stop, listed: Promise.race([started, sleep(patienceMs, undefined, { ref: false })]) }
  }

  return {
    async read(user, namespace, name) {
      const key = `${namespace}/${name}`
      const known = watched.get(key) ?? watch(namespace, name)
      watched.set(key, known)
      known.users.add(user)
      await known.listed
      if (known.informer.synced) return known.informer.get({ namespace, name })
      const { items } = await kube.list(secrets, { namespace, fieldSelector: selectorOf(name) })
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

/** So that the right to list and watch this one Secret is enough. */
function selectorOf(name: string): string {
  return `metadata.name=${name}`
}
