import assert from 'node:assert/strict'
import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { json, serve } from '../../test/support/http-stub.ts'
import { connectKube } from './client.ts'
import { kubeconfigFrom, loadKubeconfig } from './config.ts'
import { type ExecCredentials, execCredentials } from './exec.ts'
import { nodes } from './resources.ts'

const v1 = 'client.authentication.k8s.io/v1'
let folder = ''
before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'multinic-exec-'))
})
after(() => rm(folder, { recursive: true }))

let created = 0

interface PluginValues {
  /** The body of a shell script. */
  script: string
  exec?: Record<string, unknown>
  cluster?: Record<string, unknown>
}

/** A kubeconfig whose plugin is a script beside it. The script counts its runs in the file `runs-N`. */
async function kubeconfig({
  script,
  exec,
  cluster,
}: PluginValues): Promise<{ path: string; runs: () => Promise<number> }> {
  const number = ++created
  const program = join(folder, `plugin-${number}`)
  const runs = join(folder, `runs-${number}`)
  await writeFile(runs, '')
  await writeFile(program, `#!/bin/sh\nprintf x >>'${runs}'\n${script}\n`)
  await chmod(program, 0o755)
  const plugin = { apiVersion: v1, command: `./plugin-${number}`, interactiveMode: 'Never', ...exec }
  const path = join(folder, `kubeconfig-${number}`)
  const config = {
    'current-context': 'here',
    clusters: [{ name: 'c', cluster: { server: 'https://10.0.0.1:6443', ...cluster } }],
    users: [{ name: 'u', user: { exec: plugin } }],
    contexts: [{ name: 'here', context: { cluster: 'c', user: 'u' } }],
  }
  await writeFile(path, JSON.stringify(config))
  return { path, runs: async () => (await readFile(runs, 'utf8')).length }
}

const says = (status: object, apiVersion = v1) =>
  `echo '${JSON.stringify({ apiVersion, kind: 'ExecCredential', status })}'`
const expiry = (inSeconds: number) => new Date(Date.now() + inSeconds * 1000).toISOString()

test('a token of a plugin is cached while it is valid', async () => {
  const { path, runs } = await kubeconfig({ script: says({ token: 't1', expirationTimestamp: expiry(3600) }) })
  const { token } = await loadKubeconfig(path)
  assert.deepEqual(await Promise.all([token?.(), token?.(), token?.()]), ['t1', 't1', 't1'])
  assert.equal(await runs(), 1)
})

/** A plugin that counts: t1, t2, t3. */
async function counting(status: object): Promise<{ clock: { at: number }; credentials: ExecCredentials }> {
  const runs = join(folder, `counted-${++created}`)
  await writeFile(runs, '')
  const answer = says({ token: 'N', ...status }).replace('"N"', `"t'$(wc -c <${runs})'"`)
  const clock = { at: Date.now() }
  const plugin = { apiVersion: v1, command: '/bin/sh', args: ['-c', `printf x >>${runs}; ${answer}`] } as const
  const options = { at: 'exec', directory: '/', cluster: {}, now: () => clock.at }
  return { clock, credentials: execCredentials({ ...plugin, args: [...plugin.args] }, options) }
}

test('a token that is about to expire is renewed once for all requests', async () => {
  const { clock, credentials } = await counting({ expirationTimestamp: expiry(60) })
  const both = () => Promise.all([credentials.token(), credentials.token()])
  assert.deepEqual(await both(), ['t1', 't1'])
  clock.at += 49_000
  assert.deepEqual(await both(), ['t1', 't1'])
  clock.at += 2_000
  assert.deepEqual(await both(), ['t2', 't2'])
})

test('the plugin gets its arguments, environment and cluster info', async () => {
  const { path } = await kubeconfig({
    script: `printf '%s' "$KUBERNETES_EXEC_INFO" >'${join(folder, 'info')}'; ${says({ token: 'X' }).replace('"X"', `"'$1-$COLOR'"`)}`,
    exec: { args: ['first'], env: [{ name: 'COLOR', value: 'red' }], provideClusterInfo: true },
    cluster: {
      'certificate-authority-data': Buffer.from('ca').toString('base64'),
      extensions: [{ name: 'client.authentication.k8s.io/exec', extension: { audience: 'a' } }],
    },
  })
  const { token } = await loadKubeconfig(path)
  assert.equal(await token?.(), 'first-red')
  assert.deepEqual(JSON.parse(await readFile(join(folder, 'info'), 'utf8')), {
    apiVersion: v1,
    kind: 'ExecCredential',
    spec: {
      interactive: false,
      cluster: {
        server: 'https://10.0.0.1:6443',
        'certificate-authority-data': Buffer.from('ca').toString('base64'),
        config: { audience: 'a' },
      },
    },
  })
})

test('v1beta1 works, and cluster info is passed only on request', async () => {
  const apiVersion = 'client.authentication.k8s.io/v1beta1'
  const { path } = await kubeconfig({
    script: `printf '%s' "$KUBERNETES_EXEC_INFO" >'${join(folder, 'beta')}'; ${says({ token: 'b' }, apiVersion)}`,
    exec: { apiVersion },
  })
  assert.equal(await (await loadKubeconfig(path)).token?.(), 'b')
  const info = JSON.parse(await readFile(join(folder, 'beta'), 'utf8'))
  assert.deepEqual(info, { apiVersion, kind: 'ExecCredential', spec: { interactive: false } })
})

test('a plugin can return a client certificate', async () => {
  const status = { clientCertificateData: 'CERT', clientKeyData: 'KEY' }
  const { identity, token } = await loadKubeconfig((await kubeconfig({ script: says(status) })).path)
  assert.deepEqual(await identity?.(), { cert: 'CERT', key: 'KEY' })
  assert.equal(await token?.(), '')
})

test('a rejected old token is renewed once, a rejected new one is not', async () => {
  const authorizations: (string | undefined)[] = []
  let good = ''
  const server = await serve((request, response) => {
    authorizations.push(request.headers.authorization)
    const known = request.headers.authorization === good
    json(response, known ? 200 : 401, known ? { metadata: { resourceVersion: '1' }, items: [] } : { kind: 'Status' })
  })
  const { clock, credentials } = await counting({})
  const kube = connectKube({ server: server.url, ...credentials })
  try {
    await assert.rejects(kube.list(nodes), { status: 401 })
    clock.at += 60_000
    good = 'Bearer t2'
    assert.equal((await kube.list(nodes)).resourceVersion, '1')
    assert.deepEqual(authorizations, ['Bearer t1', 'Bearer t1', 'Bearer t2'])
  } finally {
    await kube.close()
    await server.close()
  }
})

const invalid: Record<string, [values: PluginValues, message: RegExp]> = {
  'a plugin that does not exist': [
    { script: '', exec: { command: 'no-such-plugin', installHint: 'Get it from the shop.' } },
    /users\[u\]\.user\.exec: no-such-plugin: program not found\. Get it from the shop\./,
  ],
  'a plugin that fails': [{ script: 'exit 3' }, /exec: \.\/plugin-\d+: exit code 3/],
  'output that is not JSON': [{ script: 'echo SECRET' }, /output is not an ExecCredential: output/],
  'output without credentials': [{ script: says({}) }, /neither status\.token nor status\.clientCertificateData/],
  'half a certificate': [{ script: says({ clientKeyData: 'SECRET' }) }, /only one of status\.clientCertificateData/],
  'output in another version': [{ script: says({ token: 'SECRET' }, 'client.authentication.k8s.io/v9') }, /v9, not/],
  'a token of the wrong type in the output': [
    { script: says({ token: { SECRET: 1 } }) },
    /not an ExecCredential: status\.token/,
  ],
  'a plugin that needs a terminal': [
    { script: says({ token: 'x' }), exec: { interactiveMode: 'Always' } },
    /users\[u\]\.user\.exec\.interactiveMode: Always needs a terminal/,
  ],
  'an unknown version of the plugin': [
    { script: '', exec: { apiVersion: 'client.authentication.k8s.io/v1alpha1' } },
    /users\[u\]\.user\.exec\.apiVersion: must be client\.authentication\.k8s\.io\/v1 or/,
  ],
}

for (const [name, [values, message]] of Object.entries(invalid)) {
  test(`reading a kubeconfig rejects ${name} without quoting the output`, async () => {
    const { path } = await kubeconfig(values)
    await assert.rejects(loadKubeconfig(path), (error: Error) => {
      assert.match(error.message, message)
      assert.doesNotMatch(error.message, /SECRET/)
      return true
    })
  })
}

test('a missing plugin does not keep the process alive', async () => {
  const timers = () => process.getActiveResourcesInfo().filter(kind => kind === 'Timeout').length
  const before = timers()
  const { path } = await kubeconfig({ script: '', exec: { command: 'no-such-plugin' } })
  await assert.rejects(loadKubeconfig(path), /program not found/)
  assert.equal(timers(), before)
})

test('a kubeconfig from a Secret cannot run a program', async () => {
  const { path, runs } = await kubeconfig({ script: says({ token: 'x' }) })
  await assert.rejects(kubeconfigFrom(await readFile(path, 'utf8')), /exec: not allowed in a kubeconfig from a Secret/)
  assert.equal(await runs(), 0)
})
