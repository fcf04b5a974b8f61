/**
 * What the OpenstackConfigs of each namespace may use. A rule lists everything; `*` in a list allows any value.
 *
 * ```yaml
 * namespaces:
 *   team-a:                       # a * at the end matches any suffix
 *     hosts: ['*.team-a.example.com']   # besides the endpoints of the operator; default: none
 *     openstackProviders: ['…']
 *     k8sProviders: ['…']
 *     projects: ['…']
 * ```
 */
import { parse } from 'yaml'
import * as z from 'zod'
import { type OpenstackConfig, providerIdOf } from '../../contract/openstack-config.ts'
import { fieldErrors } from '../../contract/problem.ts'
import { urlOf } from '../../contract/url.ts'
import { messageOf } from '../../runtime/errors.ts'

const values = z.array(z.string().min(1), { error: 'list the allowed values, or "*" for all' })
const rule = z.strictObject({
  hosts: values.default([]),
  openstackProviders: values,
  k8sProviders: values,
  projects: values,
})
const rules = z.object({ namespaces: z.record(z.string().min(1), rule) })

export type NamespaceRule = z.infer<typeof rule>
export type NamespaceRules = Readonly<Record<string, NamespaceRule>>

export function rulesFrom(text: string): NamespaceRules {
  const parsed = rules.safeParse(yamlFrom(text))
  if (parsed.success) return parsed.data.namespaces
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

/** The rule with this name. */
export function exactRule(all: NamespaceRules, namespace: string): NamespaceRule | undefined {
  // A namespace may have the name constructor.
  return Object.hasOwn(all, namespace) ? all[namespace] : undefined
}

/** The rule with this name, else that with the longest matching pattern. */
export function ruleFor(all: NamespaceRules, namespace: string): NamespaceRule | undefined {
  const patterns = Object.entries(all)
    .filter(([name]) => name.endsWith('*') && namespace.startsWith(name.slice(0, -1)))
    .toSorted(([a], [b]) => b.length - a.length)
  return exactRule(all, namespace) ?? patterns[0]?.[1]
}

/** `host`, `*.domain` for every host of the domain, or `*`. */
export function hostMatches(pattern: string, host: string): boolean {
  const [expected, actual] = [pattern.toLowerCase(), host.toLowerCase()]
  if (expected === '*') return true
  return expected.startsWith('*.') ? actual.endsWith(expected.slice(1)) : actual === expected
}

/** Providers and projects that the rule of the namespace does not allow. */
export function idErrors(config: OpenstackConfig, rule: NamespaceRule): string[] {
  const { openstackProviderID, projectID } = config.spec.credentials ?? {}
  const requested: [field: string, value: string | undefined, allowed: readonly string[]][] = [
    ['openstackProviderID', openstackProviderID, rule.openstackProviders],
    ['k8sProviderID', providerIdOf(config), rule.k8sProviders],
    ['projectID', projectID && projectKey(projectID), rule.projects.map(projectKey)],
  ]
  return requested
    .filter(([, value, allowed]) => value !== undefined && !allowsValue(allowed, value))
    .map(([field, value]) => `spec.credentials.${field}: ${value} is not allowed in namespace ${namespaceOf(config)}`)
}

export function allowsValue(allowed: readonly string[], value: string): boolean {
  return allowed.includes('*') || allowed.includes(value)
}

function projectKey(id: string): string {
  return id.replaceAll('-', '').toLowerCase()
}

export function namespaceOf({ metadata }: OpenstackConfig): string {
  return metadata.namespace ?? ''
}

/** The line of the file that allows what these objects of one namespace use. */
export function suggestedRule(configs: readonly OpenstackConfig[]): string {
  const [first] = configs
  const sorted = (all: string[]) => [...new Set(all)].toSorted()
  const suggestion: NamespaceRule = {
    hosts: sorted(configs.flatMap(endpointHosts)),
    openstackProviders: sorted(configs.flatMap(({ spec }) => spec.credentials?.openstackProviderID ?? [])),
    k8sProviders: sorted(configs.map(providerIdOf)),
    projects: sorted(
      configs.flatMap(({ spec: { credentials: { projectID } = {} } }) => (projectID ? projectKey(projectID) : [])),
    ),
  }
  return `${first ? namespaceOf(first) : ''}: ${JSON.stringify(suggestion)}`
}

function endpointHosts({ spec }: OpenstackConfig): string[] {
  return Object.entries(spec.settings ?? {}).flatMap(([name, value]) =>
    name.endsWith('Endpoint') ? (urlOf(String(value))?.hostname ?? []) : [],
  )
}
