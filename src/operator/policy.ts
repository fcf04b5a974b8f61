/**
 * What OpenstackConfigs may use: the hosts that an object may send credentials to, and the providers and projects of each
 * namespace. Without a list everything is allowed.
 *
 * ```yaml
 * namespaces:
 *   team-a:                       # a * at the end matches any suffix
 *     openstackProviders: ['…']
 *     k8sProviders: ['…']
 *     projects: ['…']
 * ```
 */

import { parse } from 'yaml'
import { z } from 'zod'
import type { OpenstackConfig } from '../contract/openstack-config.ts'
import { fieldErrors } from '../contract/problem.ts'
import { urlOf } from '../contract/url.ts'
import { messageOf } from '../runtime/errors.ts'
import { reload } from '../server/reload.ts'
import type { Log } from '../telemetry/log.ts'
import type { SyncSettings } from './config.ts'
import { providerIdOf } from './provider.ts'
import { configError } from './sync-error.ts'

export interface Policy {
  /** Throws a ConfigError that names every field that is not allowed. */
  check(config: OpenstackConfig, settings: SyncSettings): void
  isAllowedHost(host: string): boolean
  close(): void
}

const ids = z.array(z.string().min(1)).optional()
const rules = z.object({
  namespaces: z.record(
    z.string().min(1),
    z.strictObject({ openstackProviders: ids, k8sProviders: ids, projects: ids }),
  ),
})
type Rules = z.infer<typeof rules>

export async function openPolicy(hosts: readonly string[], rulesFile: string | undefined, log: Log): Promise<Policy> {
  const file = rulesFile === undefined ? undefined : await reload({ path: rulesFile, log, parse: rulesFrom })
  const isAllowedHost = (host: string) => hosts.length === 0 || hosts.some(pattern => hostMatches(pattern, host))
  return {
    isAllowedHost,
    check(config, settings) {
      const errors = [...hostErrors(settings, isAllowedHost), ...(file ? namespaceErrors(config, file.value) : [])]
      if (errors.length > 0) throw configError(errors)
    },
    close: () => file?.close(),
  }
}

export function rulesFrom(text: string): Rules {
  const parsed = rules.safeParse(yamlFrom(text))
  if (parsed.success) return parsed.data
  const wrong = fieldErrors(parsed.error).map(({ path, message }) => `${path || 'file'}: ${message}`)
  throw new Error(wrong.join('; '))
}

function yamlFrom(text: string): unknown {
  try {
    return parse(text)
  } catch (error) {
    throw new Error(`is not valid YAML: ${messageOf(error)}`)
  }
}

/** The operator's own endpoints are always allowed. */
function hostErrors({ objectEndpoints }: SyncSettings, isAllowedHost: (host: string) => boolean): string[] {
  return objectEndpoints.flatMap(({ name, url }) => {
    const host = urlOf(url)?.hostname ?? ''
    return isAllowedHost(host)
      ? []
      : [`spec.settings.${name}: ${host} is not in ENDPOINT_ALLOWED_HOSTS of the operator`]
  })
}

/** `host`, or `*.domain` for every host of the domain. */
function hostMatches(pattern: string, host: string): boolean {
  const [expected, actual] = [pattern.toLowerCase(), host.toLowerCase()]
  return expected.startsWith('*.') ? actual.endsWith(expected.slice(1)) : actual === expected
}

function namespaceErrors(config: OpenstackConfig, { namespaces }: Rules): string[] {
  const { namespace = '' } = config.metadata
  const rule =
    // A namespace may have the name constructor.
    (Object.hasOwn(namespaces, namespace) ? namespaces[namespace] : undefined) ??
    Object.entries(namespaces).find(([name]) => name.endsWith('*') && namespace.startsWith(name.slice(0, -1)))?.[1]
  if (!rule) return [`namespace ${namespace}: no rule in NAMESPACE_RULES_FILE of the operator allows OpenstackConfigs`]
  const { openstackProviderID, projectID } = config.spec.credentials
  const requested: [string, string, readonly string[] | undefined][] = [
    ['openstackProviderID', openstackProviderID, rule.openstackProviders],
    ['k8sProviderID', providerIdOf(config), rule.k8sProviders],
    [
      'projectID',
      projectID.replaceAll('-', '').toLowerCase(),
      rule.projects?.map(id => id.replaceAll('-', '').toLowerCase()),
    ],
  ]
  return requested
    .filter(([, value, allowed]) => allowed !== undefined && !allowed.includes(value))
    .map(([field, value]) => `spec.credentials.${field}: ${value} is not allowed in namespace ${namespace}`)
}
