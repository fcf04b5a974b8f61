/**
 * The NetworkAttachmentDefinitions of Multus: one for each alias in each chosen namespace. Pure.
 *
 * The controller owns the plugin, the master and the MTU in the configuration of a definition that it created. All other
 * keys belong to the user, and so does every definition without the label of this controller.
 */
import { equalJson, isJsonObject } from '../../contract/json.ts'
import { type NodeConfig, nodeConfigGroup } from '../../contract/node-config.ts'
import { networkAttachments } from '../../kube/resources.ts'
import type { KubeObject } from '../../kube/types.ts'
import { isLegacyEntry } from '../plan/config-status.ts'
import { requestedOf } from '../plan/requested.ts'

export const attachmentPlugins = ['ipvlan', 'macvlan'] as const

export interface AttachmentSettings {
  /** None: the controller writes no definitions. */
  namespaces: string[]
  plugin: (typeof attachmentPlugins)[number]
  /** The `ipam` section by alias. Without one, the section in the definition stays as it is. */
  ipam: Record<string, object>
}

export type Attachment = KubeObject & { spec?: { config?: string } }

/** On each definition of a controller: the namespace of the controller. */
const attachmentLabel = `${nodeConfigGroup}/controller`

/** What the nodes have under one alias. */
export interface Network {
  /** Names of its interface, each with the first node that has it: more than one is a conflict. */
  interfaces: Map<string, string>
  /** The smallest one works on every node. Undefined if a node keeps the MTU of its device. */
  mtu: number | undefined
}

export function networksOf(configs: readonly NodeConfig[]): Map<string, Network> {
  const networks = new Map<string, Network>()
  for (const config of configs)
    for (const { alias, name, mtu } of aliasesOf(config)) {
      const known = networks.get(alias)
      if (!known) networks.set(alias, { interfaces: new Map([[name, config.spec.nodeName]]), mtu })
      else {
        if (!known.interfaces.has(name)) known.interfaces.set(name, config.spec.nodeName)
        known.mtu = known.mtu !== undefined && mtu !== undefined ? Math.min(known.mtu, mtu) : undefined
      }
    }
  return networks
}

/** What a config adds to the networks. */
export function aliasesOf(config: NodeConfig): { alias: string; name: string; mtu: number | undefined }[] {
  if (config.metadata.deletionTimestamp || isLegacyEntry(config)) return []
  return requestedOf(config).interfaces.flatMap(({ alias, name, mtu }) => (alias ? [{ alias, name, mtu }] : []))
}

export type AttachmentStep =
  | { do: 'create'; object: Attachment }
  | { do: 'update'; object: Attachment; config: string }
  | { do: 'delete'; object: Attachment }

export interface AttachmentPlan {
  steps: AttachmentStep[]
  /** Definitions that the controller leaves as they are, and why. */
  problems: string[]
}

/** The definitions of one namespace. `owner` is the namespace of the controller. */
export function planAttachments(
  namespace: string,
  existing: readonly Attachment[],
  networks: ReadonlyMap<string, Network>,
  settings: AttachmentSettings,
  owner: string,
): AttachmentPlan {
  const plan: AttachmentPlan = { steps: [], problems: [] }
  const isOwn = ({ metadata }: Attachment) => metadata.labels?.[attachmentLabel] === owner
  for (const object of existing)
    if (isOwn(object) && !networks.has(object.metadata.name)) plan.steps.push({ do: 'delete', object })
  for (const [alias, network] of networks) {
    const object = existing.find(({ metadata }) => metadata.name === alias)
    const problem = (why: string) => plan.problems.push(`${namespace}/${alias} ${why}`)
    const [first, second] = network.interfaces
    if (first && second)
      problem(`is not written: it is ${first[0]} on node ${first[1]} and ${second[0]} on node ${second[1]}`)
    else if (object && !isOwn(object))
      problem(`is not written: a definition without label ${attachmentLabel}=${owner} has the name`)
    else if (!object)
      plan.steps.push({ do: 'create', object: newAttachment(namespace, alias, network, settings, owner) })
    else {
      const before = parsed(object.spec?.config ?? '{}')
      if (!before) problem('is not updated: spec.config is not the configuration of a single plugin')
      else if (!isCurrent(before, ownKeys(alias, network, settings)))
        plan.steps.push({ do: 'update', object, config: textOf(before, ownKeys(alias, network, settings)) })
    }
  }
  return plan
}

type Config = Readonly<Record<string, unknown>>

function newAttachment(
  namespace: string,
  alias: string,
  network: Network,
  settings: AttachmentSettings,
  owner: string,
): Attachment {
  return {
    apiVersion: `${networkAttachments.group}/${networkAttachments.version}`,
    kind: networkAttachments.kind,
    metadata: { name: alias, namespace, labels: { [attachmentLabel]: owner } },
    spec: { config: textOf({ cniVersion: '0.3.1' }, ownKeys(alias, network, settings)) },
  }
}

/** Undefined removes a key. */
function ownKeys(alias: string, { interfaces, mtu }: Network, { plugin, ipam }: AttachmentSettings): Config {
  const [master] = interfaces.keys()
  return { type: plugin, master, mtu, ...(Object.hasOwn(ipam, alias) && { ipam: ipam[alias] }) }
}

function isCurrent(before: Config, own: Config): boolean {
  return Object.entries(own).every(([key, value]) => equalJson(value, before[key]))
}

/** Keys whose value is undefined are left out. */
function textOf(before: Config, own: Config): string {
  return JSON.stringify({ ...before, ...own }, null, 2)
}

/** Undefined also for what nests too deep to be written again. */
function parsed(text: string): Config | undefined {
  try {
    const config: unknown = JSON.parse(text)
    JSON.stringify(config)
    return isJsonObject(config) && !Object.hasOwn(config, 'plugins') ? config : undefined
  } catch {
    return undefined
  }
}
