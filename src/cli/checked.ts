/**
 * Data of `check`: the interfaces that are not as requested, or that nobody has verified lately. Pure.
 */
import { comparisonsOf, deviationOf } from '../contract/deviations.ts'
import type { Deviation, InventoryRecord } from '../contract/inventory.ts'
import { type Observation, observationOf } from '../contract/observation.ts'
import type { OperatorVerdict } from '../contract/operator-api.ts'
import { providerNameIn } from '../contract/provider-name.ts'
import { waysIn } from '../contract/routing-messages.ts'
import { undeliveredIn } from '../contract/verdict-kind.ts'

export interface CheckedNic extends Deviation, Observation {
  /** False for a selected port that no node has. `nodeName` is then the VM. */
  delivered: boolean
  /** What the agent reported about packets that take an unexpected way. */
  ways?: { text: string; to: string }[]
}

export function checked(
  records: readonly InventoryRecord[],
  verdicts: readonly OperatorVerdict[],
  now: Date,
): { nics: CheckedNic[]; wrong: CheckedNic[] } {
  const compared = records.flatMap(record =>
    comparisonsOf(record).map(comparison => {
      const seen = observationOf(comparison.state ?? {}, now)
      const ways = waysIn(comparison.state?.message ?? '')
      const about = ways.length > 0 ? { ways } : {}
      const nic: CheckedNic = { ...deviationOf(record, comparison), ...seen, delivered: true, ...about }
      return { nic, isGood: comparison.matches && nic.notVerifiedSince === undefined }
    }),
  )
  const ports = records.flatMap(({ config }) => config.interfaces.map(({ portId }) => portId))
  const byProvider = Map.groupBy(records, record => record.providerId)
  const undelivered = undeliveredIn(verdicts, ports).map(
    ({ providerId = '', vm, name = '', portId = '' }): CheckedNic => {
      const providerName = providerNameIn(byProvider.get(providerId) ?? [])
      return {
        ...{ providerId, nodeName: vm, interface: name, portId },
        ...(providerName && { providerName }),
        status: 'Pending',
        differences: [],
        delivered: false,
      }
    },
  )
  return {
    nics: compared.map(({ nic }) => nic),
    wrong: [...compared.filter(({ isGood }) => !isGood).map(({ nic }) => nic), ...undelivered],
  }
}
