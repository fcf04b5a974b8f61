import assert from 'node:assert/strict'
import { mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { inClusterAccess, kubeconfigFrom, loadKubeconfig, tokenFromFile } from './config.ts'

let folder = ''
before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'multinic-config-'))
  await mkdir(join(folder, 'pki'))
  for (const name of ['ca', 'cert', 'key']) await writeFile(join(folder, 'pki', name), `${name} from a file`)
  await writeFile(join(folder, 'token'), 'token from a file\n')
})
after(() => rm(folder, { recursive: true }))

const base64 = (text: string) => Buffer.from(text).toString('base64')

interface Config {
  cluster?: Record<string, unknown>
  user?: Record<string, unknown>
  context?: Record<string, unknown>
  more?: Record<string, unknown>
}

let written = 0
async function kubeconfig({ cluster, user, context, more }: Config): Promise<string> {
  const path = join(folder, `kubeconfig-${++written}`)
  const config = {
    'current-context': 'here',
    clusters: [{ name: 'c', cluster: { server: 'https://10.0.0.1:6443', ...cluster } }],
    users: [{ name: 'u', user }],
    contexts: [{ name: 'here', context: { cluster: 'c', user: 'u', ...context } }],
    ...more,
  }
  await writeFile(path, JSON.stringify(config))
  return path
}

test('a token and an inline CA', async () => {
  const path = await kubeconfig({
    cluster: { 'certificate-authority-data': base64('inline ca') },
    user: { token: 'secret' },
    context: { namespace: 'multinic-system' },
  })
  const { token, ...access } = await loadKubeconfig(path)
  assert.deepEqual(access, { server: 'https://10.0.0.1:6443', ca: 'inline ca', namespace: 'multinic-system' })
  assert.equal(await token?.(), 'secret')
})

test('relative paths start at the directory of the kubeconfig', async () => {
  const path = await kubeconfig({
    cluster: { 'certificate-authority': 'pki/ca', 'tls-server-name': 'kubernetes' },
    user: { 'client-certificate': './pki/cert', 'client-key': 'pki/key', tokenFile: 'token' },
  })
  const { token, certificates: _, ...access } = await loadKubeconfig(path)
  assert.deepEqual(access, {
    server: 'https://10.0.0.1:6443',
    ca: 'ca from a file',
    cert: 'cert from a file',
    key: 'key from a file',
    servername: 'kubernetes',
  })
  assert.equal(await token?.(), 'token from a file')
})

test('an inline certificate, no verification, a path in the URL, a given context', async () => {
  const path = await kubeconfig({
    cluster: { server: 'https://proxy/k8s/clusters/c-1/', 'insecure-skip-tls-verify': true },
    user: { 'client-certificate-data': base64('cert'), 'client-key-data': base64('key') },
    more: { 'current-context': 'elsewhere' },
  })
  assert.deepEqual(await loadKubeconfig(path, 'here'), {
    server: 'https://proxy/k8s/clusters/c-1',
    cert: 'cert',
    key: 'key',
    insecure: true,
  })
})

test('of a list of kubeconfigs the first file that names an entry wins, and missing files are skipped', async () => {
  await mkdir(join(folder, 'other'))
  await writeFile(join(folder, 'other', 'ca'), 'the other ca')
  const other = join(folder, 'other', 'kubeconfig')
  const cluster = { server: 'https://10.0.0.2:6443', 'certificate-authority': 'ca' }
  await writeFile(
    other,
    JSON.stringify({
      'current-context': 'there',
      clusters: [
        { name: 'second', cluster },
        { name: 'c', cluster },
      ],
      users: [{ name: 'u', user: { token: 'of the other file' } }],
      contexts: [{ name: 'there', context: { cluster: 'second', user: 'u' } }],
    }),
  )
  const list = [join(folder, 'missing'), await kubeconfig({ user: { token: 'of the first file' } }), other].join(':')
  assert.equal((await loadKubeconfig(list)).server, 'https://10.0.0.1:6443')
  const { server, ca, token } = await loadKubeconfig(list, 'there')
  assert.deepEqual([server, ca, await token?.()], ['https://10.0.0.2:6443', 'the other ca', 'of the first file'])
  await assert.rejects(loadKubeconfig(`${folder}/a:${folder}/b`), /kubeconfig .*\/a:.*\/b: no such file/)
})

test('files that kubectl leaves behind merge: an empty one, and one whose lists are null', async () => {
  const empty = join(folder, 'empty')
  await writeFile(empty, '')
  const lists = join(folder, 'lists')
  const context = { cluster: 'c', user: 'u', namespace: 'of the first file' }
  const other = [{ name: 'here', context }]
  await writeFile(lists, JSON.stringify({ clusters: null, users: null, contexts: other, 'current-context': '' }))
  const list = [empty, lists, await kubeconfig({ user: { token: 'x' }, context: { namespace: 'of the last' } })].join(
    ':',
  )
  const { server, namespace } = await loadKubeconfig(list)
  assert.deepEqual([server, namespace], ['https://10.0.0.1:6443', 'of the first file'])
})

test('an unknown context is an error that lists the contexts of all files', async () => {
  const context = { cluster: 'c' }
  const first = await kubeconfig({ user: {}, more: { contexts: [{ name: 'prod', context }] } })
  const list = [first, await kubeconfig({ user: {} })].join(':')
  await assert.rejects(loadKubeconfig(list, 'gone'), /contexts: no entry named gone; there are prod, here$/)
  const none = await kubeconfig({ user: {}, more: { contexts: null } })
  await assert.rejects(loadKubeconfig(none, 'gone'), /contexts: no entry named gone; there are none$/)
  const unset = await kubeconfig({ user: {}, more: { 'current-context': '' } })
  await assert.rejects(loadKubeconfig(unset), /current-context: missing; contexts: here$/)
})

const invalid: Record<string, [config: Config, message: RegExp]> = {
  'a server that is not a URL': [
    { cluster: { server: 'somewhere' }, user: {} },
    /clusters\[c\]\.cluster\.server: must be an http/,
  ],
  'a missing context': [{ more: { 'current-context': 'gone' } }, /contexts: no entry named gone/],
  'no context': [{ more: { 'current-context': '' } }, /current-context: missing/],
  'a missing cluster': [{ context: { cluster: 'gone' } }, /clusters: no entry named gone/],
  'a missing user': [{ context: { user: 'gone' } }, /users: no entry named gone/],
  'an old auth provider': [
    { user: { 'auth-provider': { name: 'gcp' } } },
    /users\[u\]\.user\.auth-provider: not supported/,
  ],
  'a certificate without its key': [
    { user: { 'client-certificate-data': base64('x') } },
    /users\[u\]\.user\.client-key: required with client-certificate/,
  ],
  'a CA file that does not exist': [
    { cluster: { 'certificate-authority': 'no/such' } },
    /clusters\[c\]\.cluster\.certificate-authority: ENOENT/,
  ],
  'data that is not base64': [{ user: { 'client-key-data': 'SECRET!' } }, /users\[u\]\.user\.client-key-data: Invalid/],
  'a token of the wrong type': [{ user: { token: { SECRET: 1 } } }, /users\[u\]\.user\.token: Invalid input/],
}

for (const [name, [config, message]] of Object.entries(invalid)) {
  test(`an error names the field but not the value: ${name}`, async () => {
    const path = await kubeconfig({ user: {}, ...config })
    await assert.rejects(loadKubeconfig(path), (error: Error) => {
      assert.match(error.message, message)
      assert.match(error.message, /^kubeconfig .*kubeconfig-\d+: /)
      assert.doesNotMatch(error.message, /SECRET/)
      return true
    })
  })
}

test('a file that is not YAML is rejected without quoting it', async () => {
  const path = join(folder, 'broken')
  await writeFile(path, 'users: [{token: SECRET')
  await assert.rejects(loadKubeconfig(path), /kubeconfig .*broken: is not valid YAML$/)
})

test('a token file is checked once a second and after a refusal, and read at least once a minute', async () => {
  const path = join(folder, 'rotating')
  let now = 0
  await writeFile(path, 'first')
  const token = tokenFromFile(path, () => now)
  assert.equal(await token(), 'first')
  // Like the kubelet: a new file replaces the old one.
  await writeFile(`${path}.new`, 'second')
  await rename(`${path}.new`, path)
  assert.equal(await token(), 'first', 'not checked yet')
  assert.equal(await token('first'), 'second', 'a server refused the first one')
  await writeFile(`${path}.new`, 'third')
  await rename(`${path}.new`, path)
  now += 1_000
  assert.equal(await token(), 'third')
  now += 61_000
  assert.equal(await token(), 'third')
  await writeFile(path, '')
  now += 1_000
  await assert.rejects(token(), /rotating is empty/)
})

test('a Pod finds the API server of its cluster', async () => {
  const dir = join(folder, 'serviceaccount')
  await mkdir(dir)
  await writeFile(join(dir, 'ca.crt'), 'ca')
  await writeFile(join(dir, 'token'), 'of the pod')
  await writeFile(join(dir, 'namespace'), 'multinic-system\n')
  const env = { KUBERNETES_SERVICE_HOST: 'fd00::1', KUBERNETES_SERVICE_PORT: '443' }
  const { token, certificates, ...access } = inClusterAccess(env, dir)
  assert.deepEqual(access, { server: 'https://[fd00::1]:443', ca: 'ca', namespace: 'multinic-system' })
  assert.equal(await token?.(), 'of the pod')
  await writeFile(`${dir}/ca.new`, 'another ca')
  await rename(`${dir}/ca.new`, join(dir, 'ca.crt'))
  assert.deepEqual(await certificates?.(), { ca: 'another ca' })
})

test('there is no in-cluster access outside of a Pod', () => {
  assert.throws(() => inClusterAccess({}), /KUBERNETES_SERVICE_HOST/)
  const env = { KUBERNETES_SERVICE_HOST: '10.0.0.1', KUBERNETES_SERVICE_PORT: '443' }
  assert.throws(() => inClusterAccess(env, folder), /cannot read the ServiceAccount of this Pod: ENOENT/)
})

const named: Record<string, [cluster: object, user: object, message: RegExp]> = {
  'its own token': [
    {},
    { tokenFile: '/var/run/secrets/kubernetes.io/serviceaccount/token' },
    /users\[u\]\.user\.tokenFile: files are not allowed in a kubeconfig from a Secret; use token/,
  ],
  'a certificate': [
    {},
    { 'client-certificate': '/etc/passwd', 'client-key': '/etc/passwd' },
    /client-certificate: files are not allowed/,
  ],
  'an authority': [{ 'certificate-authority': '/etc/passwd' }, {}, /certificate-authority: files .* use .*-data/],
}
test('a kubeconfig in a Secret cannot name local files', async () => {
  for (const [name, [cluster, user, message]] of Object.entries(named)) {
    const text = JSON.stringify({
      'current-context': 'c',
      clusters: [{ name: 'c', cluster: { server: 'https://elsewhere', ...cluster } }],
      users: [{ name: 'u', user }],
      contexts: [{ name: 'c', context: { cluster: 'c', user: 'u' } }],
    })
    await assert.rejects(kubeconfigFrom(text), message, name)
  }
})
