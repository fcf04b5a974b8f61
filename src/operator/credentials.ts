/**
 * Which key and token a sync may use: credentials follow endpoints (G9).
 *
 * An endpoint that an OpenstackConfig names gets only what lies in that object's own namespace. The operator's own key,
 * token and client certificate go only to the operator's own endpoints: else an object could point an admin password at
 * any host.
 */
import type { OpenstackConfig } from '../contract/openstack-config.ts'
import type { SyncSettings } from './config.ts'
import { configError } from './sync-error.ts'

export interface ViolaCredentials {
  /** Bearer token for Viola. */
  violaToken?: string
  /** The operator's own client certificate may be shown to Viola. */
  violaClientCertificate: boolean
}

export interface Credentials extends ViolaCredentials {
  encryptKey: string
}

export interface CredentialSources {
  /** The value of a key of a Secret; undefined when either is missing. */
  secret(namespace: string, name: string, key: string): Promise<string | undefined>
  /** The operator's own token for Viola. */
  ownViolaToken(): Promise<string | undefined>
}

export const wellKnownSecret = { name: 'contrabass-encrypt-key', key: 'CONTRABASS_ENCRYPT_KEY' } as const

export async function credentialsFor(
  config: OpenstackConfig,
  settings: SyncSettings,
  sources: CredentialSources,
): Promise<Credentials> {
  const encryptKey = await encryptKeyFor(config, settings, sources)
  return { encryptKey, ...(await violaCredentialsFor(config, settings, sources)) }
}

export async function violaCredentialsFor(
  config: OpenstackConfig,
  settings: SyncSettings,
  sources: CredentialSources,
): Promise<ViolaCredentials> {
  const violaToken = await violaTokenFor(config, settings, sources)
  const violaClientCertificate = settings.origins.violaEndpoint === 'environment'
  return { violaClientCertificate, ...(violaToken !== undefined && { violaToken }) }
}

async function encryptKeyFor(
  config: OpenstackConfig,
  settings: SyncSettings,
  { secret }: CredentialSources,
): Promise<string> {
  const namespace = config.metadata.namespace ?? ''
  const named = config.spec.secrets?.contrabassEncryptKeySecretRef
  if (named) {
    const value = (await secret(namespace, named.name, named.key))?.trim()
    if (!value) throw missing('contrabassEncryptKeySecretRef', named)
    return value
  }
  const shared = (await secret(namespace, wellKnownSecret.name, wellKnownSecret.key))?.trim()
  if (shared) return shared
  const { encryptKey, origins } = settings
  if (encryptKey && origins.contrabassEncryptKey === 'object') return encryptKey
  if (encryptKey && origins.contrabassEncryptKey === 'environment') return operatorsOwn(encryptKey, settings)
  throw configError([
    `no encryption key: name a Secret in spec.secrets.contrabassEncryptKeySecretRef, or create Secret ${wellKnownSecret.name} with ${wellKnownSecret.key} in namespace ${namespace}`,
  ])
}

/** Every address that the opened password or its token would be sent to must be the operator's own. */
function operatorsOwn(key: string, { origins }: SyncSettings): string {
  const named = (['contrabassEndpoint', 'openstackNeutronEndpoint', 'openstackNovaEndpoint'] as const).filter(
    name => origins[name] === 'object',
  )
  if (named.length === 0) return key
  throw configError(
    named.map(
      name =>
        `spec.settings.${name}: the operator’s own encryption key is not used for an address that an object names; add a Secret with the key to this namespace, or remove the setting`,
    ),
  )
}

async function violaTokenFor(
  config: OpenstackConfig,
  settings: SyncSettings,
  { secret, ownViolaToken }: CredentialSources,
): Promise<string | undefined> {
  const named = config.spec.secrets?.violaTokenSecretRef
  if (named) {
    const value = (await secret(config.metadata.namespace ?? '', named.name, named.key))?.trim()
    if (!value) throw missing('violaTokenSecretRef', named)
    return value
  }
  return settings.origins.violaEndpoint === 'environment' ? ownViolaToken() : undefined
}

function missing(field: string, { name, key }: { name: string; key: string }): Error {
  return configError([`spec.secrets.${field}: there is no Secret ${name} with a value under ${key} in this namespace`])
}
