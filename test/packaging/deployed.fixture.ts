/**
 * The installed chart: all components from images, as Pods on a real kubelet with their own ServiceAccounts. The cloud is that
 * of the sandbox, with one server (w1) that is the node and has one port.
 *
 * Without `hasNetwork` the rig has no CNI plugin, kube-proxy or DNS, and the components use the host network. It has no scheduler: the
 * test binds their Pods to the node.
 */
import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Cloud, startCloud } from '../../sandbox/cloud/cloud.ts'
import {
  addPort,
  addServer,
  addSubnet,
  type CloudState,
  createCloudState,
  type Port,
  type Server,
  type Subnet,
  setPortStatus,
} from '../../sandbox/cloud/state.ts'
import { sandboxNamespace as namespace } from '../../sandbox/lifecycle/components.ts'
import { installEncryptKey, openstackConfigFor } from '../../sandbox/lifecycle/install.ts'
import { writeImages } from '../../scripts/images.ts'
import { thisArchitecture } from '../../scripts/oci.ts'
import { nodeConfigs } from '../../src/contract/node-config.ts'
import { openstackConfigs } from '../../src/contract/openstack-config.ts'
import { connectKube, type KubeClient } from '../../src/kube/client.ts'
import { loadKubeconfig } from '../../src/kube/config.ts'
import { silent } from '../../src/telemetry/log.ts'
import { cniPlugins } from '../rigs/cni/rig.ts'
import { type Helm, openHelm } from '../rigs/helm/rig.ts'
import {
  type ControlPlane,
  type PodNetwork,
  type RigNode,
  startControlPlane,
  startNode,
  startPodNetwork,
} from '../rigs/kubernetes/rig.ts'
import { bindPods, podReport } from '../support/deployed-pods.ts'
import { eventually } from '../support/eventually.ts'

export const root = join(import.meta.dirname, '../..')
export const chart = join(root, 'deployments/helm')
export const release = 'multinic-agent'
/** Tag of the images of this tree. */
export const tag = 'deployed'
export const ports = { controller: 8082, operator: 8081, viola: 8083, inventory: 18081 }
const components = ['controller', 'operator', 'viola'] as const
const within = 180_000

export interface Deployed {
  cp: ControlPlane
  node: RigNode
  kube: KubeClient
  helm: Helm
  cloud: Cloud
  cloudState: CloudState
  server: Server
  subnet: Subnet
  port: Port
  /** Options of helm for all components with images of a tag. */
  values(imageTag: string): string[]
  /** A file with the values that this cluster needs. */
  rigValues: string
  /** Only with the option of that name. */
  network: PodNetwork | undefined
  /** Binds the Pods of another namespace to the node. */
  bindPodsOf(namespace: string): void
  /** Runs helm, which must succeed, and waits until all components are ready. */
  deploy(args: readonly string[]): Promise<void>
  /** Attaches the port of w1 and waits until it is a NIC. The OpenstackConfig also selects the other VMs. */
  configureNic(otherVms?: readonly Server[]): Promise<void>
  /** Waits for an assertion; if it fails, adds the description and logs of our Pods to the error. */
  soon(check: () => Promise<void>): Promise<void>
  close(): Promise<void>
}

export interface DeployedOptions {
  /** False: the node gets no images of this tree. */
  ownImages?: boolean
  /** Directories with the archives of other images. */
  moreImages?: readonly string[]
  /** True: Pods and Services have a network. */
  hasNetwork?: boolean
}

export async function startDeployed(options: DeployedOptions = {}): Promise<Deployed> {
  const { ownImages = true, moreImages = [], hasNetwork = false } = options
  const home = await mkdtemp(join(tmpdir(), 'multinic-deployed-'))
  const helm = await openHelm(home)
  const cp = await startControlPlane()
  const kube = connectKube(await loadKubeconfig(cp.kubeconfig))
  const cloudState = createCloudState()
  const cloud = await startCloud(cloudState, silent, new URL(cp.server).hostname)
  const server = addServer(cloudState, 'w1')
  const subnet = addSubnet(cloudState, { name: 'storage', cidr: '10.10.0.0/24', mtu: 1450 })
  const port = addPort(cloudState, { server, subnet, address: '10.10.0.10' })
  const network = hasNetwork ? await startPodNetwork(cp, await cniPlugins()) : undefined
  const node = await startNode(cp, {
    ...{ name: 'w1', uuid: server.id, macs: [port.macAddress] },
    ...(network && { network }),
  })
  for (const dir of [...(ownImages ? [await writeOwnImages(home)] : []), ...moreImages])
    await node.exec(join(root, 'scripts/images-load.sh'), [dir], { env: { RUNTIME: 'ctr' } })
  const scheduling = new AbortController()
  const bindPodsOf = (name: string) => {
    void bindPods(kube, { namespace: name, node: 'w1', signal: scheduling.signal })
  }
  bindPodsOf(namespace)

  const reporting = async (check: () => Promise<void>) => {
    try {
      await check()
    } catch (error) {
      throw new Error(`${error}\n${await podReport(cp, namespace)}`)
    }
  }
  const rigValues = join(home, 'values.json')
  const operatorSettings = {
    CONTRABASS_ENDPOINT: cloud.urls.contrabass,
    VIOLA_ENDPOINT: `http://127.0.0.1:${ports.viola}`,
  }
  await writeFile(
    rigValues,
    JSON.stringify({
      controller: { enabled: true, hostNetwork: true, port: ports.controller },
      operator: { enabled: true, hostNetwork: true, port: ports.operator, settings: operatorSettings },
      viola: { enabled: true, hostNetwork: true, port: ports.viola },
    }),
  )
  const values = (imageTag: string) => [
    ...['--values', rigValues],
    ...[...components, 'agent'].flatMap(component => [
      ...['--set', `${component}.image.tag=${imageTag},${component}.image.pullPolicy=Never`],
    ]),
  ]
  const soon: Deployed['soon'] = check => reporting(() => eventually(check, { within, every: 250 }))
  return {
    ...{ cp, node, kube, helm, cloud, cloudState, server, subnet, port, network, bindPodsOf, values, rigValues, soon },
    deploy: async args => {
      const { code, stderr } = await helm([...args, '--namespace', namespace], cp.kubeconfig)
      assert.equal(code, 0, stderr)
      const { stdout } = await cp.exec('kubectl', ['get', 'deployments', '--namespace', namespace, '--output', 'name'])
      const deployments = stdout.trim().split('\n')
      assert.equal(deployments.length, components.length, stdout)
      await reporting(async () => {
        for (const deployment of deployments) {
          const wait = ['rollout', 'status', deployment, '--namespace', namespace, `--timeout=${within}ms`]
          await cp.exec('kubectl', wait)
        }
      })
    },
    configureNic: async (otherVms = []) => {
      await installEncryptKey(kube, cloudState)
      const vmNames = [server, ...otherVms].map(({ id }) => id)
      const config = { name: 'main', vmNames, subnetIDs: [subnet.id], clusterId: 'here' }
      await kube.create(openstackConfigs, openstackConfigFor(cloudState, config))
      setPortStatus(cloudState, port.id, 'ACTIVE')
      await soon(async () => {
        const found = await kube.get(nodeConfigs, { namespace, name: 'w1' })
        assert.equal(found?.status?.state, 'Configured', JSON.stringify(found?.status))
      })
      const { stdout } = await node.exec('ip', ['-brief', 'address', 'show', 'multinic0'])
      assert.match(stdout, /10\.10\.0\.10\/24/)
    },
    close: async () => {
      scheduling.abort()
      await node.close()
      await network?.close()
      await kube.close()
      await cloud.close()
      await cp.close()
      await rm(home, { recursive: true, force: true })
    },
  }
}

async function writeOwnImages(home: string): Promise<string> {
  const out = join(home, 'images')
  await writeImages({ out, architecture: thisArchitecture(), tags: [tag], compress: false })
  return out
}
