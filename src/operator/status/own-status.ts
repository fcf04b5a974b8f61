/**
 * What the operator decides by, as this leader wrote it last. Somebody may edit a status: without this, a used approval would
 * be a new one, a removal on hold would start, and a move would begin that nobody asked for. The next write puts it right.
 *
 * A leader that starts believes what it finds. The status of a backup belongs to its annotations: an older object is believed.
 */
import { equalJson } from '../../contract/json.ts'
import type { OpenstackConfig, OpenstackConfigStatus } from '../../contract/openstack-config.ts'
import { keyOf } from '../../kube/keys.ts'
import { createObjectMemory, type ObjectMemory } from '../../runtime/object-memory.ts'

const decisive = ['heldRemovals', 'approvedRemovals', 'resolvedNames', 'resolvedSubnets', 'renumber'] as const
type Decisive = Pick<OpenstackConfigStatus, (typeof decisive)[number]>

/** Of an object, when its status was written. */
interface Version {
  uid?: string | undefined
  resourceVersion?: string | undefined
}

export interface OwnStatuses {
  /** The object with what we wrote last: the same object unless somebody edited it. */
  of(config: OpenstackConfig): OpenstackConfig
  /** Before the write: its response may be lost. */
  writing(config: OpenstackConfig, status: OpenstackConfigStatus): void
  clear(): void
}

export function createOwnStatuses(memory: ObjectMemory = createObjectMemory()): OwnStatuses {
  const written = memory.slot<Version & { values: Decisive }>()
  return {
    of(config) {
      const own = written.get(keyOf(config))
      if (!own || isOther(config.metadata, own) || equalJson(decisiveOf(config.status), own.values)) return config
      const rest = Object.entries(config.status ?? {}).filter(([key]) => !decisive.some(one => one === key))
      return { ...config, status: { ...Object.fromEntries(rest), ...own.values } }
    },
    writing(config, status) {
      const { uid, resourceVersion } = config.metadata
      written.set(keyOf(config), { uid, resourceVersion, values: decisiveOf(status) })
    },
    clear: () => written.clear(),
  }
}

function decisiveOf(status: OpenstackConfigStatus = {}): Decisive {
  return Object.fromEntries(decisive.flatMap(key => (status[key] === undefined ? [] : [[key, status[key]]])))
}

/** Created again, or restored from a backup. */
function isOther(now: Version, before: Version): boolean {
  return now.uid !== before.uid || Number(now.resourceVersion) < Number(before.resourceVersion)
}
