/** Broken configuration files are accepted, or refused with the field and without any secret. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { kubeconfigFrom } from '../../src/kube/config.ts'
import { rulesFrom } from '../../src/operator/limits/namespace-rules.ts'
import { knownFrom } from '../../src/server/tokens.ts'
import { routingFrom } from '../../src/viola/targets/routing.ts'
import { brokenYaml } from './broken-inputs.ts'
import { fuzz, refusalOf } from './fuzz.ts'

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

/** A token in a field other than the token field is not a secret. */
const secretOnlyInToken = (text: string) =>
  !text.replace(/\b(kubeT|t)oken"?: ?"?a-token-that-nobody-may-see/g, '').includes(secret)

test('broken kubeconfigs: the error shows the field but not its value', async () => {
  await fuzz(
    brokenYaml(kubeconfig),
    async text => {
      const message = await refusalOf(() => kubeconfigFrom(text))
      if (message === undefined) return 'accepted'
      if (secretOnlyInToken(text)) assert.ok(!message.includes(secret), message)
      assert.match(message, /^(file|[\w.-]+|(clusters|users|contexts)\[.*?): |^is not valid YAML$/su)
      return 'refused'
    },
    { atLeast: { accepted: 200, refused: 1_000 } },
  )
})

test('broken routing files of Viola: the error shows the field but not its value', async () => {
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
  await fuzz(
    brokenYaml(routing),
    async text => {
      const message = await refusalOf(() => routingFrom(text, { namespace: 'multinic-system' }))
      if (message === undefined) return 'accepted'
      if (secretOnlyInToken(text)) assert.ok(!message.includes(secret), message)
      assert.match(message, /^(strict|default|targets|file)\b|^is not valid YAML$/)
      return 'refused'
    },
    { atLeast: { accepted: 500, refused: 1_000 } },
  )
})

test('broken token files: the error shows the field but no token', async () => {
  const tokens = [
    { user: 'operator', token: secret, groups: ['network-team'] },
    { user: 'reader', sha256: 'a'.repeat(64) },
  ]
  await fuzz(
    brokenYaml({ tokens }),
    async text => {
      const message = await refusalOf(() => knownFrom(text))
      if (message === undefined) return 'accepted'
      if (secretOnlyInToken(text)) assert.ok(!message.includes(secret), message)
      assert.match(message, /^(tokens|file)\b|^is not valid YAML$/)
      return 'refused'
    },
    { atLeast: { accepted: 200, refused: 1_000 } },
  )
})

test('broken namespace rules: the error shows the field', async () => {
  const rules = {
    namespaces: { 'team-a': { hosts: ['h'], openstackProviders: ['c'], k8sProviders: ['b'], projects: ['p'] } },
  }
  await fuzz(
    brokenYaml(rules),
    async text => {
      const message = await refusalOf(() => rulesFrom(text))
      if (message === undefined) return 'accepted'
      assert.match(message, /^(namespaces|file)\b|^is not valid YAML/)
      return 'refused'
    },
    { atLeast: { accepted: 200, refused: 1_000 } },
  )
})
