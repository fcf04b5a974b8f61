/**
 * The operator's own settings, from its environment; and the settings of one sync: from the OpenstackConfig, else from the
 * environment, else the default.
 */
import * as z from 'zod'
import { parseDuration } from '../contract/duration.ts'
import type { OpenstackConfigSpec } from '../contract/openstack-config.ts'
import {
  type SettingName,
  type Settings,
  settingDefaults,
  settingEnvironment,
  settings as settingsSchema,
} from '../contract/settings.ts'
import { withoutSlash } from '../contract/url.ts'
import { type Environment, settingsFrom } from '../runtime/env.ts'
import { tokenSettings } from '../server/access-settings.ts'
import { traceSettings } from '../telemetry/trace-export.ts'
import { configError } from './sync-error.ts'

const flag = z.enum(['true', 'false'], { error: 'must be true or false' }).transform(value => value === 'true')
const list = z.string().transform(text =>
  text
    .split(',')
    .map(item => item.trim())
    .filter(item => item !== ''),
)

function describe<T extends z.ZodType>(description: string, setting: T): T {
  return setting.meta({ description })
}
const optional = (description: string) => describe(description, z.string().optional())

/** The environment of the process. Settings that an object may also contain are in src/contract/settings.ts. */
export const processSettings = z.object({
  KUBECONFIG: optional('Kubeconfig of the management cluster. Default: the ServiceAccount of the Pod.'),
  KUBERNETES_SERVICE_HOST: optional('Set by Kubernetes in every Pod.'),
  KUBERNETES_SERVICE_PORT: optional('Set by Kubernetes in every Pod.'),
  OPERATOR_ADDR: describe(
    'Listen address of health, readiness, metrics and the operator’s API.',
    z.string().default(':8081'),
  ),
  ...tokenSettings('OPERATOR'),
  OPERATOR_WORKERS: describe(
    'Objects that are synced concurrently. Objects of one cloud use at most a fifth of the workers, and those of one namespace at most half of what other namespaces leave.',
    z.coerce.number().int().min(1).max(1000).default(100),
  ),
  POLL_MIN_INTERVAL: describe(
    'Shortest poll interval that an object may set. A shorter one is raised to it.',
    z
      .string()
      .refine(text => parseDuration(text) !== undefined, 'must be a positive duration such as 500ms or 2s')
      .default('500ms'),
  ),
  WATCH_NAMESPACES: describe(
    'Namespaces whose objects are synced, separated by commas. Default: all.',
    list.default([]),
  ),
  LEADER_ELECT: describe(
    'Leader election: of several replicas, only the holder of the Lease syncs.',
    flag.default(false),
  ),
  POD_NAMESPACE: describe(
    'Namespace of the Lease, and of the delivery records for a Viola that serves only POST.',
    z.string().default('multinic-operator-system'),
  ),
  POD_NAME: optional('Identity in the Lease. Default: the host name.'),
  CONTRABASS_CA_FILE: optional('CA certificates for Contrabass. Default: those of the system.'),
  OPENSTACK_CA_FILE: optional('CA certificates for Keystone, Neutron and Nova. Default: those of the system.'),
  VIOLA_CA_FILE: optional('CA certificates for Viola. Default: those of the system.'),
  VIOLA_TOKEN_FILE: optional('Bearer token for the Viola of VIOLA_ENDPOINT. Reloaded when the file changes.'),
  VIOLA_CLIENT_CERT_FILE: optional('Client certificate for the Viola of VIOLA_ENDPOINT.'),
  VIOLA_CLIENT_KEY_FILE: optional('Private key of VIOLA_CLIENT_CERT_FILE.'),
  INVENTORY_URL: describe(
    'URL of a separate inventory. Default: the inventory embedded in the operator.',
    z.url({ protocol: /^https?$/, error: 'must be an http or https URL' }).optional(),
  ),
  INVENTORY_TOKEN_FILE: optional('Bearer token for the inventory of INVENTORY_URL. Reloaded when the file changes.'),
  INVENTORY_CA_FILE: optional(
    'CA certificates for the inventory of INVENTORY_URL. Default: those of the system. Reloaded when the file changes.',
  ),
  RABBITMQ_EVENTS_ENABLED: describe('Listen to notifications of the clouds.', flag.default(true)),
  RABBITMQ_USER: optional('User for the message bus of RABBITMQ_URLS.'),
  RABBITMQ_PASSWORD: optional('Password of RABBITMQ_USER.'),
  RABBITMQ_PASSWORD_FILE: optional('File with the password of RABBITMQ_USER. Reloaded when it changes.'),
  RABBITMQ_CA_FILE: optional('CA certificates for message buses. Default: those of the system.'),
  RABBITMQ_QUEUE: optional(
    'Name of a queue that keeps notifications for 30 minutes while the operator is down. Default: a queue that is deleted with the connection.',
  ),
  RABBITMQ_SECRET_ENABLED: describe(
    'Write the account of a cloud’s message bus to a Secret next to the object.',
    flag.default(true),
  ),
  ENDPOINT_ALLOWED_HOSTS: describe(
    'Hosts that objects, their clouds.yaml, Contrabass and catalogs may name, separated by commas. Default: all except link-local addresses.',
    list.default([]),
  ),
  NAMESPACE_RULES_FILE: optional(
    'File with the hosts, providers and projects that each namespace may use. Objects of multinic-system and POD_NAMESPACE need no rule, all others do.',
  ),
  HTTP_PROXY: optional('Proxy for http URLs, and for https URLs if HTTPS_PROXY is not set.'),
  HTTPS_PROXY: optional('Proxy for https URLs.'),
  NO_PROXY: optional('Hosts that are called without a proxy.'),
  ...traceSettings,
})

export type ProcessSettings = z.infer<typeof processSettings>

export function processSettingsFrom(env: Environment): Readonly<ProcessSettings> {
  return settingsFrom(processSettings, env)
}

/** Where a setting comes from. Credentials follow it. */
export type Origin = 'object' | 'environment' | 'default'

export interface SyncSettings {
  /** Empty for an object that needs no Contrabass. */
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
  /** Addresses of the message bus from the object or the environment. */
  rabbitmqUrls: string[]
  rabbitmqExchanges: string[]
  rabbitmqTopics: string[]
  rabbitmqInsecureTLS: boolean
  violaEndpoint: string
  violaTimeoutMs: number
  violaInsecureTLS: boolean
  /** The last source of the key. Its origin tells who owns it. */
  encryptKey?: string
  origins: Readonly<Partial<Record<SettingName, Origin>>>
  /** TLS verifications that the object turns off and the operator does not. Never for the operator's own credentials. */
  weakenedTLS: readonly SettingName[]
  /** Every endpoint that the object names. The policy checks their hosts. */
  objectEndpoints: readonly { name: SettingName; url: string }[]
}

const settingNames = Object.keys(settingEnvironment) as SettingName[]
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
const timeouts = ['contrabassTimeout', 'openstackTimeout', 'violaTimeout'] as const
const intervals = ['pollFastInterval', 'pollSlowInterval', 'pollErrorInterval'] as const
const durations: readonly SettingName[] = [...timeouts, ...intervals, 'pollFastWindow']
const secretNames: readonly SettingName[] = ['contrabassEncryptKey']

/** Reports all errors at once, each with the name under which the user set the value. */
export function resolveSettings(
  env: Environment,
  { settings: given = {}, cloudSecretRef }: Pick<OpenstackConfigSpec, 'settings' | 'cloudSecretRef'> = {},
): SyncSettings {
  const errors: string[] = []
  const origins: Partial<Record<SettingName, Origin>> = {}
  const value: Record<string, unknown> = {}
  for (const name of settingNames) {
    const found = lookUp(name, env, given)
    origins[name] = found.origin
    value[name] = found.value
    const error = found.value === undefined ? undefined : errorIn(name, found.value)
    if (error) errors.push(`${pathOf(name, found.origin)}: ${valueText(name, found.value)}${error}`)
  }
  for (const name of cloudSecretRef ? (['violaEndpoint'] as const) : (['contrabassEndpoint', 'violaEndpoint'] as const))
    if (value[name] === undefined)
      errors.push(`spec.settings.${name}: is required, here or as ${settingEnvironment[name]} of the operator`)
  if (errors.length > 0) throw configError(errors)
  for (const name of timeouts) value[name] = shorter(value[name], ownValue(name, env))
  for (const name of intervals) if (origins[name] === 'object') value[name] = longer(value[name], minInterval(env))
  const weakenedTLS = flags.filter(name => value[name] === true && ownValue(name, env) !== true)
  return { ...toSyncSettings(value as Resolved, origins), weakenedTLS }
}

/** The operator's own value: what applies to an object that does not set it. */
function ownValue(name: SettingName, env: Environment): unknown {
  return lookUp(name, env, {}).value
}

/** An object may shorten a timeout of the operator, and not extend it. */
function shorter(requested: unknown, bound: unknown): unknown {
  const [ms, max] = [parseDuration(String(requested)), parseDuration(String(bound))]
  return max !== undefined && ms !== undefined && ms > max ? bound : requested
}

/** An object must not keep the operator busy by polling all the time. */
function longer(requested: unknown, bound: string): unknown {
  return (parseDuration(String(requested)) ?? 0) < (parseDuration(bound) ?? 0) ? bound : requested
}

function minInterval(env: Environment): string {
  return processSettings.shape.POLL_MIN_INTERVAL.parse(env['POLL_MIN_INTERVAL']?.trim() || undefined)
}

type Resolved = Settings & typeof settingDefaults & { violaEndpoint: string }

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

/** What is wrong with a value and how to write it. Undefined if it is valid. */
function errorIn(name: SettingName, value: unknown): string | undefined {
  // An invalid bus address is reported by EventsConnected. Syncs do not need a bus.
  if (name === 'rabbitmqUrls') return undefined
  if (durations.includes(name))
    return typeof value === 'string' && parseDuration(value) !== undefined
      ? undefined
      : 'is not a positive duration such as 20s, 2m or 500ms'
  if (settingsSchema.shape[name].safeParse(value).success) {
    const time = name === 'openstackPortBaseline' && value !== 'creationTime' && value !== 'none'
    return time && Number.isNaN(Date.parse(String(value))) ? 'is not creationTime, none or an RFC 3339 time' : undefined
  }
  if (flags.includes(name)) return 'must be true or false'
  if (name.endsWith('Endpoint')) return 'is not a URL such as https://host:port, without user, query and fragment'
  if (numbers.includes(name)) return 'must be a whole number from 1 to 100'
  if (name === 'openstackEndpointInterface') return 'must be public, internal or admin'
  return 'is invalid'
}

function pathOf(name: SettingName, origin: Origin): string {
  return origin === 'environment' ? `${settingEnvironment[name]} of the operator` : `spec.settings.${name}`
}

function valueText(name: SettingName, value: unknown): string {
  if (secretNames.includes(name)) return ''
  return `${JSON.stringify(value).slice(0, 100)} `
}

function toSyncSettings(value: Resolved, origins: SyncSettings['origins']): Omit<SyncSettings, 'weakenedTLS'> {
  const ms = (text: string) => parseDuration(text) ?? 0
  const pollFastMs = ms(value.pollFastInterval)
  return {
    contrabassEndpoint: withoutSlash(value.contrabassEndpoint ?? ''),
    contrabassTimeoutMs: ms(value.contrabassTimeout),
    contrabassInsecureTLS: value.contrabassInsecureTLS,
    openstackTimeoutMs: ms(value.openstackTimeout),
    openstackInsecureTLS: value.openstackInsecureTLS,
    ...(value.openstackNeutronEndpoint && { neutronEndpoint: value.openstackNeutronEndpoint }),
    ...(value.openstackNovaEndpoint && { novaEndpoint: value.openstackNovaEndpoint }),
    endpointInterface: value.openstackEndpointInterface,
    endpointRegion: value.openstackEndpointRegion,
    nodeNameMetadataKey: value.openstackNodeNameMetadataKey,
    allowedStatuses: value.openstackPortAllowedStatuses.map(status => status.trim().toUpperCase()),
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
    objectEndpoints: settingNames
      .filter(name => name.endsWith('Endpoint') && origins[name] === 'object')
      .map(name => ({ name, url: String(value[name]) })),
  }
}
