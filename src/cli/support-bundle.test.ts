/**
 * A support bundle of a cluster in which every place that a person can write has a secret of its own (attack H3).
 */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { type Run, runner } from '../../test/support/cli.ts'
import { type ControllerCluster, startControllerCluster } from '../../test/support/controller-cluster.ts'
import { nodeConfigs } from '../contract/node-config.ts'
import { openstackConfigs } from '../contract/openstack-config.ts'
import { events, jobs, nodes, pods, secrets } from '../kube/resources.ts'
import type { KubeObject, Resource } from '../kube/types.ts'
import { bundleFields, keep } from './support-fields.ts'

const planted = new Map<string, string>()
/** A secret that only this place contains. */
function canary(place: string): string {
  const secret = `zebra${planted.size}x${place.replace(/[^a-z]/gi, '').slice(0, 8)}`
  planted.set(place, secret)
  return secret
}

let dir: string
let cluster: ControllerCluster
let multinic: Run
const files = new Map<string, string>()

const labels = { 'app.kubernetes.io/part-of': 'multinic', 'app.kubernetes.io/component': 'operator' }
const agentLabels = { 'app.kubernetes.io/name': 'multinic-agent' }

/** Metadata with a secret in every annotation and label that somebody may add. */
function metadata(kind: string, name: string, own: Record<string, string> = labels) {
  return {
    name,
    ...(kind !== 'Node' && { namespace: cluster.namespace }),
    labels: { ...own, 'example.com/team': canary(`${kind} label`) },
    annotations: {
      'kubectl.kubernetes.io/last-applied-configuration': `{"key":"${canary(`${kind} last applied`)}"}`,
      'example.com/password': canary(`${kind} annotation`),
      'multinic.io/note': canary(`${kind} annotation with our prefix`),
      'multinic.io/retry': canary(`${kind} retry`),
      'multinic.io/paused': 'false',
    },
  }
}

/** A container with a secret in every field of it that takes a text. */
function container(kind: string, name: string) {
  const secret = (place: string) => canary(`${kind} ${name} ${place}`)
  const variables = [
    'OTEL_EXPORTER_OTLP_HEADERS',
    'HTTPS_PROXY',
    'INVENTORY_DATABASE_URL',
    'DB_PASS',
    'CLOUD_CREDENTIALS',
    'AUTHORIZATION',
    'LOG_LEVEL',
    'VIOLA_TOKEN_FILE',
    'CONTRABASS_ENCRYPT_KEY',
  ]
  const httpGet = {
    path: `/healthz?key=${secret('path of a probe')}`,
    httpHeaders: [{ name: 'Authorization', value: secret('header of a probe') }],
  }
  const exec = { command: ['sh', '-c', secret('command of a probe')] }
  return {
    name,
    image: 'registry.example/multinic-operator:1.0',
    command: ['sh', '-c', secret('command')],
    args: [`--token=${secret('argument')}`, secret('second argument')],
    workingDir: `/${secret('working directory')}`,
    env: [
      ...variables.map(one => ({
        name: one,
        value: /URL|PROXY/.test(one) ? `http://user:${secret(one)}@proxy:3128` : secret(one),
      })),
      { name: 'KEY', valueFrom: { secretKeyRef: { name: 'the-secret', key: 'the-key' } } },
    ],
    envFrom: [{ prefix: secret('prefix'), secretRef: { name: 'all-of-it' } }],
    livenessProbe: { httpGet },
    readinessProbe: { exec },
    lifecycle: { preStop: { exec: { command: [secret('hook')] } } },
  }
}

function podSpec(kind: string, own: string) {
  const secret = (place: string) => canary(`${kind} ${place}`)
  return {
    nodeName: 'w1',
    restartPolicy: 'Never',
    nodeSelector: { 'example.com/key': secret('node selector') },
    hostAliases: [{ ip: '127.0.0.1', hostnames: [secret('host alias')] }],
    tolerations: [{ key: 'dedicated', operator: 'Equal', value: secret('toleration') }],
    volumes: [
      { name: 'csi', csi: { driver: 'x', volumeAttributes: { token: secret('volume attribute') } } },
      { name: 'nfs', nfs: { server: 'x', path: `/${secret('NFS path')}` } },
      { name: 'given', secret: { secretName: 'the-secret' } },
    ],
    initContainers: [container(kind, 'init')],
    containers: [container(kind, 'mesh'), container(kind, own)],
  }
}

/** The sandbox serves no Deployments. */
function deployment(): object {
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: metadata('Deployment', 'operator'),
    spec: {
      replicas: 1,
      selector: { matchLabels: labels },
      template: {
        metadata: { labels, annotations: { x: canary('template') } },
        spec: podSpec('Deployment', 'operator'),
      },
    },
  }
}

const refused = (place: string) => `exec: "${canary(place)}": executable file not found in $PATH`

/** A kubelet quotes the command. */
function podStatus() {
  return {
    phase: 'Pending',
    message: refused('message of a Pod'),
    conditions: [{ type: 'Ready', status: 'False', reason: 'NotReady', message: refused('condition of a Pod') }],
    containerStatuses: [
      {
        ...{ name: 'operator', image: 'x', imageID: '', ready: false, restartCount: 3 },
        state: { waiting: { reason: 'RunContainerError', message: refused('waiting container') } },
        lastState: { terminated: { exitCode: 128, message: refused('terminated container') } },
      },
    ],
  }
}

/** Objects with a secret in every place that a person can write. */
function objects(): [Resource<KubeObject>, object][] {
  return [
    [
      pods,
      {
        apiVersion: 'v1',
        kind: 'Pod',
        metadata: metadata('Pod', 'operator-1'),
        spec: podSpec('Pod', 'operator'),
      },
    ],
    [
      pods,
      {
        apiVersion: 'v1',
        kind: 'Pod',
        metadata: metadata('foreign Pod', 'database', { app: 'database' }),
        spec: podSpec('foreign Pod', 'database'),
      },
    ],
    [
      jobs,
      {
        apiVersion: 'batch/v1',
        kind: 'Job',
        metadata: metadata('Job', 'multinic-agent-w1', agentLabels),
        spec: { suspend: true, template: { metadata: { labels: agentLabels }, spec: podSpec('Job', 'agent') } },
      },
    ],
    [
      openstackConfigs,
      {
        apiVersion: 'multinic.example.com/v1alpha1',
        kind: 'OpenstackConfig',
        metadata: metadata('OpenstackConfig', 'main'),
        spec: {
          subnetName: 'storage',
          vmNames: ['w1'],
          credentials: {
            ...{ openstackProviderID: 'p', k8sProviderID: 'c', projectID: '0'.repeat(32) },
            ...{ password: canary('deprecated password'), username: canary('deprecated user name') },
          },
          settings: {
            contrabassEncryptKey: canary('deprecated key'),
            // The API server refuses a user and a query, which may hold a secret.
            contrabassEndpoint: 'https://contrabass.example/v1',
            violaEndpoint: 'https://viola.example',
          },
        },
      },
    ],
    [
      nodeConfigs,
      {
        apiVersion: 'multinic.io/v1',
        kind: 'MultiNicNodeConfig',
        metadata: metadata('MultiNicNodeConfig', 'w1'),
        spec: { nodeName: 'w1', interfaces: [{ macAddress: 'fa:16:3e:00:00:01' }] },
      },
    ],
    [nodes, { apiVersion: 'v1', kind: 'Node', metadata: metadata('Node', 'w2') }],
    [
      events,
      {
        apiVersion: 'v1',
        kind: 'Event',
        metadata: metadata('Event', 'failed'),
        involvedObject: { kind: 'Pod', name: 'operator-1', namespace: cluster.namespace, uid: 'u' },
        type: 'Warning',
        reason: 'Failed',
        message: refused('Event of a kubelet'),
        source: { component: 'kubelet' },
      },
    ],
    [
      events,
      {
        apiVersion: 'v1',
        kind: 'Event',
        metadata: metadata('own Event', 'own'),
        involvedObject: { kind: 'MultiNicNodeConfig', name: 'w1', namespace: cluster.namespace, uid: 'u' },
        type: 'Warning',
        reason: 'NodeNotFound',
        message: 'w1: no node has this name',
        source: { component: 'multinic-controller' },
      },
    ],
    [
      secrets,
      {
        apiVersion: 'v1',
        kind: 'Secret',
        metadata: metadata('Secret', 'viola-token'),
        data: { token: Buffer.from(canary('Secret')).toString('base64') },
      },
    ],
  ]
}

before(async () => {
  dir = await mkdtemp(join(tmpdir(), 'multinic-bundle-'))
  cluster = await startControllerCluster()
  multinic = runner({ KUBECONFIG: cluster.api.kubeconfig })
  await cluster.addNode('w1')
  for (const [resource, object] of objects()) await cluster.kube.create(resource, object as KubeObject)
  await cluster.kube.patchStatus(pods, { namespace: cluster.namespace, name: 'operator-1' }, podStatus())
  const log = `failed: GET https://user:${canary('URL in a log')}@contrabass.example/v1\n`
  cluster.api.setPodLogs((_, pod) => (pod === 'database' ? canary('log of a foreign Pod') : log))
  process.chdir(dir)
  const { code, out } = await multinic('support-bundle', '-n', cluster.namespace)
  assert.equal(code, 0)
  assert.match(out, /^wrote multinic-support-\d{8}T\d{6}Z\.tgz\. Review it before you share it/)
  const [archive = '', ...others] = await readdir(dir)
  assert.deepEqual(others, [], 'one file')
  assert.equal((await stat(archive)).mode & 0o777, 0o600)
  execFileSync('tar', ['-xzf', archive])
  const directory = join(dir, archive.replace('.tgz', ''))
  files.set('deployments.json', JSON.stringify(keep(deployment(), bundleFields.deployment), null, 2))
  const names = await readdir(directory)
  for (const name of names) files.set(name, await readFile(join(directory, name), 'utf8'))
})

after(async () => {
  await cluster.close()
  await rm(dir, { recursive: true })
})

test('controller H3: a support bundle contains no text of a place where a person could put a secret', () => {
  assert.ok(planted.size > 100, `${planted.size} secrets planted`)
  const all = [...files.values()].join('\n')
  const found = [...planted].filter(([, secret]) =>
    [secret, Buffer.from(secret).toString('base64'), encodeURIComponent(secret)].some(form => all.includes(form)),
  )
  assert.deepEqual(
    found.map(([place]) => place),
    [],
  )
})

const kept: Record<string, RegExp[]> = {
  'openstackconfigs.json': [
    /"subnetName": "storage"/,
    /"https:\/\/contrabass\.example\/v1"/,
    /"multinic.io\/paused": "false"/,
  ],
  'multinicnodeconfigs.json': [/"fa:16:3e:00:00:01"/],
  'nodes.json': [/"systemUUID"/, /"Ubuntu 24\.04 LTS"/],
  'deployments.json': [
    /"name": "HTTPS_PROXY"/,
    /"registry\.example\/multinic-operator:1\.0"/,
    /"secretName": "the-secret"/,
  ],
  'pods.json': [/"RunContainerError"/, /"exitCode": 128/, /"restartCount": 3/, /"key": "the-key"/],
  'agent-jobs.json': [/"multinic-agent-w1"/],
  'agent-pods.json': [/^\[\]/],
  'events.json': [/"reason": "Failed"/, /"w1: no node has this name"/],
  'operator-1.log': [/GET https:\/\/REMOVED@contrabass\.example\/v1/],
  'version.json': [/"gitVersion"/],
}
for (const [file, expected] of Object.entries(kept))
  test(`a support bundle has the facts of ${file}`, () => {
    for (const pattern of expected) assert.match(files.get(file) ?? '', pattern)
  })

test('a support bundle has no other files', () => {
  assert.deepEqual([...files.keys()].sort(), [...Object.keys(kept), 'multinicbizconfigs.json', 'missing.txt'].sort())
})

test('an existing file is never overwritten', async () => {
  await writeFile('kept.tgz', 'kept')
  const { code, error } = await multinic('support-bundle', '-n', cluster.namespace, '--file', 'kept.tgz')
  assert.equal(code, 2)
  assert.match(error, /cannot write kept\.tgz: EEXIST.*\nName a new file with --file FILE/)
  assert.equal(await readFile('kept.tgz', 'utf8'), 'kept')
})
