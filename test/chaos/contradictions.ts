/**
 * What the surfaces of a node say and its kernel denies, or the other way round. Pure.
 */
import { stages } from '../../src/contract/stages.ts'
import { countsOf } from '../../web/model/nodes.ts'
import { claimsOf } from './claims.ts'
import { nodeContradictions } from './node-claims.ts'
import { kernelNic, matchesKernel, type Surfaces, type WantedNic } from './surfaces.ts'

/** After a check: what any surface says and the kernel denies, or the other way round. */
export function contradictions(surfaces: Surfaces): string[] {
  const { config, record, status, dashboard } = surfaces
  if (!config) return dashboard && dashboard.nics.length > 0 ? ['the dashboard shows NICs of a node without a CR'] : []
  const wanted = config.spec.interfaces
  const matching = wanted.filter(nic => matchesKernel(surfaces, nic)).length
  const found = wanted.flatMap(nic => {
    const matches = matchesKernel(surfaces, nic)
    const kernel = JSON.stringify(kernelNic(surfaces, nic) ?? 'no such NIC')
    const claims = Object.entries(claimsOf(surfaces, nic))
      .filter(([, claim]) => claim !== matches)
      .map(([surface, claim]) => `${surface} says ${claim ? '' : 'not '}as requested`)
    return [...claims, ...observationErrors(surfaces, nic)].map(text => `${nic.name}: ${text}; ip says ${kernel}`)
  })
  const counts: Record<string, [string | undefined, string]> = {
    'the NICs of the CR': [config.status?.nics, `${matching}/${wanted.length}`],
    'the NICs of the inventory': [`${record?.config.interfaces.length ?? 0}`, `${wanted.length}`],
    'the NICs of multinic status': [`${status?.interfaces.length ?? 0}`, `${wanted.length}`],
  }
  if (dashboard) {
    const { configured, nics } = countsOf([dashboard])
    counts['the NICs of the dashboard'] = [`${configured}/${nics}`, `${matching}/${wanted.length}`]
  }
  const wrong = Object.entries(counts).filter(([, [is, expected]]) => is !== expected)
  const ofNode = nodeContradictions(surfaces, { matching, wanted: wanted.length })
  return [...found, ...wrong.map(([what, [is, expected]]) => `${what} are ${is}, expected ${expected}`), ...ofNode]
}

/** Observed values that differ from the kernel. */
export function observationErrors(surfaces: Surfaces, nic: WantedNic): string[] {
  const { config, record, dashboard } = surfaces
  const kernel = kernelNic(surfaces, nic)
  const observations = {
    'the CR': config?.status?.interfaceStatuses?.find(({ macAddress }) => macAddress === nic.macAddress)?.observed,
    'the inventory': record?.interfaces?.find(({ macAddress }) => macAddress === nic.macAddress)?.observed,
    'the dashboard': dashboard?.nics.find(({ macAddress }) => macAddress === nic.macAddress)?.observed,
  }
  return Object.entries(observations).flatMap(([surface, observed]) => {
    if (!observed || !kernel) return []
    const { name, mtu, link, addresses = [] } = observed
    const isSame =
      name === kernel.name &&
      mtu === kernel.mtu &&
      (link === 'up') === kernel.up &&
      kernel.addresses.every(address => addresses.includes(address))
    return isSame ? [] : [`${surface} observed ${JSON.stringify(observed)}`]
  })
}

/** What can never be right, whatever is in progress. */
export function impossibilities({ at, config, record }: Surfaces): string[] {
  const found: string[] = []
  for (const nic of record?.interfaces ?? []) {
    const times = stages.flatMap(stage => nic.stages?.[stage] ?? [])
    if (times.some((time, index) => Date.parse(time) < Date.parse(times[index - 1] ?? time)))
      found.push(`${nic.name}: stages in the order ${times.join()}`)
    const inConfig = config?.status?.interfaceStatuses?.find(({ macAddress }) => macAddress === nic.macAddress)
    for (const [surface, time] of [
      ['the inventory', nic.lastChecked],
      ['the CR', inConfig?.lastChecked],
    ])
      if (time !== undefined && Date.parse(time) > at) found.push(`${nic.name}: ${surface} was checked in the future`)
    if (nic.lastChecked && inConfig?.lastChecked && nic.lastChecked > inConfig.lastChecked)
      found.push(`${nic.name}: the inventory has an observation that the CR does not have`)
  }
  return found
}
