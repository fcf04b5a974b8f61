/**
 * The operator's own settings, from its environment; and the settings of one sync, from the OpenstackConfig, then the
 * environment, then the default.
 */
import { z } from 'zod'
import { parseDuration } from '../contract/duration.ts'
import {
  type SettingName,
  type Settings,
  settingDefaults,
  settingEnvironment,
  settings as settingsSchema,
} from '../contract/settings.ts'
import { withoutSlash } from '../contract/url.ts'
import { type Environment, settingsFrom } from '../runtime/env.ts'
import { traceSettings } from '../telemetry/trace-export.ts'
import { configError } from './sync-error.ts'

const flag = z.enum(['true', 'false'], { error: 'must be true or false' }).transform(word => word === 'true')
const list = z.string().transform(text =>
  text
    .split(',')
    .map(word => word.trim())
    .filter(word => word !== ''),
)

function said<T extends z.ZodType>(description: string, setting: T): T {
  return setting.meta({ description })
}
const optional = (description: string) => said(description, z.string().optional())

/** The environment of the process; what may also stand in an object is in src/contract/settings.ts. */
export const processSettings = z.object({
  KUBECONFIG: optional('Access to the management cluster; without it the ServiceAccount of the Pod is used.'),
  KUBERNETES_SERVICE_HOST: optional('Set by Kubernetes in every Pod.'),
  KUBERNETES_SERVICE_PORT: optional('Set by Kubernetes in every Pod.'),
  OPERATOR_ADDR: said('Where health, readiness, numbers and the operator’s API listen.', z.string().default(':8081')),
  OPERATOR_TOKENS_FILE: optional(
    'Callers of the operator’s API and their Biz clusters. Default: INVENTORY_TOKENS_FILE. Without either, plans are refused.',
  ),
  INVENTORY_TOKENS_FILE: optional(
    'Callers of the inventory. Without either file, anyone who reaches the API can read.',
  ),
  OPERATOR_WORKERS: said(
    'Objects that are synced at once; those of one cloud take at most a tenth of them.',
    z.coerce.number().int().min(1).max(1000).default(100),
  ),
  WATCH_NAMESPACES: said('Namespaces whose objects are synced, with commas between; none means all.', list.default([])),
  LEADER_ELECT: said('Several replicas: only the holder of the Lease works.', flag.default(false)),
  POD_NAMESPACE: said(
    'Namespace of the Lease and of the records of a Viola that does not tell what it holds.',
    z.string().default('multinic-operator-system'),
  ),
  POD_NAME: optional('Name in the Lease; without it the host’s name.'),
  CONTRABASS_CA_FILE: optional('Certificates that Contrabass is trusted by, instead of those of the system.'),
  OPENSTACK_CA_FILE: optional('The same for Keystone, Neutron and Nova.'),
  VIOLA_CA_FILE: optional('The same for Viola.'),
  VIOLA_TOKEN_FILE: optional('Bearer token for the Viola of VIOLA_ENDPOINT; read again when it changes.'),
  VIOLA_CLIENT_CERT_FILE: optional('Client certificate for the Viola of VIOLA_ENDPOINT.'),
  VIOLA_CLIENT_KEY_FILE: optional('Its key.'),
  INVENTORY_URL: said(
    'Base address of an inventory that runs on its own; without it the operator holds one itself.',
    z.url({ protocol: /^https?$/, error: 'must be an http or https address' }).optional(),
  ),
  INVENTORY_TOKEN_FILE: optional('Bearer token (role admin) for the inventory of INVENTORY_URL.'),
  INVENTORY_CA_FILE: optional('Certificates that the inventory of INVENTORY_URL is trusted by.'),
  RABBITMQ_EVENTS_ENABLED: said('Listen to the clouds’ notifications.', flag.default(true)),
  RABBITMQ_USER: optional('Account for the bus of RABBITMQ_URLS.'),
  RABBITMQ_PASSWORD: optional('Its password.'),
  RABBITMQ_PASSWORD_FILE: optional('Its password in a file; read again when it changes.'),
  RABBITMQ_CA_FILE: optional('Certificates that message buses are trusted by, instead of those of the system.'),
  RABBITMQ_QUEUE: optional(
    'Name of a queue that keeps notifications for half an hour while the operator is away; without it the queue goes with the connection.',
  ),
  RABBITMQ_SECRET_ENABLED: said('Put the access to a cloud’s bus into a Secret beside the object.', flag.default(true)),
  ENDPOINT_ALLOWED_HOSTS: said(
    'Hosts that objects, Contrabass and a catalog may name, with commas between; none means all but link-local ones.',
    list.default([]),
  ),
  NAMESPACE_RULES_FILE: optional('Which providers and projects a namespace may use.'),
  HTTP_PROXY: optional('Proxy for http addresses, and for https ones where HTTPS_PROXY is absent.'),
  HTTPS_PROXY: optional('Proxy for https addresses.'),
  NO_PROXY: optional('Hosts that are reached without a proxy.'),
  ...traceSettings,
})

export type ProcessSettings = z.infer<typeof processSettings>

export function processSettingsFrom(env: Environment): Readonly<ProcessSettings> {
  return settingsFrom(processSettings, env)
}

/** Where a setting came from: credentials follow it. */
export type Origin = 'object' | 'environment' | 'default'

export interface SyncSettings {
  contrabassEndpoint: string
  contrabassTimeoutMs: number
  contrabassInsecureTLS: boolean
  openstackTimeoutMs: number
  openstackInsecureTLS: boolean
  neutronEndpoint?: string
  novaEndpoint?: string
  endpointInterface: string
  endpointRegion: string
  nodeNameMetadataKey: string
  allowedStatuses: string[]
  baseline: string
  owners: string[]
  downPortFastRetryMax: number
  pollFastMs: number
  pollSlowMs: number
  pollErrorMs: number
  pollFastWindowMs: number
  /** Addresses of the message bus that the object or the environment names. */
  rabbitmqUrls: string[]
  rabbitmqExchanges: string[]
  rabbitmqTopics: string[]
  rabbitmqInsecureTLS: boolean
  violaEndpoint: string
  violaTimeoutMs: number
  violaInsecureTLS: boolean
  /** The last place to look for the key; whose it is depends on its origin. */
  encryptKey?: string
  origins: Readonly<Partial<Record<SettingName, Origin>>>
}

const flags: readonly SettingName[] = [
  'contrabassInsecureTLS',
  'openstackInsecureTLS',
  'rabbitmqInsecureTLS',
  'violaInsecureTLS',
]
const lists: readonly SettingName[] = [
  'openstackPortAllowedStatuses',
  'openstackPortOwners',
  'rabbitmqUrls',
  'rabbitmqExchanges',
  'rabbitmqTopics',
]
const numbers: readonly SettingName[] = ['downPortFastRetryMax']
const durations: readonly SettingName[] = [
  'contrabassTimeout',
  'openstackTimeout',
  'violaTimeout',
  'pollFastInterval',
  'pollSlowInterval',
  'pollErrorInterval',
  'pollFastWindow',
]
const secretNames: readonly SettingName[] = ['contrabassEncryptKey']

/** All mistakes at once, each with the name that the user gave the setting under. */
export function resolveSettings(env: Environment, given: Settings = {}): SyncSettings {
  const mistakes: string[] = []
  const origins: Partial<Record<SettingName, Origin>> = {}
  const value: Record<string, unknown> = {}
  for (const name of Object.keys(settingEnvironment) as SettingName[]) {
    const found = lookUp(name, env, given)
    origins[name] = found.origin
    value[name] = found.value
    const wrong = found.value === undefined ? undefined : mistakeIn(name, found.value)
    if (wrong) mistakes.push(`${spelled(name, found.origin)}: ${shown(name, found.value)}${wrong}`)
  }
  for (const name of ['contrabassEndpoint', 'violaEndpoint'] as const)
    if (value[name] === undefined)
      mistakes.push(`spec.settings.${name}: is missing; set it, or ${settingEnvironment[name]} for the operator`)
  if (mistakes.length > 0) throw configError(mistakes)
  return settle(value as Resolved, origins)
}

type Resolved = Settings & typeof settingDefaults & { contrabassEndpoint: string; violaEndpoint: string }

function lookUp(name: SettingName, env: Environment, given: Settings): { value: unknown; origin: Origin } {
  const own = given[name]
  if (own !== undefined && own !== '') return { value: own, origin: 'object' }
  const text = env[settingEnvironment[name]]?.trim()
  if (text !== undefined && text !== '') return { value: fromText(name, text), origin: 'environment' }
  return { value: (settingDefaults as Settings)[name], origin: 'default' }
}

function fromText(name: SettingName, text: string): unknown {
  if (lists.includes(name)) return list.parse(text)
  if (numbers.includes(name)) return Number(text)
  if (flags.includes(name)) return text === 'true' ? true : text === 'false' ? false : text
  return text
}

/** What is wrong with a value and how to write it; undefined when it is good. */
function mistakeIn(name: SettingName, value: unknown): string | undefined {
  // A bus that cannot be used is reported in EventsConnected: syncs go on without it.
  if (name === 'rabbitmqUrls') return undefined
  if (durations.includes(name))
    return typeof value === 'string' && parseDuration(value) !== undefined
      ? undefined
      : 'is not a positive duration; write it like 20s, 2m or 500ms'
  if (settingsSchema.shape[name].safeParse(value).success) {
    const time = name === 'openstackPortBaseline' && value !== 'creationTime' && value !== 'none'
    return time && Number.isNaN(Date.parse(String(value))) ? 'is not creationTime, none or an RFC 3339 time' : undefined
  }
  if (flags.includes(name)) return 'must be true or false'
  if (name.endsWith('Endpoint')) return 'is not an address; write it like https://host:port'
  if (numbers.includes(name)) return 'must be a whole number from 1 to 100'
  if (name === 'openstackEndpointInterface') return 'must be public, internal or admin'
  return 'cannot be used'
}

function spelled(name: SettingName, origin: Origin): string {
  return origin === 'environment' ? `${settingEnvironment[name]} of the operator` : `spec.settings.${name}`
}

function shown(name: SettingName, value: unknown): string {
  if (secretNames.includes(name)) return ''
  return `${JSON.stringify(value).slice(0, 100)} `
}

function settle(value: Resolved, origins: SyncSettings['origins']): SyncSettings {
  const ms = (text: string) => parseDuration(text) ?? 0
  const pollFastMs = ms(value.pollFastInterval)
  return {
    contrabassEndpoint: withoutSlash(value.contrabassEndpoint),
    contrabassTimeoutMs: ms(value.contrabassTimeout),
    contrabassInsecureTLS: value.contrabassInsecureTLS,
    openstackTimeoutMs: ms(value.openstackTimeout),
    openstackInsecureTLS: value.openstackInsecureTLS,
    ...(value.openstackNeutronEndpoint && { neutronEndpoint: value.openstackNeutronEndpoint }),
    ...(value.openstackNovaEndpoint && { novaEndpoint: value.openstackNovaEndpoint }),
    endpointInterface: value.openstackEndpointInterface,
    endpointRegion: value.openstackEndpointRegion,
    nodeNameMetadataKey: value.openstackNodeNameMetadataKey,
    allowedStatuses: value.openstackPortAllowedStatuses.map(word => word.trim().toUpperCase()),
    baseline: value.openstackPortBaseline,
    owners: value.openstackPortOwners,
    downPortFastRetryMax: value.downPortFastRetryMax,
    pollFastMs,
    pollSlowMs: Math.max(ms(value.pollSlowInterval), pollFastMs),
    pollErrorMs: ms(value.pollErrorInterval),
    pollFastWindowMs: ms(value.pollFastWindow),
    rabbitmqUrls: value.rabbitmqUrls ?? [],
    rabbitmqExchanges: value.rabbitmqExchanges,
    rabbitmqTopics: value.rabbitmqTopics,
    rabbitmqInsecureTLS: value.rabbitmqInsecureTLS,
    violaEndpoint: withoutSlash(value.violaEndpoint),
    violaTimeoutMs: ms(value.violaTimeout),
    violaInsecureTLS: value.violaInsecureTLS,
    ...(value.contrabassEncryptKey && { encryptKey: value.contrabassEncryptKey }),
    origins,
  }
}
