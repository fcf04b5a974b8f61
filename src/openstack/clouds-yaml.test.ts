import assert from 'node:assert/strict'
import { test } from 'node:test'
import { stringify } from 'yaml'
import { notServiceUrl } from '../contract/url.ts'
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
const noSecret = 'is required; a secure.yaml beside the file is not read'
const notKeystone =
  'clouds.mine.auth.auth_url: must be the URL of Keystone v3 and nothing else, such as https://keystone.example:5000/v3'
const notServiceUrlAt = (field: string) => `clouds.mine.${field}: ${notServiceUrl}`
const isPlaceholder = 'is a placeholder; the operator does not replace variables, so write the value itself'
const refusals: Record<string, [cloud: object, errors: string[]]> = {
  'no account': [{}, ['clouds.mine.auth: must contain auth_url and an account']],
  'no URL': [{ auth: withoutUrl }, ['clouds.mine.auth.auth_url: is required: the URL of Keystone']],
  'a URL of another kind': [{ auth: { ...auth, auth_url: 'file:///etc/passwd' } }, [notServiceUrlAt('auth.auth_url')]],
  'no user, password and project, all at once': [
    { auth: { auth_url: auth.auth_url } },
    ['clouds.mine.auth.username: is required, or user_id', `clouds.mine.auth.password: ${noSecret}`],
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
  'Keystone v2.0': [{ auth: { ...auth, auth_url: 'https://keystone.example:5000/v2.0/' } }, [notKeystone]],
  'the path of the token request': [
    { auth: { ...auth, auth_url: 'https://keystone.example:5000/v3/auth/tokens' } },
    [notKeystone],
  ],
  'an account in the URL': [
    { auth: { ...auth, auth_url: 'https://demo:secret@keystone.example:5000' } },
    [notServiceUrlAt('auth.auth_url')],
  ],
  'a URL without http': [
    { auth: { ...auth, auth_url: 'keystone.example:5000/v3' } },
    [notServiceUrlAt('auth.auth_url')],
  ],
  'a query in an endpoint': [
    { auth, network_endpoint_override: 'http://neutron.example/admin/delete?all=1&x=' },
    [notServiceUrlAt('network_endpoint_override')],
  ],
  'an empty query in an endpoint': [
    { auth, compute_endpoint_override: 'http://nova.example/delete?' },
    [notServiceUrlAt('compute_endpoint_override')],
  ],
  'a fragment in an endpoint': [
    { auth, compute_endpoint_override: 'http://nova.example/delete#' },
    [notServiceUrlAt('compute_endpoint_override')],
  ],
  'a user in an endpoint': [
    { auth, network_endpoint_override: 'http://user@neutron.example' },
    [notServiceUrlAt('network_endpoint_override')],
  ],
  'an older kind of login': [
    { auth, auth_type: 'v2password' },
    ['clouds.mine.auth_type: is not supported; use password, v3password, v3applicationcredential, token, v3token'],
  ],
  'an application credential of the kind password': [
    {
      auth: { auth_url: auth.auth_url, application_credential_id: 'a1', application_credential_secret: 's' },
      auth_type: 'v3password',
    },
    ['clouds.mine.auth_type: is password, but auth has no password; remove auth_type, or name the type of the account'],
  ],
  'a password of a secure.yaml': [{ auth: { ...auth, password: null } }, [`clouds.mine.auth.password: ${noSecret}`]],
  'a variable of the shell': [
    { auth: { ...auth, username: '$OS_USERNAME', password: `\${OS_PASSWORD}` } },
    [`clouds.mine.auth.username: ${isPlaceholder}`, `clouds.mine.auth.password: ${isPlaceholder}`],
  ],
  'a variable of a template': [
    { auth: { ...auth, password: '{{ vault.password }}' } },
    [`clouds.mine.auth.password: ${isPlaceholder}`],
  ],
  'the scope of the system': [
    { auth: { ...auth, system_scope: 'all' } },
    ['clouds.mine.auth.system_scope: is not supported; name an account and its project'],
  ],
  'the scope of a domain': [
    { auth: { auth_url: auth.auth_url, user_id: 'u1', password: 'p', domain_id: 'default' } },
    ['clouds.mine.auth.project_id: is required, or project_name: the operator works in one project'],
  ],
  'a path instead of a flag': [{ auth, verify: '/etc/ssl/cloud.pem' }, ['clouds.mine.verify: must be true or false']],
  'Keystone 2': [{ auth, identity_api_version: 2 }, ['clouds.mine.identity_api_version: must be 3']],
  'a client certificate': [
    { auth, cert: '/etc/ssl/client.pem' },
    ['clouds.mine.cert: client certificates are not supported; remove it'],
  ],
  'text instead of an account': [{ auth: 'admin' }, ['clouds.mine.auth: must contain auth_url and an account']],
  'a list as a password': [
    { auth: { ...auth, password: ['a', 'b'] } },
    ['clouds.mine.auth.password: must be a single value'],
  ],
}
for (const [name, [cloud, errors]] of Object.entries(refusals))
  test(`${name} is refused with the field`, () => assert.deepEqual(errorsIn({ clouds: { mine: cloud } }), errors))

test('every value is text as it is written', () => {
  const written = [
    'clouds:',
    '  mine:',
    '    auth:',
    '      auth_url: https://keystone.example:5000/v3',
    '      user_id: 12345678901234567890123456789012',
    '      password: 0123',
    '      project_id: 123e4567890123456789012345678901',
    '    cacert: |',
    '      -----BEGIN CERTIFICATE-----',
    '      MIIB',
  ]
  const parsed = parseCloudsYaml(written.join('\n'))
  assert.ok('cloud' in parsed, JSON.stringify(parsed))
  assert.deepEqual(parsed.cloud.login.identity, {
    method: 'password',
    user: { id: '12345678901234567890123456789012' },
    password: '0123',
  })
  assert.deepEqual(parsed.cloud.login.project, { id: '123e4567890123456789012345678901' })
  assert.equal(parsed.cloud.cacert, '-----BEGIN CERTIFICATE-----\nMIIB')
  for (const [password, text] of [
    ['" a\\tb "', ' a\tb '],
    ['True', 'True'],
    ['1.10', '1.10'],
  ] as const) {
    const again = parseCloudsYaml(written.with(5, `      password: ${password}`).join('\n'))
    assert.ok('cloud' in again && again.cloud.login.identity.method === 'password')
    assert.equal(again.cloud.login.identity.password, text)
  }
})

test('a byte order mark, Windows newlines, JSON and merged anchors are read', () => {
  const content = stringify({ clouds: { mine: { auth } } })
  const merged = `account: &account\n  user_id: u1\n  password: p\nclouds:\n  mine:\n    auth:\n      <<: *account\n      auth_url: https://keystone.example\n      project_id: p1\n`
  for (const file of [
    `\ufeff${content}`,
    content.replaceAll('\n', '\r\n'),
    JSON.stringify({ clouds: { mine: { auth } } }),
    merged,
  ])
    assert.ok('cloud' in parseCloudsYaml(file), file)
})

test('a file that would keep the parser busy for minutes is refused before it is parsed', () => {
  const tooLarge = 'is too large or too deeply nested; keep only the clouds that the objects use (at most 16 KiB)'
  const keys = (count: number, separator: string) => Array.from({ length: count }, (_, n) => `k${n}`).join(separator)
  for (const file of [
    ...['? '.repeat(1_024), '['.repeat(8_000), '{'.repeat(8_000), '- '.repeat(8_000)],
    ...[`{${keys(2_000, ',')}}`, keys(2_000, ': \n'), ' '.repeat(17 * 1_024)],
  ])
    assert.deepEqual(errorsIn(file), [tooLarge], file.slice(0, 20))
})

test('a file that is not a clouds.yaml is refused, and its content is not shown', () => {
  assert.deepEqual(errorsIn('password: correct horse'), [
    'clouds: is missing; the file must contain one entry per cloud under clouds',
  ])
  for (const file of ['', 'clouds: {}', 'clouds: [a]', 'public-clouds: {a: {}}'])
    assert.deepEqual(errorsIn(file), ['clouds: is missing; the file must contain one entry per cloud under clouds'])
  const [broken = ''] = errorsIn('clouds:\n  mine:\n    auth: {password: "correct horse\n')
  assert.match(broken, /^is not YAML: \w+ in line \d+$/)
  const bomb = `a: &a [x, x, x, x, x, x, x, x, x]\n${[...'bcdefghij'].map((n, i) => `${n}: &${n} [${Array(9).fill(`*${'abcdefghij'[i]}`)}]`).join('\n')}\nclouds: *j`
  assert.deepEqual(errorsIn(bomb), ['is not YAML: it has an alias without an anchor, or too many aliases'])
})
