/**
 * Keeps the NetworkAttachmentDefinitions in the chosen namespaces (ATTACHMENT_NAMESPACES).
 *
 * The CRD belongs to Multus and may come later or never. Problems are logged, and are warnings of /readyz: the NICs of the
 * nodes do not depend on them.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { equalJson } from '../../contract/json.ts'
import type { Kube } from '../../kube/api.ts'
import { runController } from '../../kube/controller.ts'
import { isAlreadyExists, isConflict, isNotFound } from '../../kube/errors.ts'
import { createInformer, type Informer } from '../../kube/informer.ts'
import { networkAttachments } from '../../kube/resources.ts'
import type { Key } from '../../kube/types.ts'
import { explain, messageOf } from '../../runtime/errors.ts'
import type { Log } from '../../telemetry/log.ts'
import type { Caches } from '../caches.ts'
import {
  type Attachment,
  type AttachmentSettings,
  type AttachmentStep,
  aliasesOf,
  networksOf,
  planAttachments,
} from './attachments.ts'

export interface AttachmentDeps {
  kube: Pick<Kube, 'list' | 'watch' | 'create' | 'patch' | 'delete'>
  configs: Caches['configs']
  settings: AttachmentSettings
  /** The namespace of the controller. */
  owner: string
  log: Log
  signal: AbortSignal
}

export interface Attachments {
  stopped: Promise<void>
  warnings(): string[]
}

/** How often to look for the CRD, or for a permission. */
const recheckMs = 5_000
/** One key: a network is the sum of all configs. */
const all = 'all'

export function runAttachments(deps: AttachmentDeps): Attachments {
  const { kube, configs, settings, owner, log, signal } = deps
  const informers = new Map(
    settings.namespaces.map(namespace => [
      namespace,
      createInformer(kube, networkAttachments, { namespace, log, keep: trimAttachment }),
    ]),
  )
  /** By namespace: why its definitions cannot be listed. */
  const unreadable = new Map<string, string>()
  let problems: string[] = []

  function report(found: string[]): void {
    for (const problem of found.filter(one => !problems.includes(one)))
      log.warn('cannot keep NetworkAttachmentDefinition', { problem })
    problems = found
  }

  async function reconcile(): Promise<void> {
    const networks = networksOf(configs.list())
    const found: string[] = []
    const failures: unknown[] = []
    for (const [namespace, informer] of informers) {
      if (!informer.synced) continue
      const plan = planAttachments(namespace, informer.list(), networks, settings, owner)
      found.push(...plan.problems)
      for (const step of plan.steps)
        try {
          await apply(kube, step)
          log.info('NetworkAttachmentDefinition changed', { step: step.do, namespace, name: step.object.metadata.name })
        } catch (error) {
          // Another writer was faster: the watch shows its version and wakes us.
          if (isConflict(error) || isAlreadyExists(error)) continue
          failures.push(explain(`cannot ${step.do} ${namespace}/${step.object.metadata.name}`, error))
        }
    }
    report([...found, ...failures.map(messageOf)])
    if (failures.length > 0) throw failures[0]
  }

  const controller = runController({
    ...{ name: 'attachments', workers: 1, log, signal, drainMs: 700 },
    reconcile,
  })
  const wake = () => controller.wake(all)
  const stops = [
    configs.on(({ type, object, old }) => {
      // Most events are about the status of a node.
      if (type === 'updated' && old && equalJson(aliasesOf(object), aliasesOf(old))) return
      wake()
    }),
    ...[...informers.values()].flatMap(informer => [informer.on(wake), informer.onList(wake)]),
  ]
  void controller.stopped.then(() => {
    for (const stop of stops) stop()
  })
  for (const [namespace, informer] of informers) void startWhenReadable(namespace, informer)

  /** Without the CRD or a permission, the others go on. */
  async function startWhenReadable(namespace: string, informer: Informer<Attachment>): Promise<void> {
    try {
      for (;;) {
        const problem = await whyUnreadable(kube, namespace, signal)
        if (problem === undefined) break
        if (unreadable.get(namespace) !== problem)
          log.warn('cannot read NetworkAttachmentDefinitions', { namespace, problem })
        unreadable.set(namespace, problem)
        await sleep(recheckMs, undefined, { signal })
      }
      unreadable.delete(namespace)
      await informer.start(signal)
    } catch (error) {
      if (!signal.aborted) log.error('NetworkAttachmentDefinitions are not kept', { namespace, error })
    }
  }

  return {
    stopped: controller.stopped,
    warnings() {
      const lost = [...informers].flatMap(([namespace, informer]) => {
        const problem = informer.synced ? informer.problem() : undefined
        return problem === undefined ? [] : [`namespace ${namespace}: ${problem}`]
      })
      const all = new Set([...unreadable.values(), ...lost, ...problems])
      return [...all].map(one => `NetworkAttachmentDefinitions: ${one}`)
    },
  }
}

async function whyUnreadable(
  kube: Pick<Kube, 'list'>,
  namespace: string,
  signal: AbortSignal,
): Promise<string | undefined> {
  const { group, plural } = networkAttachments
  try {
    await kube.list(networkAttachments, { namespace, signal, keep: trimAttachment })
    return undefined
  } catch (error) {
    if (isNotFound(error)) return `CRD ${plural}.${group} is not in this cluster: install Multus`
    return `namespace ${namespace}: ${messageOf(error)}`
  }
}

async function apply(kube: AttachmentDeps['kube'], step: AttachmentStep): Promise<void> {
  const { name, namespace, uid, resourceVersion } = step.object.metadata
  const key: Key = { name, ...(namespace && { namespace }) }
  if (step.do === 'create') await kube.create(networkAttachments, step.object)
  else if (step.do === 'delete') await kube.delete(networkAttachments, key, { ...(uid && { uid }) })
  // With the version, an edit of the user in between survives.
  else await kube.patch(networkAttachments, key, { metadata: { resourceVersion }, spec: { config: step.config } })
}

function trimAttachment({ apiVersion, kind, metadata, spec }: Attachment): Attachment {
  const { name, namespace, uid, resourceVersion, labels } = metadata
  return {
    apiVersion,
    kind,
    metadata: {
      name,
      ...(namespace && { namespace }),
      ...(uid && { uid }),
      ...(resourceVersion && { resourceVersion }),
      ...(labels && { labels }),
    },
    ...(spec && { spec }),
  }
}
