import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Route, routeOf, routingFrom, routingTo } from './routing.ts'

const local: Route = { namespace: 'multinic-system', access: { by: 'pod' } }
const routesIn = (text: string) => routingFrom(text, local)

const cases: Record<string, [file: string, providerId: string, route: Route | undefined]> = {
  'legacy format: a server with token and CA, and the namespace of the default': [
    `
    strict: true
    default: { namespace: biz, kubeCaPath: /etc/ca.crt }
    targets:
      - { providerId: a, mode: local, kubeApiServer: "https://10.0.0.1:6443", kubeToken: t0k3n, kubectlPath: kubectl }`,
    'a',
    {
      namespace: 'biz',
      access: { by: 'server', server: 'https://10.0.0.1:6443', token: 't0k3n', caPath: '/etc/ca.crt' },
    },
  ],
  'the token of the target overrides the token file of the default': [
    `
    default: { kubeApiServer: "https://d", kubeTokenFile: d.token }
    targets: [{ providerId: a, kubeToken: own }]`,
    'a',
    { namespace: 'multinic-system', access: { by: 'server', server: 'https://d', token: 'own' } },
  ],
  'a kubeconfig': [
    'targets: [{ providerId: a, kubeconfig: a.kubeconfig, context: biz }]',
    'a',
    { namespace: 'multinic-system', access: { by: 'kubeconfig', path: 'a.kubeconfig', context: 'biz' } },
  ],
  'a kubeconfig in a Secret of the default namespace or another': [
    'default: { kubeconfigSecret: elsewhere/d }\ntargets: [{ providerId: a, kubeconfigSecret: a, kubeconfigKey: k }]',
    'a',
    {
      namespace: 'multinic-system',
      access: { by: 'secret', namespace: 'multinic-system', name: 'a', key: 'k' },
    },
  ],
  'the cluster that Viola runs in': [
    'targets: [{ providerId: a, inCluster: true, namespace: x }]',
    'a',
    { namespace: 'x', access: { by: 'pod' } },
  ],
  'a target without access uses that of the default, with its own namespace': [
    'default: { kubeconfig: d }\ntargets: [{ providerId: a, namespace: x, kubeToken: "" }]',
    'a',
    { namespace: 'x', access: { by: 'kubeconfig', path: 'd' } },
  ],
  'a name, which targets do not inherit': [
    'default: { name: Elsewhere }\ntargets: [{ providerId: a, name: Seoul 1, inCluster: true }]',
    'a',
    { namespace: 'multinic-system', name: 'Seoul 1', access: { by: 'pod' } },
  ],
  'no name': [
    'default: { name: Elsewhere }\ntargets: [{ providerId: a, inCluster: true, name: "" }]',
    'a',
    { namespace: 'multinic-system', access: { by: 'pod' } },
  ],
  'an unlisted provider uses the default': [
    'default: { kubeconfig: d }',
    'unlisted',
    { namespace: 'multinic-system', access: { by: 'kubeconfig', path: 'd' } },
  ],
  'an unlisted provider is unknown with strict routing': [
    'strict: true\ndefault: { kubeconfig: d }',
    'unlisted',
    undefined,
  ],
  'an unlisted provider is unknown without a default': ['targets: [{ providerId: a }]', 'unlisted', undefined],
  'a file without targets knows no provider': ['strict: false', 'a', undefined],
  'a provider ID that YAML parses as a number': [
    'targets: [{ providerId: 17, inCluster: true }]',
    '17',
    { namespace: 'multinic-system', access: { by: 'pod' } },
  ],
}

for (const [name, [file, providerId, route]] of Object.entries(cases))
  test(name, () => assert.deepEqual(routeOf(routesIn(file), providerId), route))

test('mode ssh is refused with an alternative', () => {
  const route = routeOf(routesIn('targets: [{ providerId: a, mode: ssh, sshHost: h, sshUser: u, sshPass: p }]'), 'a')
  assert.equal(route?.access, undefined)
  assert.match(route?.unusable ?? '', /ssh is not supported: set kubeconfig/)
})

test('without a file all providers share one cluster', () => {
  assert.deepEqual(routeOf(routingTo(local), 'anyone'), local)
})

test('ignored fields are warnings', () => {
  assert.deepEqual(routesIn('targets: [{ providerID: a, inCluster: true }, { providerId: b, sshPort: 22 }]').warnings, [
    'targets[0].providerID is unknown and ignored',
    'targets[0] has no providerId and is ignored',
  ])
})

const broken: Record<string, [file: string, error: RegExp]> = {
  'invalid YAML': ['a: [', /^is not valid YAML$/],
  'a wrong type': ['targets: { a: 1 }', /^targets: /],
  'a server that is not a URL': [
    'targets: [{ providerId: a, kubeApiServer: somewhere }]',
    /^targets\[0\]\.kubeApiServer: /,
  ],
  'a name of two lines': ['targets: [{ providerId: a, name: "s3cret\\nb" }]', /^targets\[0\]\.name: must be one line/],
  'a name that is too long': [
    `targets: [{ providerId: a, name: ${'s3cret'.repeat(50)} }]`,
    /^targets\[0\]\.name: .*255/,
  ],
  'a duplicate provider': [
    'targets: [{ providerId: a, kubeToken: s3cret }, { providerId: a }]',
    /^targets\[1\]\.providerId: is listed twice$/,
  ],
}

for (const [name, [file, error]] of Object.entries(broken)) {
  test(`${name} is an error without values`, () => {
    assert.throws(
      () => routesIn(file),
      (thrown: Error) => error.test(thrown.message) && !thrown.message.includes('s3cret'),
    )
  })
}
