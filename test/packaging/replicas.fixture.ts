/**
 * The layout that we recommend for production, on three real nodes: the management cluster by values-mgmt.yaml (two operators,
 * two Violas, two inventories on PostgreSQL with a synchronous standby) and a Biz cluster by values-production.yaml (two
 * controllers), with TLS and tokens. Both releases are in one API server, in two namespaces. The cloud is that of the sandbox, with a
 * real message bus.
 */
import assert from 'node:assert/strict'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Cloud, startCloud } from '../../sandbox/cloud/cloud.ts'
import { startNotifications } from '../../sandbox/cloud/notifications.ts'
import {
  addServer,
  addSubnet,
  type CloudState,
  createCloudState,
  type Server,
  type Subnet,
} from '../../sandbox/cloud/state.ts'
import { sandboxNamespace } from '../../sandbox/lifecycle/components.ts'
import { installEncryptKey, openstackConfigFor } from '../../sandbox/lifecycle/install.ts'
import { writeImages } from '../../scripts/images.ts'
import { thisArchitecture } from '../../scripts/oci.ts'
import { openstackConfigs } from '../../src/contract/openstack-config.ts'
import { connectKube, type KubeClient } from '../../src/kube/client.ts'
import { loadKubeconfig } from '../../src/kube/config.ts'
import { silent } from '../../src/telemetry/log.ts'
import { cniPlugins } from '../rigs/cni/rig.ts'
import { openHelm } from '../rigs/helm/rig.ts'
import {
  type ControlPlane,
  type RigNode,
  startControlPlane,
  startNode,
  startPodNetwork,
} from '../rigs/kubernetes/rig.ts'
import { startScheduler } from '../rigs/kubernetes/scheduler.ts'
import { type Postgres, startPostgres } from '../rigs/postgres/rig.ts'
import { type RabbitMq, startRabbitMq } from '../rigs/rabbitmq/rig.ts'
import { podReport } from '../support/deployed-pods.ts'
import { eventually } from '../support/eventually.ts'
import { chart, root } from './deployed.fixture.ts'
import type { Peer } from './network-cut.ts'

/** The namespaces of the two releases. */
export const management = sandboxNamespace
export const biz = 'multinic-biz'
export const providerId = 'biz'
const tag = 'replicas'
const within = 240_000
const nicsPerNode = 6
const databaseCa = '/etc/multinic/database-ca'
const inventoryName = `multinic-inventory.${management}`

export interface Machine {
  node: RigNode
  server: Server
  /** MAC addresses of its NICs without a port of OpenStack. */
  macs: string[]
}

export interface Replicated {
  cp: ControlPlane
  kube: KubeClient
  cloudState: CloudState
  subnet: Subnet
  machines: Machine[]
  apiServer: Peer
  postgres: Postgres
  /** The message bus of the cloud. */
  rabbit: RabbitMq
  /** Both servers of PostgreSQL. */
  database: Peer
  /** Sends the Service of PostgreSQL to its primary. */
  movePostgres(): Promise<void>
  /** Installs or upgrades both releases, the Biz cluster by this profile, and waits until every replica is ready. */
  deploy(command: 'install' | 'upgrade', profile: string, ...more: string[]): Promise<void>
  /** Waits until every replica is ready. */
  allReady(): Promise<void>
  /** URL of the inventory's Service. */
  inventory(): string
  /** How its certificate is verified. */
  inventoryTls: { ca: string; servername: string }
  token(): Promise<string>
  /** Waits for an assertion; if it fails, adds the description and logs of our Pods to the error. */
  soon(check: () => Promise<void>): Promise<void>
  close(): Promise<void>
}

export async function startReplicated(): Promise<Replicated> {
  const home = await mkdtemp(join(tmpdir(), 'multinic-replicas-'))
  const closing: (() => Promise<unknown>)[] = [() => rm(home, { recursive: true, force: true })]
  const close = async () => {
    for (const end of closing.toReversed()) await end()
  }
  const opened = <T>(what: T, end: (what: T) => Promise<unknown>): T => {
    closing.push(() => end(what))
    return what
  }
  try {
    const helm = await openHelm(home)
    const cp = opened(await startControlPlane(), it => it.close())
    const host = new URL(cp.server).hostname
    const kube = opened(connectKube(await loadKubeconfig(cp.kubeconfig)), it => it.close())
    const kubectl = async (...args: string[]) => (await cp.exec('kubectl', args)).stdout.trim()
    const apply = (object: object) => cp.exec('kubectl', ['apply', '-f', '-'], { input: JSON.stringify(object) })
    const network = opened(await startPodNetwork(cp, await cniPlugins()), it => it.close())
    const cloudState = createCloudState()
    const cloud = opened(await startCloud(cloudState, silent, host), it => it.close())
    const subnet = addSubnet(cloudState, { name: 'storage', cidr: '10.10.0.0/24', mtu: 1450 })
    const images = join(home, 'images')
    const [postgres, rabbit] = await Promise.all([
      startPostgres({ address: host }),
      startRabbitMq({ address: host }),
      writeImages({ out: images, architecture: thisArchitecture(), tags: [tag], compress: false }),
    ])
    opened(postgres, it => it.close())
    opened(rabbit, it => it.close())
    cloudState.bus = { urls: [`amqp://${host}:${rabbit.port}/`], user: rabbit.user, password: rabbit.password }
    opened(await startNotifications(cloudState, { url: rabbit.url, log: silent }), it => it.close())
    const machines = await Promise.all(
      [1, 2, 3].map(async number => {
        const server = addServer(cloudState, `w${number}`)
        const macs = Array.from({ length: nicsPerNode }, (_, nic) => `fa:16:3e:00:0${number}:1${nic}`)
        const node = await startNode(cp, { name: server.name, uuid: server.id, macs, network })
        opened(node, it => it.close())
        return { node, server, macs: [...macs] }
      }),
    )
    for (const { node } of machines)
      await node.exec(join(root, 'scripts/images-load.sh'), [images], { env: { RUNTIME: 'ctr' } })
    const scheduler = startScheduler(cp)
    opened(scheduler, it => it.stop())

    for (const name of [management, biz]) await kubectl('create', 'namespace', name)
    const movePostgres = async () => {
      await apply(postgresEndpoint(host, postgres.port()))
    }
    await apply(postgresService)
    await movePostgres()
    await createSecrets({ cp, kubectl, postgres, home })
    await installEncryptKey(kube, cloudState)
    const values = join(home, 'values.json')
    await writeFile(values, JSON.stringify(rigValues(cloud)))
    let inventoryAddress = ''
    const release = async (name: string, namespace: string, ...args: string[]) => {
      const { code, stderr } = await helm(
        [...args, name, chart, '--namespace', namespace, '--values', values],
        cp.kubeconfig,
      )
      assert.equal(code, 0, stderr)
    }
    const soon: Replicated['soon'] = async check => {
      try {
        await eventually(check, { within, every: 250 })
      } catch (error) {
        const reports = await Promise.all([management, biz].map(namespace => podReport(cp, namespace)))
        throw new Error(`${error}\n${reports.join('\n')}`)
      }
    }
    const allReady = () =>
      soon(async () => {
        for (const namespace of [management, biz]) {
          const { items } = JSON.parse(await kubectl('get', 'deployments', '-n', namespace, '-o', 'json'))
          for (const item of items) assert.partialDeepStrictEqual(item.status, rolledOut(item), item.metadata.name)
        }
      })
    return {
      apiServer: { address: host, ports: [Number(new URL(cp.server).port)] },
      database: { address: host, ports: [5432, 5433] },
      ...{ cp, kube, cloudState, subnet, machines, postgres, rabbit, movePostgres, allReady, soon, close },
      inventory: () => `https://${inventoryAddress}:18081`,
      inventoryTls: { ca: await readFile(cp.authority.cert, 'utf8'), servername: inventoryName },
      token: () => kubectl('create', 'token', 'multinic-reader', '--audience=multinic', '-n', management),
      deploy: async (command, profile, ...more) => {
        const file = (name: string) => ['--values', join(chart, `values-${name}.yaml`)]
        await release('multinic-mgmt', management, command, ...file('mgmt'), ...more)
        // Both releases are in one cluster, so that only one has the ClusterRoles.
        const once = ['--set', 'access.clusterRoles=false']
        await release('multinic-agent', biz, command, ...file(profile), ...once, ...more)
        await network.nameServices()
        inventoryAddress = await kubectl(
          'get',
          'service',
          'multinic-inventory',
          '-n',
          management,
          '-o',
          'jsonpath={.spec.clusterIP}',
        )
        await allReady()
        if (command === 'upgrade') return
        const vmNames = machines.map(({ server }) => server.id)
        const config = { name: 'main', vmNames, subnetIDs: [subnet.id], clusterId: providerId }
        await kube.create(openstackConfigs, openstackConfigFor(cloudState, config))
      },
    }
  } catch (error) {
    await close()
    throw error
  }
}

type Kubectl = (...args: string[]) => Promise<string>

/** The state of a Deployment whose rollout has ended. */
function rolledOut({ metadata, spec }: { metadata: { generation: number }; spec: { replicas: number } }): object {
  const { replicas } = spec
  return { observedGeneration: metadata.generation, replicas, updatedReplicas: replicas, readyReplicas: replicas }
}

/** What this cluster needs in addition to the files of the chart. */
function rigValues({ urls }: Cloud): object {
  const image = { tag, pullPolicy: 'Never' }
  return {
    controller: { image },
    agent: { image },
    viola: { image },
    operator: { image, settings: { CONTRABASS_ENDPOINT: urls.contrabass } },
    inventory: {
      image,
      extraVolumes: [{ name: 'database-ca', secret: { secretName: 'database-ca' } }],
      extraVolumeMounts: [{ name: 'database-ca', mountPath: databaseCa, readOnly: true }],
    },
  }
}

/** A Service without a selector: its EndpointSlice follows the primary, as the operators of PostgreSQL do it. */
const postgresService = {
  ...{ apiVersion: 'v1', kind: 'Service', metadata: { name: 'postgres', namespace: management } },
  spec: { ports: [{ name: 'sql', port: 5432 }] },
}

function postgresEndpoint(address: string, port: number): object {
  return {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: { name: 'postgres', namespace: management, labels: { 'kubernetes.io/service-name': 'postgres' } },
    addressType: 'IPv4',
    endpoints: [{ addresses: [address] }],
    ports: [{ name: 'sql', port, protocol: 'TCP' }],
  }
}

interface SecretsInput {
  cp: ControlPlane
  kubectl: Kubectl
  postgres: Postgres
  home: string
}

/** The Secrets that docs/guides/install.md names, and the CA of the database. */
async function createSecrets({ cp, kubectl, postgres, home }: SecretsInput): Promise<void> {
  const create = (name: string, ...files: string[]) =>
    kubectl('create', 'secret', 'generic', name, '-n', management, ...files.map(file => `--from-file=${file}`))
  const write = async (name: string, text: string) => {
    await writeFile(join(home, name), text)
    return join(home, name)
  }
  const target = { providerId, name: 'Biz', kubeconfig: 'biz.kubeconfig', namespace: biz }
  const routing = await write('routing.yaml', JSON.stringify({ strict: true, targets: [target] }))
  await create('viola-routing', routing, await write('biz.kubeconfig', await kubeconfigOfViola(cp, kubectl)))

  for (const [secret, name] of Object.entries({ 'viola-tls': 'viola-api', 'inventory-tls': inventoryName })) {
    const serving = { subjectAltName: `DNS:${name}`, extendedKeyUsage: 'serverAuth' }
    const { cert, key } = await cp.authority.issue(secret, `/CN=${name}`, serving)
    await create(secret, `tls.crt=${cert}`, `tls.key=${key}`, `ca.crt=${cp.authority.cert}`)
  }

  const url = new URL(await postgres.database('inventory'))
  await create('database-ca', `ca.crt=${await postgres.encrypt()}`)
  await postgres.addStandby()
  Object.assign(url, {
    host: `postgres.${management}:5432`,
    search: `?sslmode=verify-full&sslrootcert=${databaseCa}/ca.crt`,
  })
  await create('inventory-database', await write('INVENTORY_DATABASE_URL', url.href))
}

/** The rights of docs/guides/viola.md in the Biz cluster. */
async function kubeconfigOfViola(cp: ControlPlane, kubectl: Kubectl): Promise<string> {
  const name = 'viola-of-management'
  // The CRD does not exist yet, so that kubectl create clusterrole would refuse its name.
  const rules = [
    {
      ...{ apiGroups: ['multinic.io'], resources: ['multinicnodeconfigs'] },
      verbs: ['get', 'list', 'watch', 'create', 'patch', 'delete'],
    },
  ]
  const role = { apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'Role', metadata: { name, namespace: biz }, rules }
  await cp.exec('kubectl', ['apply', '-f', '-'], { input: JSON.stringify(role) })
  await kubectl('create', 'serviceaccount', name, '-n', biz)
  await kubectl('create', 'rolebinding', name, '-n', biz, `--role=${name}`, `--serviceaccount=${biz}:${name}`)
  const token = await kubectl('create', 'token', name, '-n', biz, '--duration=24h')
  const ca = await readFile(cp.authority.cert, 'base64')
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name, cluster: { server: cp.server, 'certificate-authority-data': ca } }],
    users: [{ name, user: { token } }],
    contexts: [{ name, context: { cluster: name, user: name } }],
    'current-context': name,
  })
}
