import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Failure, ServiceError } from '../http-client/errors.ts'
import { adviceFor } from './advice.ts'
import type { CloudLogin, Identity } from './login.ts'

const url = 'https://keystone.example:5000/v3'
const password: CloudLogin = { url, identity: { method: 'password', user: { id: 'u1' }, password: 'p' } }
const identity: Identity = { method: 'application_credential', credential: { id: 'a1' }, secret: 's' }
const credential: CloudLogin = { url, identity }
const token: CloudLogin = { url, identity: { method: 'token', token: 't' } }

function refusal(service: string, status: number): ServiceError {
  return new ServiceError('refused', { service, kind: 'answer', status })
}

function tlsError(code: string): ServiceError {
  const failure: Failure = { service: 'keystone', kind: 'connection' }
  return new ServiceError(code, failure, { cause: Object.assign(new Error(code), { code }) })
}

const cases: Record<string, [error: unknown, login: CloudLogin | undefined, advice: RegExp | undefined]> = {
  'a refused password': [refusal('keystone', 401), password, /check user, password.*role in the project/],
  'a refused application credential': [refusal('keystone', 401), credential, /application_credential_secret.*expired/],
  'a deleted application credential': [refusal('keystone', 404), credential, /was deleted.*auth_url/],
  'an expired token': [refusal('keystone', 404), token, /token.*expired.*auth_url/],
  'no Keystone at this URL': [refusal('keystone', 404), password, /^auth_url must be/],
  'a refused account of Contrabass': [refusal('keystone', 401), undefined, undefined],
  'a role too few': [refusal('nova', 403), undefined, /such as reader/],
  'a port that does not exist': [refusal('neutron', 404), password, undefined],
  'a private CA with a clouds.yaml': [tlsError('SELF_SIGNED_CERT_IN_CHAIN'), password, /Secret, with the key cacert/],
  'a private CA with Contrabass': [tlsError('UNABLE_TO_VERIFY_LEAF_SIGNATURE'), undefined, /OPENSTACK_CA_FILE/],
  'no connection': [tlsError('ECONNREFUSED'), password, undefined],
  'Contrabass itself': [refusal('contrabass', 403), undefined, undefined],
}
for (const [name, [error, login, advice]] of Object.entries(cases))
  test(name, () => {
    const actual = adviceFor(error, login)
    if (advice) assert.match(actual ?? '', advice)
    else assert.equal(actual, undefined)
  })
