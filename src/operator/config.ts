/**
 * The settings of one sync: from the OpenstackConfig, else from the operator's environment, else the default. Both are read by
 * the table of src/contract/settings.ts.
 */
import { type OpenstackConfigSpec, usesContrabass } from '../contract/openstack-config.ts'
import { readSettings, settingsFrom, type Values } from '../contract/setting.ts'
import { type SettingName, type Settings, settings as schemas, syncSettings } from '../contract/settings.ts'
import { withoutSlash } from '../contract/url.ts'
import type { OpenStackSettings } from '../openstack/cloud.ts'
import type { Environment } from '../runtime/env.ts'
import { type ProcessSettings, processSettings } from './settings.ts'
import { configError } from './sync-error.ts'

export type { ProcessSettings }

export function processSettingsFrom(env: Environment): ProcessSettings {
  return settingsFrom(processSettings, env)
}

/** Where a setting comes from. Credentials follow it. */
export type Origin = 'object' | 'environment' | 'default'

export interface SyncSettings {
  openstack: OpenStackSyncSettings
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
  violaEndpoint: string
  violaTimeoutMs: number
  violaInsecureTLS: boolean
  origins: Readonly<Partial<Record<SettingName, Origin>>>
  /** TLS verifications that the object turns off and the operator does not. Never for the operator's own credentials. */
  weakenedTLS: readonly SettingName[]
  /** Every endpoint that the object names. The policy checks their hosts. */
  objectEndpoints: readonly { name: SettingName; url: string }[]
}

interface OpenStackSyncSettings extends OpenStackSettings {
  /** Empty for an object that needs no Contrabass. */
  contrabassEndpoint: string
  /** The last source of the key. Its origin tells who owns it. */
  encryptKey?: string
}

type Resolved = Values<typeof syncSettings>

const settingNames = Object.keys(syncSettings) as SettingName[]
/** An invalid address of a bus is reported by EventsConnected. Syncs do not need a bus. */
const reportedElsewhere = new Set<SettingName>(['rabbitmqUrls'])
const flags = ['contrabassInsecureTLS', 'openstackInsecureTLS', 'violaInsecureTLS'] as const
const timeouts = ['contrabassTimeout', 'openstackTimeout', 'violaTimeout'] as const
const intervals = ['pollFastInterval', 'pollSlowInterval', 'pollErrorInterval'] as const

/** Reports all errors at once, each with the name under which the user set the value. */
export function resolveSettings(env: Environment, spec: Partial<OpenstackConfigSpec> = {}): SyncSettings {
  const { settings: given = {} } = spec
  const texts = textsOf(env)
  const objects = objectTexts(given)
  const { values, errors } = readSettings(syncSettings, { ...texts, ...objects })
  const { values: own } = readSettings(syncSettings, texts)
  const originOf = (name: SettingName): Origin =>
    objects[name] !== undefined ? 'object' : texts[name] ? 'environment' : 'default'
  const origins = Object.fromEntries(settingNames.map(name => [name, originOf(name)]))
  const failed = new Set(errors.map(({ path }) => path))
  const invalid = settingNames.filter(
    name =>
      objects[name] !== undefined &&
      !reportedElsewhere.has(name) &&
      !failed.has(name) &&
      !schemas.shape[name].safeParse(given[name]).success,
  )
  const problems = [
    ...errors.map(({ path, message }) => `${pathOf(path as SettingName, origins)}: ${message}`),
    ...invalid.map(name => `spec.settings.${name}: is invalid`),
    ...[...(usesContrabass(spec) ? (['contrabassEndpoint'] as const) : []), 'violaEndpoint' as const]
      .filter(name => !failed.has(name) && values[name] === undefined)
      .map(name => `spec.settings.${name}: is required, here or as ${syncSettings[name].environment} of the operator`),
  ]
  if (problems.length > 0) throw configError(problems)
  // An object may shorten a timeout of the operator, and not extend it.
  for (const name of timeouts) values[name] = Math.min(values[name], own[name])
  // An object must not keep the operator busy by polling all the time.
  const { POLL_MIN_INTERVAL: shortest } = readSettings(processSettings, env).values
  for (const name of intervals) if (origins[name] === 'object') values[name] = Math.max(values[name], shortest)
  return { ...toSyncSettings(values, origins), weakenedTLS: flags.filter(name => values[name] && !own[name]) }
}

/** The texts of the operator's variables, by the name of the setting. */
function textsOf(env: Environment): Environment {
  return Object.fromEntries(settingNames.map(name => [name, env[syncSettings[name].environment]?.trim()]))
}

/** An object's values as texts, which the table reads. An empty one counts as absent. */
function objectTexts(given: Settings): Environment {
  const present = settingNames.filter(name => given[name] !== undefined && given[name] !== '')
  return Object.fromEntries(present.map(name => [name, textOf(given[name])]))
}

/** A list of no items is a value too. What no setting can be becomes JSON, for the message. */
function textOf(value: unknown): string {
  if (Array.isArray(value)) return value.map(textOf).join(',') || ','
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}

function pathOf(name: SettingName, origins: SyncSettings['origins']): string {
  return origins[name] === 'environment' ? `${syncSettings[name].environment} of the operator` : `spec.settings.${name}`
}

function toSyncSettings(value: Resolved, origins: SyncSettings['origins']): Omit<SyncSettings, 'weakenedTLS'> {
  return {
    openstack: {
      contrabassEndpoint: withoutSlash(value.contrabassEndpoint ?? ''),
      contrabassTimeoutMs: value.contrabassTimeout,
      contrabassInsecureTLS: value.contrabassInsecureTLS,
      ...(value.contrabassEncryptKey && { encryptKey: value.contrabassEncryptKey }),
      openstackTimeoutMs: value.openstackTimeout,
      openstackInsecureTLS: value.openstackInsecureTLS,
      ...(value.openstackNeutronEndpoint && { neutronEndpoint: value.openstackNeutronEndpoint }),
      ...(value.openstackNovaEndpoint && { novaEndpoint: value.openstackNovaEndpoint }),
      endpointInterface: value.openstackEndpointInterface,
      endpointRegion: value.openstackEndpointRegion ?? '',
    },
    nodeNameMetadataKey: value.openstackNodeNameMetadataKey ?? '',
    allowedStatuses: value.openstackPortAllowedStatuses.map(status => status.toUpperCase()),
    baseline: value.openstackPortBaseline,
    owners: value.openstackPortOwners,
    downPortFastRetryMax: value.downPortFastRetryMax,
    pollFastMs: value.pollFastInterval,
    pollSlowMs: Math.max(value.pollSlowInterval, value.pollFastInterval),
    pollErrorMs: value.pollErrorInterval,
    pollFastWindowMs: value.pollFastWindow,
    rabbitmqUrls: value.rabbitmqUrls ?? [],
    violaEndpoint: withoutSlash(value.violaEndpoint ?? ''),
    violaTimeoutMs: value.violaTimeout,
    violaInsecureTLS: value.violaInsecureTLS,
    origins,
    objectEndpoints: settingNames
      .filter(name => name.endsWith('Endpoint') && origins[name] === 'object')
      .map(name => ({ name, url: String(value[name]) })),
  }
}
