/**
 * How an object reaches its cloud: the account of a Secret with a clouds.yaml, and the settings that apply to it.
 */
import { X509Certificate } from 'node:crypto'
import type { OpenstackConfig, OpenstackConfigSpec } from '../../contract/openstack-config.ts'
import type { SettingName } from '../../contract/settings.ts'
import type { CloudAccount, EndpointOwner, EndpointOwners, OpenStackAccess } from '../../openstack/cloud.ts'
import type { OpenStackClouds } from '../../openstack/clouds.ts'
import type { NamedCloud, parseCloudsYaml } from '../../openstack/clouds-yaml.ts'
import type { CloudLogin } from '../../openstack/login.ts'
import type { Cloud } from '../cloud.ts'
import type { SyncSettings } from '../config.ts'
import { configError } from '../sync-error.ts'

type CloudOverrides = Pick<NamedCloud, 'region' | 'interface' | 'verify' | 'neutronEndpoint' | 'novaEndpoint'>

export interface CloudCredentials {
  account: CloudAccount
  /** Of a clouds.yaml: used instead of the operator's settings, unless the object sets them. */
  cloud?: CloudOverrides
}

type CloudSecretRef = NonNullable<OpenstackConfigSpec['cloudSecretRef']>

export interface CloudSecretSources {
  /** The value of a key of a Secret. Undefined if either is missing. */
  secret(namespace: string, name: string, key: string): Promise<string | undefined>
  parseCloudsYaml: typeof parseCloudsYaml
}

const caKey = 'cacert'

export async function cloudSecretFor(
  { metadata: { namespace = '' } }: OpenstackConfig,
  ref: CloudSecretRef,
  { secret, parseCloudsYaml }: CloudSecretSources,
): Promise<{ account: { login: CloudLogin; ca?: string }; cloud: CloudOverrides }> {
  const { name, key = 'clouds.yaml', cloud: cloudName } = ref
  const content = await secret(namespace, name, key)
  if (!content?.trim())
    throw configError([
      `spec.cloudSecretRef: the Secret ${name} with the key ${key} is missing in namespace ${namespace}`,
    ])
  const parsed = parseCloudsYaml(content, cloudName)
  const origin = `Secret ${name}: ${key}`
  if ('errors' in parsed) throw configError(parsed.errors.map(error => `${origin}: ${error}`))
  const { login, cacert, ...cloud } = parsed.cloud
  const ca = isCertificate(cacert) ? cacert : await secret(namespace, name, caKey)
  if (cacert && !ca)
    throw configError([
      `${origin}: cacert names a file that the operator does not have; add its content to the Secret with the key ${caKey}`,
    ])
  if (ca && !isReadable(ca)) throw configError([`Secret ${name}: ${caKey} is not a certificate in PEM`])
  return { account: { login, ...(ca && { ca }) }, cloud }
}

/** Opens the cloud that an object names. */
export function cloudOpener(clouds: Pick<OpenStackClouds, 'open'>) {
  return (user: string, config: OpenstackConfig, settings: SyncSettings, credentials: CloudCredentials): Cloud =>
    clouds.open({ user, ...cloudAccess(config, settings, credentials) })
}

/** A setting of the object takes precedence over the file, and the file over the operator's settings. */
function cloudAccess(
  config: OpenstackConfig,
  settings: SyncSettings,
  { account, cloud }: CloudCredentials,
): OpenStackAccess {
  const { openstack, origins } = settings
  const endpoints = endpointOwners(config, settings, cloud)
  if (!cloud) return { settings: openstack, account, endpoints }
  const { interface: face, region, verify, neutronEndpoint, novaEndpoint } = cloud
  return {
    account,
    endpoints,
    settings: {
      ...openstack,
      openstackInsecureTLS: openstack.openstackInsecureTLS || !verify,
      ...(face && origins.openstackEndpointInterface !== 'object' && { endpointInterface: face }),
      ...(region && origins.openstackEndpointRegion !== 'object' && { endpointRegion: region }),
      ...(neutronEndpoint && origins.openstackNeutronEndpoint !== 'object' && { neutronEndpoint }),
      ...(novaEndpoint && origins.openstackNovaEndpoint !== 'object' && { novaEndpoint }),
    },
  }
}

function endpointOwners(
  { metadata: { namespace = '' } }: OpenstackConfig,
  { origins }: SyncSettings,
  cloud: CloudOverrides | undefined,
): EndpointOwners {
  const object = { namespace }
  const named = (name: SettingName, inFile: string | undefined, otherwise: EndpointOwner): EndpointOwner => {
    if (inFile || origins[name] === 'object') return object
    return origins[name] === 'environment' ? 'operator' : otherwise
  }
  const contrabass = named('contrabassEndpoint', undefined, 'operator')
  const keystone = cloud || contrabass === object ? object : 'ownContrabass'
  return {
    contrabass,
    keystone,
    neutron: named('openstackNeutronEndpoint', cloud?.neutronEndpoint, keystone),
    nova: named('openstackNovaEndpoint', cloud?.novaEndpoint, keystone),
  }
}

function isCertificate(text: string | undefined): boolean {
  return text?.includes('-----BEGIN CERTIFICATE-----') ?? false
}

function isReadable(certificate: string): boolean {
  try {
    new X509Certificate(certificate)
    return true
  } catch {
    return false
  }
}
