import assert from 'node:assert/strict'
import { test } from 'node:test'
import { stringify } from 'yaml'
import { type NamedCloud, parseCloudsYaml } from './clouds-yaml.ts'

const auth = {
  auth_url: 'https://keystone.example:5000/v3/',
  username: 'demo',
  password: 'correct horse',
  project_name: 'demo',
  user_domain_name: 'Default',
  project_domain_name: 'Default',
}

function cloudIn(cloud: object, name?: string): NamedCloud {
  const parsed = parseCloudsYaml(stringify({ clouds: { mine: cloud } }), name)
  assert.ok('cloud' in parsed, JSON.stringify(parsed))
  return parsed.cloud
}

function errorsIn(content: string | object, name?: string): string[] {
  const parsed = parseCloudsYaml(typeof content === 'string' ? content : stringify(content), name)
  assert.ok('errors' in parsed, JSON.stringify(parsed))
  return parsed.errors
}

const domain = { name: 'Default' }

test('a password with names', () => {
  assert.deepEqual(cloudIn({ auth, region_name: 'RegionOne', interface: 'internal' }), {
    login: {
      url: 'https://keystone.example:5000/v3',
      identity: { method: 'password', user: { name: 'demo', domain }, password: 'correct horse' },
      project: { name: 'demo', domain },
    },
    region: 'RegionOne',
    interface: 'internal',
    verify: true,
  })
})

const logins: Record<string, [auth: object, login: object]> = {
  'a password with ids': [
    { auth_url: auth.auth_url, user_id: 'u1', password: 'p', project_id: 'p1' },
    { identity: { method: 'password', user: { id: 'u1' }, password: 'p' }, project: { id: 'p1' } },
  ],
  'a password that YAML reads as a number': [
    { auth_url: auth.auth_url, user_id: 'u1', password: 12345, project_id: 'p1' },
    { identity: { method: 'password', user: { id: 'u1' }, password: '12345' }, project: { id: 'p1' } },
  ],
  'the default domain': [
    { auth_url: auth.auth_url, username: 'demo', password: 'p', project_name: 'demo' },
    {
      identity: { method: 'password', user: { name: 'demo', domain: { id: 'default' } }, password: 'p' },
      project: { name: 'demo', domain: { id: 'default' } },
    },
  ],
  'an application credential by its ID, without a scope': [
    { auth_url: auth.auth_url, application_credential_id: 'a1', application_credential_secret: 's', project_id: 'p1' },
    { identity: { method: 'application_credential', credential: { id: 'a1' }, secret: 's' } },
  ],
  'an application credential by its name and user': [
    {
      auth_url: auth.auth_url,
      ...{ application_credential_name: 'multinic', application_credential_secret: 's' },
      ...{ username: 'demo', user_domain_name: 'Default' },
    },
    {
      identity: {
        method: 'application_credential',
        credential: { name: 'multinic', user: { name: 'demo', domain } },
        secret: 's',
      },
    },
  ],
  'a token': [
    { auth_url: auth.auth_url, token: 'gAAA', project_id: 'p1' },
    { identity: { method: 'token', token: 'gAAA' }, project: { id: 'p1' } },
  ],
}
for (const [name, [given, login]] of Object.entries(logins))
  test(name, () =>
    assert.deepEqual(cloudIn({ auth: given }).login, { url: 'https://keystone.example:5000/v3', ...login }),
  )

test('endpoints, verification and the certificate authority', () => {
  const {
    verify,
    cacert,
    neutronEndpoint,
    interface: face,
  } = cloudIn({
    auth,
    ...{ verify: false, cacert: '/etc/ssl/cloud.pem', endpoint_type: 'publicURL' },
    network_endpoint_override: 'https://neutron.example/',
  })
  assert.deepEqual(
    [verify, cacert, neutronEndpoint, face],
    [false, '/etc/ssl/cloud.pem', 'https://neutron.example', 'public'],
  )
})

test('of several clouds, the named one, else openstack', () => {
  const clouds = { one: { auth: { ...auth, username: 'one' } }, openstack: { auth } }
  const userOf = (name?: string) => {
    const parsed = parseCloudsYaml(stringify({ clouds }), name)
    assert.ok('cloud' in parsed && parsed.cloud.login.identity.method === 'password')
    return 'name' in parsed.cloud.login.identity.user && parsed.cloud.login.identity.user.name
  }
  assert.deepEqual([userOf(), userOf('one')], ['demo', 'one'])
  assert.deepEqual(errorsIn({ clouds }, 'two'), [
    'clouds: has no cloud two; set spec.cloudSecretRef.cloud to one of one, openstack',
  ])
})

const { auth_url: _, ...withoutUrl } = auth
const refusals: Record<string, [cloud: object, errors: string[]]> = {
  'no account': [{}, ['clouds.mine.auth: must contain auth_url and an account']],
  'no URL': [{ auth: withoutUrl }, ['clouds.mine.auth.auth_url: is required: the URL of Keystone']],
  'a URL of another kind': [
    { auth: { ...auth, auth_url: 'file:///etc/passwd' } },
    ['clouds.mine.auth.auth_url: is not an http or https URL'],
  ],
  'no user, password and project, all at once': [
    { auth: { auth_url: auth.auth_url } },
    ['clouds.mine.auth.username: is required, or user_id', 'clouds.mine.auth.password: is required'],
  ],
  'no project': [
    { auth: { ...auth, project_name: '' } },
    ['clouds.mine.auth.project_id: is required, or project_name: the operator works in one project'],
  ],
  'an application credential without its ID': [
    { auth: { auth_url: auth.auth_url, application_credential_secret: 's' } },
    ['clouds.mine.auth.application_credential_id: is required, or application_credential_name with the user'],
  ],
  'an unknown kind of login': [
    { auth, auth_type: 'v3oidcpassword' },
    ['clouds.mine.auth_type: is not supported; use password, v3password, v3applicationcredential, token, v3token'],
  ],
  'an unknown interface': [{ auth, interface: 'secret' }, ['clouds.mine.interface: must be public, internal or admin']],
  'a vendor profile': [
    { auth, profile: 'rackspace' },
    ['clouds.mine.profile: vendor profiles are not supported; write auth_url and the region here'],
  ],
  'a list as a password': [
    { auth: { ...auth, password: ['a', 'b'] } },
    ['clouds.mine.auth.password: must be a single value'],
  ],
}
for (const [name, [cloud, errors]] of Object.entries(refusals))
  test(`${name} is refused with the field`, () => assert.deepEqual(errorsIn({ clouds: { mine: cloud } }), errors))

test('a file that is not a clouds.yaml is refused, and its content is not shown', () => {
  assert.deepEqual(errorsIn('password: correct horse'), [
    'clouds: is missing; the file must contain one entry per cloud under clouds',
  ])
  const [broken = ''] = errorsIn('clouds:\n  mine:\n    auth: {password: "correct horse\n')
  assert.match(broken, /^is not YAML: \w+ in line \d+$/)
  const bomb = `a: &a [x, x, x, x, x, x, x, x, x]\n${[...'bcdefghij'].map((n, i) => `${n}: &${n} [${Array(9).fill(`*${'abcdefghij'[i]}`)}]`).join('\n')}\nclouds: *j`
  assert.deepEqual(errorsIn(bomb), ['is not YAML: it has an alias without an anchor, or too many aliases'])
})
