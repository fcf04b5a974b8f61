/** The commands without a URL: through the API server, with a token of the account that may only read. */
import assert from 'node:assert/strict'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { stringify } from 'yaml'
import { type Authority, certificateAuthority } from '../../test/rigs/kubernetes/certificates.ts'
import { grant } from '../../test/support/access.ts'
import { type Run, runner } from '../../test/support/cli.ts'
import { startClusterInventory } from '../../test/support/cluster-inventory.ts'
import { startTargetCluster, type TargetCluster } from '../../test/support/target-cluster.ts'
import type { RunningInventory } from '../inventory/main.ts'
import { pods, secrets } from '../kube/resources.ts'

let dir: string
let cluster: TargetCluster
let authority: Authority
const inventories: RunningInventory[] = []
let multinic: Run
const namespace = 'multinic-system'
/** Of an inventory that serves HTTPS. */
const secure = 'multinic-secure'
const tlsSecret = 'inventory-tls'
const received: string[] = []

before(async () => {
  dir = await mkdtemp(join(tmpdir(), 'multinic-cli-cluster-'))
  cluster = await startTargetCluster()
  authority = await certificateAuthority(dir)
  await runInventory(namespace)
  const { cert, key } = await authority.issue('inventory', '/CN=inventory', {
    subjectAltName: `DNS:multinic-inventory.${secure}`,
    extendedKeyUsage: 'serverAuth',
  })
  await runInventory(secure, { INVENTORY_TLS_CERT_FILE: cert, INVENTORY_TLS_KEY_FILE: key })
  const data = { 'ca.crt': await readFile(authority.cert, 'base64') }
  await cluster.kube.create(secrets, {
    ...{ apiVersion: 'v1', kind: 'Secret', metadata: { name: tlsSecret, namespace: secure } },
    data,
  })
  multinic = runner({ KUBECONFIG: cluster.api.kubeconfig })
})
after(async () => {
  for (const inventory of inventories) await inventory.close()
  await cluster.close()
  await rm(dir, { recursive: true })
})

async function runInventory(namespace: string, tls?: Record<string, string>): Promise<void> {
  const inventory = await startClusterInventory({
    ...{ ...cluster, namespace, tls, tlsSecret, file: join(dir, `${namespace}.db`) },
    addRoutes: app => {
      app.addHook('onRequest', async ({ headers }) => void received.push(String(headers.authorization)))
    },
  })
  inventories.push(inventory)
}

/** A kubeconfig for a ServiceAccount of the cluster. */
async function kubeconfigOf(account: string, namespace: string): Promise<string> {
  const path = `/api/v1/namespaces/${namespace}/serviceaccounts/${account}/token`
  const body = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: {} }
  const { token } = ((await cluster.kube.raw('POST', path, body)).body as { status: { token: string } }).status
  const one = {
    name: 'here',
    cluster: { server: cluster.api.url, 'certificate-authority': cluster.api.caFile },
    user: { token },
    context: { cluster: 'here', user: 'here' },
  }
  const file = join(dir, `${account}.kubeconfig`)
  const all = { 'current-context': 'here', clusters: [one], users: [one], contexts: [one] }
  await writeFile(file, stringify(all, { aliasDuplicateObjects: false }))
  return file
}

test('experience M11: a command reads the inventory of the cluster, and the inventory never gets the token of the user', async () => {
  received.length = 0
  const { code, out, error } = await multinic('status')
  assert.equal(code, 0, error)
  assert.match(out, /w1/)
  assert.match(out, /multinic9/)
  assert.ok(received.length > 0)
  for (const authorization of received) {
    assert.notEqual(authorization, `Bearer ${cluster.api.token}`)
    const claims = JSON.parse(Buffer.from(authorization.split('.')[1] ?? '', 'base64url').toString())
    assert.deepEqual([claims.sub, claims.aud], [`system:serviceaccount:${namespace}:multinic-reader`, ['multinic']])
    assert.ok(claims.exp * 1_000 - Date.now() <= 600_000)
  }
})

test('only --send-token sends the token of the user, which the inventory refuses for its audience', async () => {
  received.length = 0
  const { code, error } = await multinic('status', '--send-token')
  assert.equal(code, 2)
  assert.match(error, /requires a valid token/)
  assert.deepEqual(received, [`Bearer ${cluster.api.token}`])
})

test('a user needs the rights of the Role multinic-cli, and each refusal says what is missing', async () => {
  const kubeconfig = await kubeconfigOf('user', namespace)
  const run = () => multinic('find', 'w1', '--kubeconfig', kubeconfig)
  const user = `system:serviceaccount:${namespace}:user`
  const steps: [rule: Parameters<typeof grant>[2][number], before: RegExp][] = [
    [
      { apiGroups: [''], resources: ['pods'], verbs: ['list'] },
      /multinic-system: .*forbidden.*\n {2}multinic-operator-system: .*forbidden.*Role multinic-cli.*--inventory URL/s,
    ],
    [
      { apiGroups: [''], resources: ['serviceaccounts/token'], verbs: ['create'], resourceNames: ['multinic-reader'] },
      /cannot get a token of ServiceAccount multinic-system\/multinic-reader: .*forbidden.*Role multinic-cli/s,
    ],
    [
      { apiGroups: [''], resources: ['pods/portforward'], verbs: ['get', 'create'] },
      /cannot reach the inventory at Pod/,
    ],
  ]
  for (const [rule, refusal] of steps) {
    const { code, error } = await run()
    assert.equal(code, 2)
    assert.match(error, refusal)
    await grant(cluster.kube, user, [rule], namespace)
  }
  const { code, error } = await run()
  assert.equal(code, 0, error)
})

test('experience: without a running inventory the error says what was found in each namespace, and what to do', async () => {
  const key = { namespace, name: 'multinic-inventory-1' }
  await cluster.kube.patchStatus(pods, key, { conditions: [{ type: 'Ready', status: 'False' }] })
  const { code, error } = await multinic('status')
  await cluster.kube.patchStatus(pods, key, { conditions: [{ type: 'Ready', status: 'True' }] })
  assert.equal(code, 2)
  const found = [
    `the inventory: no running inventory in the cluster ${cluster.api.url}`,
    '  multinic-system: Pod multinic-inventory-1 is not ready',
    '  multinic-operator-system: no Pod of the inventory',
  ]
  assert.equal(error.split('\n').slice(0, 3).join('\n'), found.join('\n'))
  assert.match(error, /--context NAME.*MULTINIC_NAMESPACE.*\nOr set the URL with --inventory URL/)
})

test('experience: every command that reads the inventory finds it by the kubeconfig', async () => {
  const commands = [['status'], ['why', 'w1'], ['history', 'w1'], ['find', 'w1'], ['check'], ['export']]
  for (const words of commands) {
    received.length = 0
    const { error } = await multinic(...words)
    assert.equal(error, '', words.join(' '))
    assert.ok(received.length > 0, words.join(' '))
  }
})

test('a context counts more than the addresses in the environment', async () => {
  const elsewhere = { MULTINIC_INVENTORY_URL: 'http://127.0.0.1:1', MULTINIC_TOKEN_FILE: '/nowhere' }
  const set = runner({ KUBECONFIG: cluster.api.kubeconfig, ...elsewhere })
  const [current = ''] = /^current-context: .*$/m.exec(await readFile(cluster.api.kubeconfig, 'utf8')) ?? []
  const { code, out } = await set('status', '--context', current.slice('current-context: '.length).trim())
  assert.deepEqual([code, out.includes('w1')], [0, true])
  const unknown = await set('status', '--context', 'gone')
  assert.match(unknown.error, /no entry named gone/)
})

test('an unknown context is an error that lists the contexts, for every command', async () => {
  const commands = [['status'], ['why', 'w1'], ['check'], ['export'], ['retry', 'w1'], ['doctor'], ['support-bundle']]
  for (const words of [...commands, ['migrate', 'plan'], ['status', '-l', 'x']]) {
    const { code, error } = await multinic(...words, '--context', 'gone')
    assert.equal(code, 2, words.join(' '))
    assert.match(error, /contexts: no entry named gone; there are \S+/, words.join(' '))
  }
})

test('an inventory that serves HTTPS is verified with the CA of its Secret, and with the name of its Service', async () => {
  const run = runner({ KUBECONFIG: cluster.api.kubeconfig, MULTINIC_NAMESPACE: secure })
  const { code, out, error } = await run('status')
  assert.equal(code, 0, error)
  assert.match(out, /w1/)

  const { cert, key } = await authority.issue('other', '/CN=other', {
    subjectAltName: 'DNS:multinic-inventory.elsewhere',
    extendedKeyUsage: 'serverAuth',
  })
  const namespace = 'multinic-other-name'
  await runInventory(namespace, { INVENTORY_TLS_CERT_FILE: cert, INVENTORY_TLS_KEY_FILE: key })
  received.length = 0
  const refused = await runner({
    ...{ KUBECONFIG: cluster.api.kubeconfig, MULTINIC_NAMESPACE: namespace },
    MULTINIC_CA_FILE: authority.cert,
  })('status')
  assert.equal(refused.code, 2)
  assert.match(refused.error, /multinic-inventory\.multinic-other-name\. is not in the cert's altnames/)
  assert.deepEqual(received, [])
})

test('a user who may not read the Secret passes the CA, and the error says which', async () => {
  const user = `system:serviceaccount:${secure}:user`
  const cliRules = [
    { apiGroups: [''], resources: ['pods'], verbs: ['list'] },
    { apiGroups: [''], resources: ['serviceaccounts/token'], verbs: ['create'], resourceNames: ['multinic-reader'] },
    { apiGroups: [''], resources: ['pods/portforward'], verbs: ['get', 'create'] },
  ]
  await grant(cluster.kube, user, cliRules, secure)
  const run = runner({ KUBECONFIG: await kubeconfigOf('user', secure), MULTINIC_NAMESPACE: secure })
  received.length = 0
  const { code, error } = await run('status')
  assert.equal(code, 2)
  assert.match(
    error,
    /not trusted; set its CA with --ca-file FILE or MULTINIC_CA_FILE \(ca\.crt of Secret multinic-secure\/inventory-tls\)/,
  )
  assert.deepEqual(received, [])
  const trusted = await run('find', 'w1', '--ca-file', authority.cert)
  assert.equal(trusted.code, 0, trusted.error)
})
