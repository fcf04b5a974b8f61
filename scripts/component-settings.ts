/**
 * The settings of each component, and where the chart sets them: for the reference pages and the values of the chart.
 */
import { agentSettings, ignoredAgentSettings } from '../src/contract/agent-settings.ts'
import type { Setting, Settings } from '../src/contract/setting.ts'
import { controllerSettings } from '../src/controller/settings.ts'
import { inventorySettings } from '../src/inventory/config.ts'
import { processSettings } from '../src/operator/settings.ts'
import { violaSettings } from '../src/viola/config.ts'

export const componentSettings = {
  operator: processSettings,
  viola: violaSettings,
  inventory: inventorySettings,
  controller: controllerSettings,
} satisfies Record<string, Settings>

export const isOfAgent = (name: string) => name in agentSettings || name in ignoredAgentSettings

/** The value of the chart that sets the setting; null for none. */
export function helmPath(component: keyof typeof componentSettings, name: string, { helm }: Setting): string | null {
  if (helm !== undefined) return helm
  return `${isOfAgent(name) ? 'agent' : component}.settings.${name}`
}
