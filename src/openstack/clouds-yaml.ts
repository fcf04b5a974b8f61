/**
 * clouds.yaml: endpoint, account, project and region of an OpenStack cloud, as every OpenStack tool reads them.
 *
 * Of it: password, application credential and token of Keystone v3. Files that it names, vendor profiles and other
 * identity providers are refused: the operator has no home directory.
 */
import { parseDocument, visit } from 'yaml'
import * as z from 'zod'
import { fieldErrors } from '../contract/problem.ts'
import { notServiceUrl, serviceUrl, urlOf } from '../contract/url.ts'
import type { CloudLogin, Domain, Identity, Project, User } from './login.ts'

export interface NamedCloud {
  login: CloudLogin
  /** Empty means any. */
  region: string
  interface?: string
  verify: boolean
  /** A CA certificate in PEM, or the name of a file. */
  cacert?: string
  neutronEndpoint?: string
  novaEndpoint?: string
}

export type CloudsYaml = { cloud: NamedCloud } | { errors: string[] }

/** Null and the empty text count as absent. */
const exact = z
  .string({ error: 'must be a single value' })
  .nullish()
  .transform(value => value || undefined)
const text = exact.transform(value => value?.trim() || undefined)

const auth = z.looseObject(
  {
    auth_url: text,
    username: text,
    user_id: text,
    password: exact,
    user_domain_name: text,
    user_domain_id: text,
    project_name: text,
    project_id: text,
    project_domain_name: text,
    project_domain_id: text,
    domain_name: text,
    domain_id: text,
    tenant_name: text,
    tenant_id: text,
    system_scope: text,
    trust_id: text,
    passcode: text,
    application_credential_id: text,
    application_credential_name: text,
    application_credential_secret: exact,
    token: text,
  },
  { error: 'must contain auth_url and an account' },
)

/** The fields of a cloud that are read. Others are ignored. */
export const cloudShape = z.looseObject(
  {
    auth,
    auth_type: text,
    region_name: text,
    interface: text,
    endpoint_type: text,
    verify: text,
    insecure: text,
    cacert: text,
    cert: text,
    key: text,
    profile: text,
    cloud: text,
    identity_api_version: text,
    network_endpoint_override: text,
    compute_endpoint_override: text,
  },
  { error: 'must be a cloud with auth' },
)

const fileShape = z.looseObject({
  clouds: z.record(z.string(), z.unknown(), { error: 'must contain one entry per cloud' }),
})

type Cloud = z.infer<typeof cloudShape>
type Auth = z.infer<typeof auth>

/** Without a name, the file must contain one cloud, or one with the name openstack. */
export function parseCloudsYaml(content: string, name?: string): CloudsYaml {
  const document = documentIn(content)
  if ('error' in document) return { errors: [document.error] }
  const file = fileShape.safeParse(document.value)
  if (!file.success) return { errors: [noClouds] }
  const { clouds } = file.data
  const [first, ...others] = Object.keys(clouds)
  if (first === undefined) return { errors: [noClouds] }
  const chosen = name ?? (others.length === 0 ? first : 'openstack')
  if (!Object.hasOwn(clouds, chosen)) {
    const known = [first, ...others].slice(0, 10).join(', ')
    return { errors: [`clouds: has no cloud ${chosen}; set spec.cloudSecretRef.cloud to one of ${known}`] }
  }
  const path = `clouds.${chosen}`
  const parsed = cloudShape.safeParse(clouds[chosen])
  if (!parsed.success)
    return {
      errors: fieldErrors(parsed.error).map(error => `${path}${error.path && `.${error.path}`}: ${error.message}`),
    }
  const errors: string[] = []
  const cloud = cloudFrom(parsed.data, (field, message) => errors.push(`${path}.${field}: ${message}`))
  return errors.length > 0 || !cloud ? { errors } : { cloud }
}

const noClouds = 'clouds: is missing; the file must contain one entry per cloud under clouds'

/** The messages of the parser contain lines of the file, which has passwords. */
function documentIn(content: string): { value: unknown } | { error: string } {
  if (isTooComplex(content))
    return {
      error: `is too large or too deeply nested; keep only the clouds that the objects use (at most ${maxKiB} KiB)`,
    }
  const document = parseDocument(content, { merge: true })
  const [error] = document.errors
  if (error) return { error: `is not YAML: ${error.code} in line ${error.linePos?.[0].line ?? 1}` }
  // Every value is text as it is written: an ID of 32 digits is no number, and 0123 is a password.
  visit(document, {
    Scalar(_, node) {
      if (node.value !== null) node.value = node.source ?? node.value
    },
  })
  try {
    return { value: document.toJS() }
  } catch {
    return { error: 'is not YAML: it has an alias without an anchor, or too many aliases' }
  }
}

const maxKiB = 16

/** The time of the parser grows with the cube of the depth: 2 KiB of `? ` keep it busy for a minute. */
function isTooComplex(content: string): boolean {
  const count = (pattern: RegExp) => content.match(pattern)?.length ?? 0
  return (
    content.length > maxKiB * 1024 ||
    count(/[[{]/g) > 100 ||
    count(/[\n,]/g) > 1_000 ||
    /(^|[\s[{,])\?\s|(-[ \t]+){20}/m.test(content)
  )
}

type Report = (field: string, message: string) => void

function cloudFrom(cloud: Cloud, report: Report): NamedCloud | undefined {
  refuseUnsupported(cloud, report)
  const url = urlFrom(cloud.auth.auth_url, report)
  const identity = identityFrom(cloud, report)
  const project = identity && projectFrom(cloud.auth, identity, report)
  const face = interfaceFrom(cloud, report)
  if (url === undefined || identity === undefined) return undefined
  const { cacert, network_endpoint_override: network, compute_endpoint_override: compute } = cloud
  return {
    login: { url, identity, ...(project && { project }) },
    region: cloud.region_name ?? '',
    ...(face !== undefined && { interface: face }),
    verify: flagFrom('verify', cloud.verify, true, report) && !flagFrom('insecure', cloud.insecure, false, report),
    ...(cacert && { cacert }),
    ...(network && { neutronEndpoint: endpointFrom('network_endpoint_override', network, report) }),
    ...(compute && { novaEndpoint: endpointFrom('compute_endpoint_override', compute, report) }),
  }
}

function refuseUnsupported(cloud: Cloud, report: Report): void {
  for (const field of ['profile', 'cloud'] as const)
    if (cloud[field]) report(field, 'vendor profiles are not supported; write auth_url and the region here')
  for (const field of ['cert', 'key'] as const)
    if (cloud[field]) report(field, 'client certificates are not supported; remove it')
  if (cloud.identity_api_version && !/^v?3(\.\d+)?$/.test(cloud.identity_api_version))
    report('identity_api_version', 'must be 3')
  for (const field of ['system_scope', 'trust_id', 'passcode'] as const)
    if (cloud.auth[field]) report(`auth.${field}`, 'is not supported; name an account and its project')
  for (const [field, value] of Object.entries(cloud.auth))
    if (typeof value === 'string' && placeholder.test(value))
      report(`auth.${field}`, 'is a placeholder; the operator does not replace variables, so write the value itself')
}

/** `${OS_PASSWORD}`, `$OS_PASSWORD` and `{{ password }}`. */
const placeholder = /^(\$\{\w+\}|\$OS_\w+|\{\{.*\}\})$/

function urlFrom(url: string | undefined, report: Report): string | undefined {
  if (url === undefined) {
    report('auth.auth_url', 'is required: the URL of Keystone')
    return undefined
  }
  const { pathname = '' } = urlOf(url) ?? {}
  if (/\/(v2\.0|tokens)\/*$/.test(pathname))
    report('auth.auth_url', 'must be the URL of Keystone v3 and nothing else, such as https://keystone.example:5000/v3')
  return endpointFrom('auth.auth_url', url, report)
}

function endpointFrom(field: string, url: string, report: Report): string {
  const endpoint = serviceUrl(url)
  if (endpoint === undefined) report(field, notServiceUrl)
  return endpoint ?? ''
}

const methods: Record<string, Identity['method']> = {
  password: 'password',
  v3password: 'password',
  v3applicationcredential: 'application_credential',
  token: 'token',
  v3token: 'token',
}

function identityFrom({ auth_type, auth }: Cloud, report: Report): Identity | undefined {
  const method = auth_type ? methods[auth_type.toLowerCase()] : methodOf(auth)
  if (method === 'password' && auth.password === undefined && methodOf(auth) !== method) {
    report('auth_type', 'is password, but auth has no password; remove auth_type, or name the type of the account')
    return undefined
  }
  switch (method) {
    case 'password':
      return passwordFrom(auth, report)
    case 'application_credential':
      return applicationCredentialFrom(auth, report)
    case 'token':
      return required('auth.token', auth.token, report, token => ({ method, token }))
    default:
      report('auth_type', `is not supported; use ${Object.keys(methods).join(', ')}`)
      return undefined
  }
}

function methodOf(auth: Auth): Identity['method'] {
  if (auth.application_credential_secret ?? auth.application_credential_id) return 'application_credential'
  return auth.token ? 'token' : 'password'
}

function passwordFrom(auth: Auth, report: Report): Identity | undefined {
  const user = userFrom(auth, report)
  const password = required('auth.password', auth.password, report, value => value)
  return user && password !== undefined ? { method: 'password', user, password } : undefined
}

function applicationCredentialFrom(auth: Auth, report: Report): Identity | undefined {
  const { application_credential_id: id, application_credential_name: name } = auth
  const method = 'application_credential'
  const secret = required('auth.application_credential_secret', auth.application_credential_secret, report, one => one)
  if (secret === undefined) return undefined
  if (id) return { method, credential: { id }, secret }
  if (!name) {
    report('auth.application_credential_id', 'is required, or application_credential_name with the user')
    return undefined
  }
  const user = userFrom(auth, report)
  return user && { method, credential: { name, user }, secret }
}

function userFrom(auth: Auth, report: Report): User | undefined {
  if (auth.user_id) return { id: auth.user_id }
  if (!auth.username) {
    report('auth.username', 'is required, or user_id')
    return undefined
  }
  const domain = domainFrom(auth.user_domain_id ?? auth.domain_id, auth.user_domain_name ?? auth.domain_name)
  return { name: auth.username, domain }
}

/** An application credential belongs to one project, so Keystone refuses a scope beside it. */
function projectFrom(auth: Auth, { method }: Identity, report: Report): Project | undefined {
  if (method === 'application_credential') return undefined
  const id = auth.project_id ?? auth.tenant_id
  const name = auth.project_name ?? auth.tenant_name
  if (id) return { id }
  if (name) {
    const domain = domainFrom(
      auth.project_domain_id ?? auth.domain_id ?? auth.user_domain_id,
      auth.project_domain_name ?? auth.domain_name ?? auth.user_domain_name,
    )
    return { name, domain }
  }
  report('auth.project_id', 'is required, or project_name: the operator works in one project')
  return undefined
}

function domainFrom(id: string | undefined, name: string | undefined): Domain {
  return name ? { name } : { id: id ?? 'default' }
}

function required<T>(field: string, value: string | undefined, report: Report, use: (value: string) => T) {
  if (value) return use(value)
  report(field, 'is required; a secure.yaml beside the file is not read')
  return undefined
}

function interfaceFrom(cloud: Cloud, report: Report): string | undefined {
  const field = cloud.interface ? 'interface' : 'endpoint_type'
  const face = cloud[field]?.replace(/URL$/, '').toLowerCase()
  if (face === undefined || ['public', 'internal', 'admin'].includes(face)) return face
  report(field, 'must be public, internal or admin')
  return undefined
}

function flagFrom(field: string, value: string | undefined, otherwise: boolean, report: Report): boolean {
  if (value === undefined) return otherwise
  if (/^(true|yes|on|1)$/i.test(value)) return true
  if (!/^(false|no|off|0)$/i.test(value)) report(field, 'must be true or false')
  return false
}
