/**
 * Faults that a sandbox with real services cannot inject.
 */
import { type FaultName, faultNames } from './catalogue.ts'

export interface RealServices {
  kubernetes?: boolean | undefined
  /** With real Kubernetes only, in the isolation of a test. */
  kubelets?: boolean | undefined
  openstack?: boolean | undefined
}

const needsSimulated: Record<'kubernetes' | 'openstack', readonly FaultName[]> = {
  kubernetes: ['conflicts', 'compacted-watches'],
  openstack: [
    ...(['short-tokens', 'lost-role', 'small-pages', 'wrong-clock'] as const),
    ...(['lost-notifications', 'duplicated-notifications', 'reordered-notifications'] as const),
    ...(['lost-broker', 'restarted-broker'] as const),
  ],
}

/** Why the fault is not available; undefined if it is. */
export function unavailable(name: FaultName, real: RealServices): string | undefined {
  const service = (['kubernetes', 'openstack'] as const).find(each => real[each] && needsSimulated[each].includes(name))
  return service && `${name}: not available with --${service} real`
}

export function availableFaults(real: RealServices): FaultName[] {
  return faultNames.filter(name => unavailable(name, real) === undefined)
}
