/** Whatever is written into our files: it is taken, or refused with the field named and no secret shown. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { kubeconfigFrom } from '../../src/kube/config.ts'
import { rulesFrom } from '../../src/operator/policy.ts'
import { knownFrom } from '../../src/server/tokens.ts'
import { routingFrom } from '../../src/viola/targets/routing.ts'
import { brokenYaml } from './breaking.ts'
import { fuzzDoor, refusalOf } from './door.ts'

const secret = 'a-token-that-nobody-may-see'
const kubeconfig = {
  'current-context': 'biz',
  clusters: [
    {
      name: 'biz',
      cluster: {
        server: 'https://127.0.0.1:6443/base/',
        'certificate-authority-data': Buffer.from('ca').toString('base64'),
        'tls-server-name': 'kubernetes',
      },
    },
  ],
  users: [{ name: 'me', user: { token: secret } }],
  contexts: [{ name: 'biz', context: { cluster: 'biz', user: 'me', namespace: 'multinic-system' } }],
}

/** A token that is written where a name belongs is a name. */
const hasOnlyToken = (text: string) =>
  !text.replace(/\b(kubeT|t)oken"?: ?"?a-token-that-nobody-may-see/g, '').includes(secret)

test('kubeconfigs: the field is named, its value is not', async () => {
  await fuzzDoor(
    brokenYaml(kubeconfig),
    async text => {
      const said = await refusalOf(() => kubeconfigFrom(text))
      if (said === undefined) return 'taken'
      if (hasOnlyToken(text)) assert.ok(!said.includes(secret), said)
      assert.match(said, /^(file|[\w.-]+|(clusters|users|contexts)\[.*?): |^is not valid YAML$/su)
      return 'refused'
    },
    { atLeast: { taken: 200, refused: 1_000 } },
  )
})

test('the routing file of Viola: the field is named, its value is not', async () => {
  const routing = {
    strict: false,
    default: { namespace: 'multinic-system', inCluster: true },
    targets: [
      { providerId: 'a', namespace: 'multinic-system', kubeconfig: 'a.kubeconfig', context: 'biz' },
      { providerId: 'b', kubeconfigSecret: 'multinic-system/b', kubeconfigKey: 'value' },
      { providerId: 'c', kubeApiServer: 'https://c:6443', kubeToken: secret, kubeCaPath: 'c.crt' },
      { providerId: 'd', mode: 'ssh', sshHost: 'd' },
    ],
  }
  await fuzzDoor(
    brokenYaml(routing),
    async text => {
      const said = await refusalOf(() => routingFrom(text, { namespace: 'multinic-system' }))
      if (said === undefined) return 'taken'
      if (hasOnlyToken(text)) assert.ok(!said.includes(secret), said)
      assert.match(said, /^(strict|default|targets|file)\b|^is not valid YAML$/)
      return 'refused'
    },
    { atLeast: { taken: 500, refused: 1_000 } },
  )
})

test('the file of tokens: the field is named, no token is shown', async () => {
  const tokens = [
    { name: 'operator', token: secret, providers: ['*'], roles: ['admin'] },
    { name: 'reader', sha256: 'a'.repeat(64), roles: ['read'] },
    { name: 'team', certificate: 'team-1', providers: ['p1'] },
  ]
  await fuzzDoor(
    brokenYaml({ tokens }),
    async text => {
      const said = await refusalOf(() => knownFrom(text))
      if (said === undefined) return 'taken'
      if (hasOnlyToken(text)) assert.ok(!said.includes(secret), said)
      assert.match(said, /^(tokens|file)\b|^is not valid YAML$/)
      return 'refused'
    },
    { atLeast: { taken: 200, refused: 1_000 } },
  )
})

test('the rules of namespaces: the field is named', async () => {
  const rules = {
    namespaces: { 'team-a': { openstackProviders: ['c'], k8sProviders: ['b'], projects: ['p'] }, 'lab-*': {} },
  }
  await fuzzDoor(
    brokenYaml(rules),
    async text => {
      const said = await refusalOf(() => rulesFrom(text))
      if (said === undefined) return 'taken'
      assert.match(said, /^(namespaces|file)\b|^is not valid YAML/)
      return 'refused'
    },
    { atLeast: { taken: 200, refused: 1_000 } },
  )
})
