/**
 * Our images on a real kubelet and containerd: each service starts from its image as non-root, with a read-only root file
 * system and its own ServiceAccount, and answers. The Viola image is built from its Dockerfile, without engine and network.
 *
 * The rig has no scheduler and no CNI plugin, so Pods name their node and use its network.
 */
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { readdir, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { request } from 'undici'
import { parseAllDocuments } from 'yaml'
import { buildRoot, recipes } from '../../scripts/image.ts'
import { environmentOf, thisArchitecture } from '../../scripts/oci.ts'
import { nodeConfigs } from '../../src/contract/node-config.ts'
import { violaPath } from '../../src/contract/viola.ts'
import { connectKube, type KubeClient } from '../../src/kube/client.ts'
import { loadKubeconfig } from '../../src/kube/config.ts'
import { version } from '../../src/runtime/version.ts'
import { type Buildah, startBuildah } from '../rigs/buildah.ts'
import { type ControlPlane, type RigNode, startControlPlane, startNode } from '../rigs/kubernetes/rig.ts'
import { run } from '../rigs/process.ts'
import { eventually } from '../support/eventually.ts'
import { aNodeOf } from '../support/viola.ts'

const root = join(import.meta.dirname, '../..')
const namespace = 'multinic-system'
const within = 180_000
const violaImage = 'multinic-viola-test-api:latest'
let cp: ControlPlane
let node: RigNode
let kube: KubeClient
let buildah: Buildah
let built: string

/** Runs make like a user. */
const make = (...args: string[]) => run('make', ['--silent', '--directory', root, ...args])

before(async () => {
  cp = await startControlPlane()
  kube = connectKube(await loadKubeconfig(cp.kubeconfig))
  const [viola] = await Promise.all([buildViola(), make('images', `IMAGE_TAG=${version}`)])
  const uuid = '6f1c2a10-0001-4aaa-8bbb-000000000001'
  node = await startNode(cp, { name: 'w1', uuid, macs: [], images: [viola] })
  await node.exec('make', ['--silent', '--directory', root, 'images-load'], { env: { RUNTIME: 'ctr' } })
  for (const name of [namespace, 'multinic-operator-system']) await kubectl('create', 'namespace', name)
  await kubectl('apply', '-f', join(root, 'config/crd/bases'))
  await kubectl('apply', '-k', join(root, 'config/rbac'))
  await kubectl('apply', '-f', join(root, 'config/rbac/controller_role.yaml'))
  await kubectl('wait', '--for=condition=Established', 'crd', '--all', '--timeout=60s')
})
after(async () => {
  await node?.close()
  await kube?.close()
  await cp?.close()
})

/** Builds the image from its Dockerfile and returns the archive. */
async function buildViola(): Promise<string> {
  buildah = await startBuildah()
  built = await buildah.build('Dockerfile.viola-test-api', violaImage)
  const archive = join(cp.dir, 'viola.tar')
  await buildah.archive(violaImage, archive)
  return archive
}

const kubectl = async (...args: string[]) => (await cp.exec('kubectl', args)).stdout
const apply = (object: object) => cp.exec('kubectl', ['apply', '-f', '-'], { input: JSON.stringify(object) })

async function get(port: number, path: string): Promise<string> {
  const { statusCode, body } = await request(`http://${node.address}:${port}${path}`, { headersTimeout: 10_000 })
  const text = await body.text()
  assert.equal(statusCode, 200, text)
  return text
}

/** Waits for an assertion; if it fails, adds the description of the Pods to the error. */
async function soon(check: () => Promise<void>): Promise<void> {
  try {
    await eventually(check, { within, every: 250 })
  } catch (error) {
    const pods = await cp.exec('kubectl', ['describe', 'pods', '--all-namespaces'], { check: false })
    throw new Error(`${error}\n${pods.stdout}`)
  }
}

test('the Dockerfiles give the same files and the same start commands as our archives', async () => {
  const agent = await buildah.build('Dockerfile.agent', 'multinic-agent:latest')
  for (const [image, dir] of [['services', built] as const, ['agent', agent] as const]) {
    const ours = join(cp.dir, image)
    await buildRoot(image, ours)
    assert.deepEqual(await listing(dir), await listing(ours))
  }
  const startOf = async (name: string) => {
    const { User, Entrypoint, Cmd, Env } = await buildah.config(name)
    return [User, Entrypoint, Cmd, Env]
  }
  const { user, entrypoint, starts, environment } = recipes.services
  assert.deepEqual(await startOf(violaImage), [
    user,
    entrypoint,
    starts['multinic-viola-test-api'],
    environmentOf(environment),
  ])
  assert.deepEqual(await startOf('multinic-agent:latest'), [
    undefined,
    recipes.agent.entrypoint,
    undefined,
    environmentOf(),
  ])
})

/** Every file with its mode and content. */
async function listing(dir: string): Promise<string[]> {
  const entries = await readdir(dir, { recursive: true, withFileTypes: true })
  const files = entries.filter(entry => !entry.isDirectory()).map(entry => join(entry.parentPath, entry.name))
  const lines = files.map(
    async file => `${((await stat(file)).mode & 0o777).toString(8)} ${await digestOf(file)} ${file.slice(dir.length)}`,
  )
  return (await Promise.all(lines)).sort()
}

test('a second build gives the same archives, bills of materials and licences byte for byte', async () => {
  await make('release', `ARCH=${thisArchitecture()}`)
  const [images, release] = ['images', 'release'].map(name => join(root, 'dist', name)) as [string, string]
  const names = await readdir(release)
  const imageFiles = ['services', 'agent'].flatMap(image =>
    ['tar', 'cdx.json', 'licenses.txt'].map(ending => `multinic-${image}-${version}-${thisArchitecture()}.${ending}`),
  )
  for (const name of imageFiles)
    assert.equal(await digestOf(join(release, name)), await digestOf(join(images, name)), `${name} differs`)
  const packs = ['agent', 'cli', 'docs', 'kustomize'].map(name => `multinic-${name}-${version}.tgz`)
  const others = [
    ...packs,
    ...['cdx.json', 'licenses.txt'].map(ending => `multinic-cli-${version}.${ending}`),
    ...['images-load.sh', `CHANGES-${version}.md`, `multinic-crds-${version}.yaml`],
    ...['SHA256SUMS', `SHA256SUMS-${thisArchitecture()}`],
  ]
  assert.deepEqual(names.sort(), [...imageFiles, ...others].sort())
  // The commands of the installation guide on a node. The images are loaded already, so this adds nothing.
  await node.exec('sh', ['-ec', 'cd "$1"; sha256sum --check --quiet SHA256SUMS; ./images-load.sh .', 'sh', release], {
    env: { RUNTIME: 'ctr' },
  })
})

async function digestOf(file: string): Promise<string> {
  return createHash('sha256')
    .update(await readFile(file))
    .digest('hex')
}

interface Deployment {
  kind: string
  spec: { template: { spec: Record<string, unknown> } }
}

test('a POST to the Viola Pod of config/test creates a MultiNicNodeConfig', async () => {
  const objects = parseAllDocuments(await readFile(join(root, 'config/test/viola-test-api.yaml'), 'utf8'))
  for (const object of objects.map(document => document.toJS() as Deployment)) {
    if (object.kind === 'Deployment') Object.assign(object.spec.template.spec, { nodeName: 'w1', hostNetwork: true })
    await apply(object)
  }
  await kubectl('rollout', 'status', 'deployment/viola-api', '-n', namespace, '--timeout=180s')
  const post = async () => {
    const headers = { 'x-provider-id': 'cluster-a', 'content-type': 'application/json' }
    const body = JSON.stringify([aNodeOf('worker-1', 2)])
    const response = await request(`http://${node.address}:8080${violaPath}`, { method: 'POST', headers, body })
    return (await response.body.json()) as { applied: number; results: { action: string }[] }
  }
  assert.equal((await post()).results[0]?.action, 'created')
  assert.equal((await post()).results[0]?.action, 'unchanged')
  const created = await kube.get(nodeConfigs, { namespace, name: 'worker-1' })
  assert.equal(created?.spec.interfaces.length, 2)
  assert.equal(created?.spec.providerId, 'cluster-a')
  const ready = JSON.parse(await get(8080, '/readyz'))
  assert.match(ready.warnings.join('\n'), /anonymous access is on/)
})

interface Service {
  image: string
  args: string[]
  namespace: string
  serviceAccountName?: string
  env: Record<string, string>
  /** Directory of its persistent data. */
  data?: string
}

const services: Record<string, Service> = {
  operator: {
    image: `multinic-operator:${version}`,
    args: [],
    namespace: 'multinic-operator-system',
    serviceAccountName: 'multinic-operator',
    env: { CONTRABASS_ENDPOINT: 'http://127.0.0.1:9', VIOLA_ENDPOINT: 'http://127.0.0.1:8080' },
    data: '/var/lib/multinic-operator',
  },
  controller: {
    image: `multinic-controller:${version}`,
    args: [],
    namespace,
    serviceAccountName: 'multinic-agent',
    env: { HEALTH_ADDR: ':8082' },
  },
  inventory: {
    image: `multinic-inventory:${version}`,
    args: [],
    namespace,
    env: { INVENTORY_ADDR: ':18082', INVENTORY_DB_PATH: '/data/inventory.db', INVENTORY_ANONYMOUS_ACCESS: 'true' },
    data: '/data',
  },
  // The common image runs any component; the Pod selects it.
  viola: {
    image: `multinic:${version}`,
    args: ['viola'],
    namespace,
    serviceAccountName: 'viola-api',
    env: { LISTEN_ADDR: ':8083' },
  },
  cli: { image: `multinic:${version}`, args: ['--help'], namespace, env: {} },
}

function podOf(name: string, { image, args, namespace, serviceAccountName, env, data }: Service): object {
  const id = 65532
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: `image-${name}`, namespace },
    spec: {
      nodeName: 'w1',
      hostNetwork: true,
      restartPolicy: 'Never',
      serviceAccountName,
      automountServiceAccountToken: serviceAccountName !== undefined,
      securityContext: { runAsNonRoot: true, fsGroup: id, seccompProfile: { type: 'RuntimeDefault' } },
      containers: [
        {
          name,
          image,
          imagePullPolicy: 'Never',
          args,
          env: [
            ...Object.entries(env).map(([name, value]) => ({ name, value })),
            { name: 'POD_NAME', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } },
            { name: 'POD_NAMESPACE', valueFrom: { fieldRef: { fieldPath: 'metadata.namespace' } } },
          ],
          securityContext: {
            allowPrivilegeEscalation: false,
            readOnlyRootFilesystem: true,
            capabilities: { drop: ['ALL'] },
          },
          ...(data && { volumeMounts: [{ name: 'data', mountPath: data }] }),
        },
      ],
      ...(data && { volumes: [{ name: 'data', emptyDir: {} }] }),
    },
  }
}

test('every service starts from the image and answers', async () => {
  for (const [name, service] of Object.entries(services)) {
    const { args, ...pod } = service
    await apply(podOf(name, { ...pod, args }))
  }
  await soon(async () => void (await get(8081, '/healthz')))
  await soon(async () => assert.equal(JSON.parse(await get(8082, '/healthz')).status, 'healthy'))
  await soon(async () => void (await get(18082, '/healthz')))
  await soon(async () => assert.deepEqual(JSON.parse(await get(8083, '/readyz')).missing, []))
})

test('the inventory serves the dashboard from the image, inside the operator and separately', async () => {
  for (const port of [18081, 18082]) {
    const page = await get(port, '/')
    const [, script = ''] = /<script[^>]* src="([^"]+)"/.exec(page) ?? []
    assert.match(script, /^\/assets\//, page)
    assert.ok((await get(port, script)).length > 10_000)
  }
})

test('the CLI runs and exits', async () => {
  await soon(async () => {
    const phase = await kubectl('get', 'pod', 'image-cli', '-n', namespace, '-o', 'jsonpath={.status.phase}')
    assert.equal(phase, 'Succeeded')
  })
  assert.match(await kubectl('logs', 'image-cli', '-n', namespace), /Usage: multinic/)
})

test('every service runs as non-root without capabilities and with a read-only root file system', async () => {
  const script = `for process in /proc/[0-9]*; do
    tr '\\0' ' ' <$process/cmdline 2>/dev/null | grep -q '^/usr/bin/node.*/opt/multinic/multinic.mjs' || continue
    echo "$(awk '/^Uid|^Gid|^CapEff|^NoNewPrivs/ { print $2 }' $process/status | xargs) $(awk '$2 == "/" { print $4 }' $process/mounts | cut -d, -f1)"
  done`
  const seen = (await node.exec('sh', ['-c', script])).stdout.trim().split('\n')
  assert.equal(seen.length, 5, seen.join('\n'))
  assert.deepEqual([...new Set(seen)], ['65532 65532 0000000000000000 1 ro'])
})

test('the image contains no shell', async () => {
  for (const shell of ['sh', 'bash', '/bin/busybox']) {
    const attempt = await cp.exec('kubectl', ['exec', 'image-viola', '-n', namespace, '--', shell, '-c', 'true'], {
      check: false,
    })
    assert.notEqual(attempt.code, 0)
    assert.match(attempt.stderr, /not found|no such file/i)
  }
})
