/**
 * The verdicts of an OpenstackConfig as writes to the inventory: those on the VMs that differ from what it has, or all of
 * them if that is not known. Each write replaces what the inventory has about a range of VMs. Pure.
 */
import { maxWrites } from '../../contract/inventory.ts'
import { equalJson } from '../../contract/json.ts'
import { maxVerdictsPerWrite, type StoredPlan, type VerdictWrite } from '../../contract/operator-api.ts'
import { truncate } from '../../contract/truncate.ts'
import type { Verdict } from '../plan/verdicts.ts'

/** The verdicts of one OpenstackConfig after a sync. */
export interface ObjectVerdicts {
  /** namespace/name. */
  config: string
  providerId: string
  /** Undefined after its deletion. */
  verdicts: readonly Verdict[] | undefined
  /** What the sync planned. */
  plan?: StoredPlan
  /** Of the last sync, from the status: after a restart nothing else says that the object has moved. */
  providerBefore?: string
}

type StoredVerdict = VerdictWrite['verdicts'][number]

/** A VM with more verdicts has the first ones. With a write of this many, the next VM still fits. */
const maxVerdictsPerVm = 500
const fullWrite = maxVerdictsPerWrite - maxVerdictsPerVm
/** Ports may have long lists of address pairs. */
const fullWriteBytes = 1024 * 1024

/** `stored`: what the inventory has. Undefined: not known. */
export function* verdictChanges(now: ObjectVerdicts, stored: ObjectVerdicts | undefined): Generator<VerdictWrite> {
  const { config, providerId, verdicts } = now
  const providerBefore = stored?.providerId ?? now.providerBefore ?? providerId
  const isMoved = providerBefore !== providerId
  if (isMoved) yield { config, providerId: providerBefore, removed: true, verdicts: [] }
  if (!verdicts) {
    yield { config, providerId, removed: true, verdicts: [] }
    return
  }
  // A range without VMs: it replaces no verdict.
  if (now.plan && (isMoved || !equalJson(stored?.plan, now.plan)))
    yield { config, providerId, after: '', upTo: '', verdicts: [], plan: now.plan }
  const known = stored?.verdicts && !isMoved ? byVm(stored.verdicts) : undefined
  const current = byVm(verdicts)
  let write: VerdictWrite | undefined
  let bytes = 0
  let vms = 0
  let previous: string | undefined
  const start = (): VerdictWrite => {
    ;[bytes, vms] = [0, 0]
    return { config, providerId, ...(previous !== undefined && { after: previous }), verdicts: [] }
  }
  for (const vm of inByteOrder([...new Set([...current.keys(), ...(known?.keys() ?? [])])])) {
    const ofVm = current.get(vm) ?? []
    if (!known || !equalJson(known.get(vm), current.get(vm))) {
      write ??= start()
      for (const verdict of ofVm.slice(0, maxVerdictsPerVm).map(toStored)) {
        write.verdicts.push(verdict)
        bytes += bytesOf(verdict)
      }
      write.upTo = vm
      vms++
    }
    previous = vm
    // The records of the same VMs must fit into the same request.
    const isFull = vms >= maxWrites || bytes >= fullWriteBytes || (write?.verdicts.length ?? 0) >= fullWrite
    if (write && (write.upTo !== vm || isFull)) {
      yield write
      write = undefined
    }
  }
  if (known) {
    if (write) yield write
    return
  }
  const { upTo: _, ...open } = write ?? start()
  yield open
}

function byVm(verdicts: readonly Verdict[]): Map<string, Verdict[]> {
  return Map.groupBy(verdicts, ({ vm }) => truncate(vm, 255))
}

/** As databases compare texts. It differs from the order of JavaScript only for characters beyond 16 bits. */
function inByteOrder(texts: string[]): string[] {
  if (!texts.some(text => /[\ud800-\udfff]/.test(text))) return texts.sort()
  return texts
    .map(text => Buffer.from(text))
    .sort(Buffer.compare)
    .map(String)
}

/** Texts of the cloud are made fit to be stored: a text that the inventory refuses would hold up the records. */
function toStored({ vm, vmName, portId, reason, message, name, portSecurity }: Verdict): StoredVerdict {
  return {
    vm: truncate(vm, 255),
    ...(vmName !== undefined && { vmName }),
    ...(portId !== undefined && { portId: truncate(portId, 255) }),
    reason,
    message: truncate(message, 1_024),
    ...(name !== undefined && { name }),
    ...(portSecurity && { portSecurity }),
  }
}

function bytesOf({ message, portSecurity }: StoredVerdict): number {
  return 300 + message.length + 100 * (portSecurity?.allowedAddressPairs.length ?? 0)
}
