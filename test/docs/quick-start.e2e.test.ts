/**
 * Types the quick start: from an empty cluster with a real kubelet and a real OpenStack to a configured NIC, and back.
 *
 * The rig has no CNI plugin, kube-proxy, DNS or scheduler: the components use the host network, and the test binds their Pods
 * to the node. A server of this OpenStack is a record; the node is its machine, with the MAC address of the server's port.
 */
import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { connect, createServer, type Server } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { after, before, test } from 'node:test'
import { stringify } from 'yaml'
import { writeImages } from '../../scripts/images.ts'
import { thisArchitecture } from '../../scripts/oci.ts'
import { connectKube, type KubeClient } from '../../src/kube/client.ts'
import { loadKubeconfig } from '../../src/kube/config.ts'
import { version } from '../../src/runtime/version.ts'
import { helmHomes, helmProgram } from '../rigs/helm/rig.ts'
import { bridge } from '../rigs/kubernetes/control-plane.ts'
import { type ControlPlane, type RigNode, startControlPlane, startNode } from '../rigs/kubernetes/rig.ts'
import { host as cloudHost, ports } from '../rigs/openstack/addresses.ts'
import type { Account } from '../rigs/openstack/api.ts'
import { type OpenStack, startOpenStack } from '../rigs/openstack/rig.ts'
import { bindPods, podReport } from '../support/deployed-pods.ts'
import { eventually } from '../support/eventually.ts'
import { definitionObjects, namesOf, newObjects, objectsIn } from '../support/objects-in.ts'
import { type Block, blocksIn, blocksOf, commandsOf, root } from './blocks.ts'
import { openShell, type Shell } from './run-block.ts'

const namespace = 'multinic-system'
const page = 'docs/guides/quick-start.md'
const long = { timeout: 15 * 60_000 }
/** The Pods reach the cloud by the bridge. This region of its catalog has the addresses there. */
const region = 'cluster'

let home: string
let cp: ControlPlane
let cloud: OpenStack
let kube: KubeClient
let node: RigNode
let shell: Shell
let earlier: string[]
const proxies: Server[] = []
const scheduling = new AbortController()

before(async () => {
  home = await mkdtemp(join(tmpdir(), 'multinic-quick-start-'))
  const images = join(home, 'images')
  cp = await startControlPlane()
  cloud = await startOpenStack()
  kube = connectKube(await loadKubeconfig(cp.kubeconfig))
  const networkId = await cloud.createNetwork({ name: 'storage' })
  const subnetId = await cloud.createSubnet({ name: 'storage', networkId, cidr: '10.60.0.0/24' })
  const portId = await cloud.createPort({ networkId, fixedIps: [{ subnetId, address: '10.60.0.10' }] })
  const uuid = await cloud.bootServer({ name: 'worker-1', nics: [{ portId }] })
  const port = await eventually(
    async () => {
      const { port: found } = await cloud.api.call('neutron', 'GET', `/v2.0/ports/${portId}`)
      assert.equal(found.status, 'ACTIVE')
      return found
    },
    { within: 120_000, every: 500 },
  )
  await serveOnBridge()
  await writeImages({ out: images, architecture: thisArchitecture(), tags: [version], compress: false })
  node = await startNode(cp, { name: 'worker-1', uuid, macs: [port.mac_address] })
  await node.exec(join(root, 'scripts/images-load.sh'), [images], { env: { RUNTIME: 'ctr' } })
  shell = await openUserShell(await cloud.createUser('user', ['member']))
  earlier = await objectsIn(cp)
  void bindPods(kube, { namespace, node: 'worker-1', signal: scheduling.signal })
}, long)
after(async () => {
  scheduling.abort()
  for (const proxy of proxies) proxy.close()
  await shell?.close()
  await node?.close()
  await kube?.close()
  await cloud?.close()
  await cp?.close()
  await rm(home, { recursive: true, force: true })
})

/** The cloud listens on the loopback address only. */
async function serveOnBridge(): Promise<void> {
  await cloud.api.call('keystone', 'POST', '/v3/regions', { region: { id: region } })
  const { services } = await cloud.api.call('keystone', 'GET', '/v3/services')
  const paths = { identity: ['keystone', '/v3'], network: ['neutron', ''], compute: ['nova', '/v2.1'] } as const
  for (const [type, [name, path]] of Object.entries(paths)) {
    const port = ports[name]
    const proxy = createServer(socket => {
      const upstream = connect(port, cloudHost)
      socket.pipe(upstream).pipe(socket)
      socket.on('error', () => upstream.destroy())
      upstream.on('error', () => socket.destroy())
    })
    proxies.push(proxy)
    await new Promise<void>(resolve => proxy.listen(port, bridge.address, resolve))
    const { id } = services.find((service: { type: string }) => service.type === type)
    const url = `http://${bridge.address}:${port}${path}`
    const endpoint = { service_id: id, interface: 'public', region_id: region, url }
    await cloud.api.call('keystone', 'POST', '/v3/endpoints', { endpoint })
  }
}

/** What a cluster without Pod network and DNS needs besides the page. */
const rigValues = {
  controller: { hostNetwork: true, port: 8082 },
  operator: { hostNetwork: true, settings: { VIOLA_ENDPOINT: 'http://127.0.0.1:8083' } },
  viola: { hostNetwork: true, port: 8083 },
}

/** A port-forward runs until the dashboard has answered. */
const functions = `
helm() { if [ "$1" = install ]; then command helm "$@" --values rig.yaml; else command helm "$@"; fi; }
kubectl() {
  case " $* " in
    *' port-forward '*)
      command kubectl "$@" >&2 &
      until curl --silent --fail --output page.html http://127.0.0.1:18081/; do kill -0 $!; sleep 0.2; done
      kill $!
      echo && cat page.html ;;
    *) command kubectl "$@" ;;
  esac
}
`

async function openUserShell({ user, password }: Account): Promise<Shell> {
  const path = (await cp.exec('sh', ['-c', 'echo "$PATH"'])).stdout.trim()
  const opened = await openShell({
    functions,
    env: {
      ...helmHomes(home),
      KUBECONFIG: cp.kubeconfig,
      PATH: [dirname(await helmProgram()), path].join(':'),
      no_proxy: '*',
      OS_AUTH_URL: `${cloud.keystoneUrl}/v3`,
      OS_IDENTITY_API_VERSION: '3',
      OS_USERNAME: user,
      OS_PASSWORD: password,
      OS_PROJECT_ID: cloud.projectId,
      OS_USER_DOMAIN_NAME: 'Default',
    },
  })
  await writeFile(join(opened.dir, 'rig.yaml'), stringify(rigValues))
  return opened
}

const blocks = blocksOf('quick-start')
const typed = new Set<Block>()

/** Types the next block of the page, which must contain this text. Returns its output. */
async function type(text: string): Promise<string> {
  const block = blocks.find(one => !typed.has(one)) ?? assert.fail('the page has no further block')
  assert.ok(commandsOf(block).includes(text), `${block.page}:${block.line} does not contain ${text}`)
  typed.add(block)
  return runBlock(block)
}

async function runBlock(block: Block): Promise<string> {
  try {
    return await shell.run(block)
  } catch (error) {
    const objects = await cp.exec('kubectl', ['-n', namespace, 'get', 'osc,mnnc', '--output', 'yaml'], { check: false })
    throw new Error(`${error}\n${objects.stdout}\n${await podReport(cp, namespace)}`)
  }
}

/** Writes the clouds.yaml of the page with the values of this cloud. */
async function writeClouds(id: string, secret: string): Promise<void> {
  const example = blocksIn(page).find(({ language }) => language === 'yaml')?.text ?? ''
  const text = example
    .replace('https://keystone.example.com:5000/v3', `http://${bridge.address}:${ports.keystone}/v3`)
    .replace(' ID\n', ` ${id}\n`)
    .replace(' SECRET\n', ` ${secret}\n`)
    .replace('RegionOne', region)
  assert.notEqual(text, example)
  await writeFile(join(shell.dir, 'clouds.yaml'), text)
}

test('the user creates a credential that may only read', long, async () => {
  const output = await type('openstack application credential create')
  const fieldOf = (field: string) =>
    new RegExp(`^\\| ${field} +\\| (\\S+) +\\|$`, 'm').exec(output)?.[1] ?? assert.fail(output)
  assert.equal(fieldOf('roles'), 'reader')
  await writeClouds(fieldOf('id'), fieldOf('secret'))
})

test('three commands install everything, and all components become ready', long, async () => {
  const output = await type('helm install')
  for (const name of ['multinic-agent-controller', 'multinic-operator', 'viola-api'])
    assert.match(output, new RegExp(`deployment.apps/${name} condition met`))
})

test('one object configures the NIC of the node', long, async () => {
  await type('kind: OpenstackConfig')
  const { stdout } = await node.exec('ip', ['-brief', 'address', 'show', 'multinic0'])
  assert.match(stdout, /^multinic0\S* +\S+ +10\.60\.0\.10\/24/)
})

test('kubectl and multinic show it', long, async () => {
  const [block] = blocks.filter(one => !typed.has(one))
  assert.ok(block && commandsOf(block).includes('multinic status'))
  typed.add(block)
  // The inventory gets the result with the next sync. Until then the output is not that of the page.
  await eventually(() => runBlock(block), { within: 180_000, every: 1_000 })
})

test('the dashboard is reachable by a port-forward, and a token for it exists', long, async () => {
  const output = await type('port-forward')
  assert.match(output, /^eyJ\S+$/m)
  assert.match(output, /<title>MultiNIC<\/title>/)
})

test('helm uninstall leaves what the page names, and the NIC is gone', long, async () => {
  await type('helm uninstall')
  const { stdout } = await node.exec('ip', ['-brief', 'link'])
  assert.doesNotMatch(stdout, /multinic/)
  assert.match(stdout, /^eth1@/m)
  const ofNamespace = [
    `ConfigMap/${namespace}/kube-root-ca.crt`,
    `Namespace//${namespace}`,
    `ServiceAccount/${namespace}/default`,
  ]
  const left = [...definitionObjects, ...ofNamespace].sort()
  await eventually(
    async () => {
      const ofAgents = ['--namespace', namespace, '--selector', 'app.kubernetes.io/component=agent']
      const jobs = await namesOf(cp, 'jobs,pods', ...ofAgents)
      assert.deepEqual(newObjects(await objectsIn(cp), [...earlier, ...jobs]), left)
    },
    { within: 120_000, every: 1_000 },
  )
})

test('the last commands of the page leave the cluster as it was', long, async () => {
  await type('kubectl delete namespace')
  await eventually(async () => assert.deepEqual(newObjects(await objectsIn(cp), earlier), []), {
    within: 120_000,
    every: 1_000,
  })
  assert.equal(typed.size, blocks.length, 'a block of the page was not run')
})
