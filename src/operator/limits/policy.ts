/**
 * Which OpenstackConfigs are served, and with which settings. Syncs, deletions, claims, events and dry runs get the
 * settings of an object only here.
 *
 * Objects of the operator's own namespaces are served. Objects of another namespace are served if a rule allows the
 * namespace, its providers and projects, and the hosts that the object names.
 */
import type { OpenstackConfig } from '../../contract/openstack-config.ts'
import { hostNotAllowed, urlOf } from '../../contract/url.ts'
import type { Environment } from '../../runtime/env.ts'
import { reload } from '../../server/reload.ts'
import type { Log } from '../../telemetry/log.ts'
import { resolveSettings, type SyncSettings } from '../config.ts'
import { configError } from '../sync-error.ts'
import {
  allowsValue,
  exactRule,
  hostMatches,
  idErrors,
  type NamespaceRule,
  type NamespaceRules,
  namespaceOf,
  ruleFor,
  rulesFrom,
  suggestedRule,
} from './namespace-rules.ts'

export interface Policy {
  /** The settings of an object. Throws a ConfigError that names everything that is invalid or not allowed. */
  admit(config: OpenstackConfig): SyncSettings
  admits(config: OpenstackConfig): boolean
  /** Counts the changes of the rules. With the same version and the same spec, an object is admitted or not as before. */
  version(): number
  /** Hosts that an object of the namespace may name. Without a namespace: hosts that the operator's own Contrabass names. */
  isAllowedHost(host: string, namespace?: string): boolean
  /** Whether the objects of the namespace may name this provider ID in Viola. */
  mayUseCluster(namespace: string, providerId: string): boolean
  isOwnNamespace(namespace: string): boolean
  /** The rules to add for objects of namespaces without one, a line for each namespace. */
  missingRules(configs: readonly OpenstackConfig[]): string[]
  close(): void
}

export interface PolicyOptions {
  env: Environment
  /** ENDPOINT_ALLOWED_HOSTS. Empty: all. */
  hosts: readonly string[]
  rulesFile?: string | undefined
  /** Namespaces that need no rule. */
  ownNamespaces: readonly string[]
  log: Log
  /** Called when the rules change. */
  onChange?: () => void
}

export async function openPolicy(options: PolicyOptions): Promise<Policy> {
  const { env, hosts, rulesFile, ownNamespaces, log, onChange } = options
  let version = 0
  const changed = () => {
    version++
    onChange?.()
  }
  const file =
    rulesFile === undefined ? undefined : await reload({ path: rulesFile, log, parse: rulesFrom, onChange: changed })
  const rules = (): NamespaceRules => file?.value ?? {}

  /** `any`: an own namespace that no rule names. */
  function ruleOf(namespace: string): NamespaceRule | 'any' | undefined {
    if (ownNamespaces.includes(namespace)) return exactRule(rules(), namespace) ?? 'any'
    return ruleFor(rules(), namespace)
  }

  function isAllowedHost(host: string, namespace?: string): boolean {
    if (hosts.length > 0 && !hosts.some(pattern => hostMatches(pattern, host))) return false
    const rule = namespace === undefined ? 'any' : ruleOf(namespace)
    return rule === 'any' || (rule?.hosts.some(pattern => hostMatches(pattern, host)) ?? false)
  }

  function admit(config: OpenstackConfig): SyncSettings {
    const namespace = namespaceOf(config)
    const rule = ruleOf(namespace)
    if (!rule)
      throw configError([
        `namespace ${namespace}: no rule of the operator allows its OpenstackConfigs; add to NAMESPACE_RULES_FILE: ${suggestedRule([config])}`,
      ])
    const settings = resolveSettings(env, config.spec)
    const errors = [
      // The operator's own endpoints are always allowed.
      ...settings.objectEndpoints.flatMap(({ name, url }) => {
        const host = urlOf(url)?.hostname ?? ''
        return isAllowedHost(host, namespace) ? [] : [`spec.settings.${name}: ${host} ${hostNotAllowed}`]
      }),
      ...(rule === 'any' ? [] : idErrors(config, rule)),
    ]
    if (errors.length > 0) throw configError(errors)
    return settings
  }

  function admits(config: OpenstackConfig): boolean {
    try {
      admit(config)
      return true
    } catch {
      return false
    }
  }

  return {
    admit,
    admits,
    version: () => version,
    isAllowedHost,
    mayUseCluster(namespace, providerId) {
      const rule = ruleOf(namespace)
      return rule === 'any' || (rule !== undefined && allowsValue(rule.k8sProviders, providerId))
    },
    isOwnNamespace: namespace => ownNamespaces.includes(namespace),
    missingRules(configs) {
      const without = configs.filter(config => !ruleOf(namespaceOf(config)))
      return [...Map.groupBy(without, namespaceOf).values()].map(suggestedRule)
    },
    close: () => file?.close(),
  }
}
