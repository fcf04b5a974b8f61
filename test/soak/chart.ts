/**
 * What the chart ships, for production by default: replicas, settings and memory limit of each component.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'yaml'
import type { ComponentName } from './names.ts'

export interface Shipped {
  replicas: number
  settings: Record<string, string>
  memoryMib: number
}

type ComponentValues = Partial<Pick<Shipped, 'replicas' | 'settings'>> & {
  resources?: { limits: { memory: string } }
}

/** The controller runs in the Biz cluster, the others in the management cluster. */
const files: Record<ComponentName, string> = {
  operator: 'values-mgmt.yaml',
  viola: 'values-mgmt.yaml',
  inventory: 'values-mgmt.yaml',
  controller: 'values-production.yaml',
}

export function shippedFor(component: ComponentName, file = files[component]): Shipped {
  const valuesOf = (file: string): ComponentValues =>
    parse(readFileSync(join(import.meta.dirname, '../../deployments/helm', file), 'utf8'))[component]
  const { replicas = 1, settings = {}, resources } = { ...valuesOf('values.yaml'), ...valuesOf(file) }
  const [, mib] = /^(\d+)Mi$/.exec(resources?.limits.memory ?? '') ?? []
  return { replicas, settings, memoryMib: Number(mib) }
}
