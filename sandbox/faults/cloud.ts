/**
 * Faults of the cloud: most set a value in the fault record of the cloud state; some are actions of Keystone.
 */
import type { Cloud } from '../cloud/cloud.ts'
import { responseFaults } from '../cloud/response-faults.ts'
import { type CloudFaults, type CloudState, noFaults, services } from '../cloud/state.ts'
import type { FaultInjector } from './active-faults.ts'
import type { CloudFaultName, ResponseFaultName } from './catalogue.ts'

export function cloudInjectors(
  { faults }: CloudState,
  cloud: Cloud,
): Record<ResponseFaultName | CloudFaultName, FaultInjector> {
  const setting =
    <K extends keyof CloudFaults>(key: K, value: CloudFaults[K], also: () => unknown = () => {}): FaultInjector =>
    async () => {
      faults[key] = value
      await also()
      return async () => {
        faults[key] = noFaults[key]
      }
    }
  const responses = services.flatMap(service =>
    responseFaults.map((fault): [string, FaultInjector] => [
      `${fault}-${service}`,
      async () => {
        faults[fault] = [...faults[fault], service]
        return async () => {
          faults[fault] = faults[fault].filter(each => each !== service)
        }
      },
    ]),
  )
  return {
    ...(Object.fromEntries(responses) as Record<ResponseFaultName, FaultInjector>),
    'revoked-tokens': async () => {
      await cloud.revokeTokens()
      return async () => {}
    },
    'short-tokens': setting('tokenSeconds', 2, () => cloud.revokeTokens()),
    'lost-role': setting('roleLost', true),
    'small-pages': setting('pageLimit', 2),
    'wrong-clock': setting('clockAheadSeconds', 3600),
  }
}
