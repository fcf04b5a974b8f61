/**
 * What a user can do about an error of a cloud. Keystone answers 401 to a wrong password, a missing role and an expired
 * credential alike, and the code of a TLS error names no setting.
 */
import { ServiceError } from '../http-client/errors.ts'
import type { CloudLogin, Identity } from './login.ts'

const ofLogin: Record<Identity['method'], string> = {
  password:
    'in the clouds.yaml, check user, password, project and both domains of auth; the user needs a role in the project, such as reader',
  application_credential:
    'in the clouds.yaml, check application_credential_id and application_credential_secret; if the credential expired or was deleted, or its user lost the role, create a new one',
  token: 'the token in the clouds.yaml is wrong, expired or revoked; use an application credential, which lasts',
}

const privateAuthority = [
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
]

/** `login`: of a clouds.yaml. Undefined for an account of Contrabass. */
export function adviceFor(error: unknown, login: CloudLogin | undefined): string | undefined {
  if (!(error instanceof ServiceError) || error.service === 'contrabass') return undefined
  const { service, status, cause } = error
  const code = cause instanceof Error && 'code' in cause ? String(cause.code) : ''
  if (privateAuthority.includes(code))
    return login
      ? 'add the certificate of the private authority to the Secret, with the key cacert'
      : 'give the operator the certificate of the private authority (OPENSTACK_CA_FILE)'
  if (status === 403) return 'give the account a role that may read the project, such as reader'
  if (!login || service !== 'keystone') return undefined
  if (status === 401) return ofLogin[login.identity.method]
  if (status !== 404) return undefined
  // Of a deleted application credential or an unknown token, or of a service that is not Keystone.
  const { method } = login.identity
  return [...(method === 'password' ? [] : [ofLogin[method]]), 'auth_url must be the URL of Keystone v3'].join('; ')
}
