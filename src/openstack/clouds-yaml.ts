/**
 * clouds.yaml: endpoint, account, project and region of an OpenStack cloud, as every OpenStack tool reads them.
 *
 * Of it: password, application credential and token of Keystone v3. Files that it names, vendor profiles and other
 * identity providers are refused: the operator has no home directory.
 */
import { parseDocument } from 'yaml'
import { z } from 'zod'
import { fieldErrors } from '../contract/problem.ts'
import { urlOf, withoutSlash } from '../contract/url.ts'
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

const text = z.string({ error: 'must be text' }).trim().optional()
/** YAML reads 3 and yes as a number and a flag. */
const scalar = z
  .union([z.string(), z.number(), z.boolean()], { error: 'must be a single value' })
  .transform(value => String(value).trim())
  .optional()

const auth = z.looseObject(
  {
    auth_url: text,
    username: scalar,
    user_id: text,
    password: scalar,
    user_domain_name: text,
    user_domain_id: text,
    project_name: scalar,
    project_id: scalar,
    project_domain_name: text,
    project_domain_id: text,
    domain_name: text,
    domain_id: text,
    tenant_name: scalar,
    tenant_id: scalar,
    system_scope: scalar,
    application_credential_id: text,
    application_credential_name: scalar,
    application_credential_secret: scalar,
    token: scalar,
  },
  { error: 'must contain auth_url and an account' },
)

const cloudShape = z.looseObject(
  {
    auth,
    auth_type: text,
    region_name: scalar,
    interface: text,
    endpoint_type: text,
    verify: scalar,
    insecure: scalar,
    cacert: text,
    cert: text,
    key: text,
    profile: text,
    cloud: text,
    identity_api_version: scalar,
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
  if (!file.success) return { errors: ['clouds: is missing; the file must contain one entry per cloud under clouds'] }
  const { clouds } = file.data
  const names = Object.keys(clouds)
  const chosen = name ?? (names.length === 1 ? names[0] : 'openstack')
  if (chosen === undefined || !Object.hasOwn(clouds, chosen))
    return { errors: [`clouds: has no cloud ${chosen}; set spec.cloudSecretRef.cloud to one of ${names.join(', ')}`] }
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

/** The messages of the parser contain lines of the file, which has passwords. */
function documentIn(content: string): { value: unknown } | { error: string } {
  const document = parseDocument(content)
  const [error] = document.errors
  if (error) return { error: `is not YAML: ${error.code} in line ${error.linePos?.[0].line ?? 1}` }
  try {
    return { value: document.toJS() }
  } catch {
    return { error: 'is not YAML: it has an alias without an anchor, or too many aliases' }
  }
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
    verify: !isFalse(cloud.verify) && !isTrue(cloud.insecure),
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
}

function urlFrom(url: string | undefined, report: Report): string | undefined {
  if (url && /^https?:$/.test(urlOf(url)?.protocol ?? '')) return withoutSlash(url)
  report('auth.auth_url', url ? 'is not an http or https URL' : 'is required: the URL of Keystone')
  return undefined
}

function endpointFrom(field: string, url: string, report: Report): string {
  if (!/^https?:$/.test(urlOf(url)?.protocol ?? '')) report(field, 'is not an http or https URL')
  return withoutSlash(url)
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
  return name ? { name } : { id: id || 'default' }
}

function required<T>(field: string, value: string | undefined, report: Report, use: (value: string) => T) {
  if (value) return use(value)
  report(field, 'is required')
  return undefined
}

function interfaceFrom(cloud: Cloud, report: Report): string | undefined {
  const field = cloud.interface ? 'interface' : 'endpoint_type'
  const face = cloud[field]?.replace(/URL$/, '').toLowerCase()
  if (face === undefined || ['public', 'internal', 'admin'].includes(face)) return face
  report(field, 'must be public, internal or admin')
  return undefined
}

function isFalse(value: string | undefined): boolean {
  return value !== undefined && ['false', 'no', '0'].includes(value.toLowerCase())
}

function isTrue(value: string | undefined): boolean {
  return value !== undefined && ['true', 'yes', '1'].includes(value.toLowerCase())
}
