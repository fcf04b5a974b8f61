/**
 * Which key and token a sync may use: credentials follow endpoints (G9).
 *
 * An endpoint that an OpenstackConfig names gets only credentials of that object's namespace. The operator's own key,
 * token and client certificate go only to the operator's own endpoints. Otherwise an object could send an admin password
 * to any host.
 */
import type { OpenstackConfig } from '../../contract/openstack-config.ts'
import type { SettingName } from '../../contract/settings.ts'
import type { SyncSettings } from '../config.ts'
import { configError } from '../sync-error.ts'
import { type CloudCredentials, type CloudSecretSources, cloudSecretFor } from './cloud-access.ts'

export interface ViolaCredentials {
  /** Bearer token for Viola. */
  violaToken?: string
  /** The operator's own client certificate may be presented to Viola. */
  violaClientCertificate: boolean
}

export interface Credentials extends ViolaCredentials, CloudCredentials {
  /** The key is the operator's own: what it decrypts is not for the object's namespace. */
  usesOwnKey: boolean
}

export interface CredentialSources extends CloudSecretSources {
  /** The operator's own token for Viola. */
  ownViolaToken(): Promise<string | undefined>
}

export const wellKnownSecret = { name: 'contrabass-encrypt-key', key: 'CONTRABASS_ENCRYPT_KEY' } as const

/** The Secrets of its namespace that an object names, or that the operator reads for it by their well-known name. */
export function secretsUsedBy({ spec: { secrets = {}, cloudSecretRef } }: OpenstackConfig): string[] {
  const { contrabassEncryptKeySecretRef: encryptKey, violaTokenSecretRef, rabbitmqSecretRef } = secrets
  const account = cloudSecretRef ?? encryptKey ?? wellKnownSecret
  const names = [account, violaTokenSecretRef, rabbitmqSecretRef].flatMap(ref => ref?.name ?? [])
  return [...new Set(names)]
}

/** Equal for objects that name the same cloud. Whether they use the same account does not matter. */
export function cloudOf({ spec, metadata }: OpenstackConfig): string {
  if (spec.cloudSecretRef) return JSON.stringify([metadata.namespace, spec.cloudSecretRef])
  return JSON.stringify([spec.settings?.contrabassEndpoint, spec.credentials?.openstackProviderID])
}

export async function credentialsFor(
  config: OpenstackConfig,
  settings: SyncSettings,
  sources: CredentialSources,
): Promise<Credentials> {
  const account = await accountFor(config, settings, sources)
  return { ...account, ...(await violaCredentialsFor(config, settings, sources)) }
}

export async function violaCredentialsFor(
  config: OpenstackConfig,
  settings: SyncSettings,
  sources: CredentialSources,
): Promise<ViolaCredentials> {
  const violaClientCertificate = settings.origins.violaEndpoint === 'environment'
  if (violaClientCertificate) verifyTLS(settings, ['violaInsecureTLS'], 'its own Viola')
  const violaToken = await violaTokenFor(config, settings, sources)
  return { violaClientCertificate, ...(violaToken !== undefined && { violaToken }) }
}

async function accountFor(
  config: OpenstackConfig,
  settings: SyncSettings,
  sources: CredentialSources,
): Promise<Omit<Credentials, keyof ViolaCredentials>> {
  const { cloudSecretRef, credentials: { openstackProviderID, projectID } = {} } = config.spec
  if (cloudSecretRef) {
    if (openstackProviderID !== undefined) throw configError([onlyOneAccount])
    return { ...(await cloudSecretFor(config, cloudSecretRef, sources)), usesOwnKey: false }
  }
  if (openstackProviderID === undefined) throw configError([onlyOneAccount])
  if (projectID === undefined) throw configError(['spec.credentials.projectID: is required'])
  const { encryptKey, usesOwnKey } = await encryptKeyFor(config, settings, sources)
  const projectId = projectID.replaceAll('-', '').toLowerCase()
  const { contrabassEndpoint: endpoint } = settings.openstack
  const account = { endpoint, providerId: openstackProviderID, projectId, encryptKey }
  return { account, usesOwnKey }
}

const onlyOneAccount = 'spec: exactly one of cloudSecretRef and credentials.openstackProviderID is required'

async function encryptKeyFor(
  config: OpenstackConfig,
  settings: SyncSettings,
  { secret }: CredentialSources,
): Promise<{ encryptKey: string; usesOwnKey: boolean }> {
  const ofNamespace = (encryptKey: string) => ({ encryptKey, usesOwnKey: false })
  const namespace = config.metadata.namespace ?? ''
  const ref = config.spec.secrets?.contrabassEncryptKeySecretRef
  if (ref) {
    const value = (await secret(namespace, ref.name, ref.key))?.trim()
    if (!value) throw missing('contrabassEncryptKeySecretRef', ref)
    return ofNamespace(value)
  }
  const shared = (await secret(namespace, wellKnownSecret.name, wellKnownSecret.key))?.trim()
  if (shared) return ofNamespace(shared)
  const { origins } = settings
  const { encryptKey } = settings.openstack
  if (encryptKey && origins.contrabassEncryptKey === 'object') return ofNamespace(encryptKey)
  if (encryptKey && origins.contrabassEncryptKey === 'environment')
    return { encryptKey: ownKey(encryptKey, settings), usesOwnKey: true }
  throw configError([
    `no encryption key: name a Secret in spec.secrets.contrabassEncryptKeySecretRef, or create the Secret ${wellKnownSecret.name} with the key ${wellKnownSecret.key} in namespace ${namespace}`,
  ])
}

/** Every endpoint that would receive the decrypted password or its token must be the operator's own. */
function ownKey(key: string, settings: SyncSettings): string {
  const { origins } = settings
  verifyTLS(settings, ['contrabassInsecureTLS', 'openstackInsecureTLS'], 'its own encryption key')
  const named = (['contrabassEndpoint', 'openstackNeutronEndpoint', 'openstackNovaEndpoint'] as const).filter(
    name => origins[name] === 'object',
  )
  if (named.length === 0) return key
  throw configError(
    named.map(
      name =>
        `spec.settings.${name}: the operator does not use its own encryption key for an endpoint that an object names; add a Secret with the key to this namespace, or remove the setting`,
    ),
  )
}

/** An object must not turn off the verification of certificates for credentials of the operator. */
function verifyTLS({ weakenedTLS }: SyncSettings, names: readonly SettingName[], own: string): void {
  const weakened = names.filter(name => weakenedTLS.includes(name))
  if (weakened.length === 0) return
  throw configError(
    weakened.map(
      name =>
        `spec.settings.${name}: an object cannot turn off TLS verification where the operator uses ${own}; remove the setting, and give the operator the CA certificate (*_CA_FILE)`,
    ),
  )
}

async function violaTokenFor(
  config: OpenstackConfig,
  settings: SyncSettings,
  { secret, ownViolaToken }: CredentialSources,
): Promise<string | undefined> {
  const ref = config.spec.secrets?.violaTokenSecretRef
  if (ref) {
    const value = (await secret(config.metadata.namespace ?? '', ref.name, ref.key))?.trim()
    if (!value) throw missing('violaTokenSecretRef', ref)
    return value
  }
  return settings.origins.violaEndpoint === 'environment' ? ownViolaToken() : undefined
}

function missing(field: string, { name, key }: { name: string; key: string }): Error {
  return configError([`spec.secrets.${field}: Secret ${name} with a value for key ${key} not found in this namespace`])
}
