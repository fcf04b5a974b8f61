/**
 * A real control plane in this isolation: etcd, kube-apiserver (Node and RBAC authorizers and NodeRestriction, as in
 * production) and kube-controller-manager, on a bridge to which nodes (node.ts) are connected.
 */
import { randomBytes } from 'node:crypto'
import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { get as httpGet } from 'node:http'
import { request } from 'node:https'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { environment } from '../../../src/runtime/env.ts'
import { currentIsolation } from '../isolation.ts'
import { type Daemon, type RunOptions, type RunResult, run, startDaemon, waitForAnswer } from '../process.ts'
import { binary } from './binaries.ts'
import { type Authority, certificateAuthority, signingKey } from './certificates.ts'

export const bridge = { name: 'mnbr0', address: '10.88.0.1', prefix: 24 }
export const serviceCidr = '10.0.0.0/24'

export interface ControlPlaneOptions {
  apiserverFlags?: string[]
  controllerManagerFlags?: string[]
  /** Creates CRDs before the controller manager starts: its garbage collector notices later ones after half a minute. */
  beforeManager?: (exec: ControlPlane['exec']) => Promise<unknown>
  /** Starts a second cluster next to this one, with its own CA, tokens and objects, in the same etcd. */
  firstCluster?: ControlPlane
  /** Without isolation: on these ports of the loopback address, with its files in this directory. */
  loopback?: { dir: string; ports: Ports }
}

export interface Ports {
  etcd: number
  peer: number
  apiserver: number
  manager: number
}

const defaultPorts: Ports = { etcd: 2379, peer: 2380, apiserver: 6443, manager: 10257 }

export interface ControlPlane {
  /** Kubeconfig of a member of system:masters. */
  kubeconfig: string
  server: string
  dir: string
  isolation: string
  authority: Authority
  /** Returns the JSON of the response, or throws if the status is not 200. */
  get(path: string): Promise<unknown>
  /** Runs a command with KUBECONFIG and with the kubectl of the cluster first in the PATH. */
  exec(command: string, args: readonly string[], options?: RunOptions): Promise<RunResult>
  /** Returns a free address of the bridge. */
  nextAddress(): string
  /** Kills the API server. startApiServer starts it again with the same data. */
  stopApiServer(): Promise<void>
  startApiServer(): Promise<void>
  /** Stops the API server and etcd, copies the data of etcd, and starts both again. */
  backUp(): Promise<void>
  /** The same with the data of the last backup in place of the newer ones. */
  restore(): Promise<void>
  close(): Promise<void>
}

export async function startControlPlane(options: ControlPlaneOptions = {}): Promise<ControlPlane> {
  const { loopback } = options
  const isolation = loopback ? '' : currentIsolation()
  const dir = await mkdtemp(join(loopback?.dir ?? tmpdir(), 'control-plane-'))
  const hasOwnBridge = !options.firstCluster && !loopback
  const daemons: Daemon[] = []
  const close = async () => {
    // SIGKILL: a graceful end would wait for every open watch.
    for (const daemon of daemons) await daemon.stop('SIGKILL')
    if (hasOwnBridge) await run('ip', ['link', 'delete', bridge.name], { check: false })
    await rm(dir, { recursive: true, force: true })
  }
  try {
    const secondPorts = { ...defaultPorts, apiserver: 6444, manager: 10258 }
    const ports = loopback?.ports ?? (options.firstCluster ? secondPorts : defaultPorts)
    const address = loopback ? '127.0.0.1' : bridge.address
    if (hasOwnBridge) await createBridge()
    const authority = await certificateAuthority(dir)
    const server = `https://${address}:${ports.apiserver}`
    const token = randomBytes(24).toString('hex')
    const kubeconfig = join(dir, 'kubeconfig')
    await writeFile(join(dir, 'tokens.csv'), `${token},admin,admin,"system:masters"\n`, { mode: 0o600 })
    await writeFile(kubeconfig, kubeconfigText(server, authority.cert, { token }), { mode: 0o600 })
    const ca = await readFile(authority.cert)
    const get = (path: string) => getJson(`${server}${path}`, ca, token)

    const flags = [...(await apiserverFlags(dir, authority, address, ports)), ...(options.apiserverFlags ?? [])]
    if (options.firstCluster) flags.push('--etcd-prefix=/second')
    let etcd: Daemon | undefined
    const startStore = async () => {
      etcd = startEtcd(dir, ports)
      daemons.push(etcd)
      await waitForAnswer('etcd', etcd, () => etcdHealth(ports))
    }
    if (!options.firstCluster) await startStore()
    let apiserver: Daemon
    const startApiServer = async () => {
      apiserver = startDaemon(binary('kube-apiserver'), flags, { log: join(dir, 'kube-apiserver.log'), cwd: dir })
      daemons.push(apiserver)
      await waitForAnswer('kube-apiserver', apiserver, () => get('/readyz'))
    }
    await startApiServer()
    const [data, backup] = [join(dir, 'etcd'), join(dir, 'etcd-backup')]
    const withoutServers = async (action: () => Promise<void>) => {
      await apiserver.stop('SIGKILL')
      await etcd?.stop()
      await action()
      await startStore()
      await startApiServer()
    }
    const path = [dirname(binary('kubectl')), environment()['PATH']].join(delimiter)
    const exec: ControlPlane['exec'] = (command, args, more = {}) =>
      run(command, args, { ...more, env: { KUBECONFIG: kubeconfig, PATH: path, ...more.env } })
    await options.beforeManager?.(exec)
    const manager = startDaemon(
      binary('kube-controller-manager'),
      [
        ...controllerManagerFlags(kubeconfig, authority),
        `--secure-port=${ports.manager}`,
        ...(options.controllerManagerFlags ?? []),
      ],
      { log: join(dir, 'kube-controller-manager.log'), cwd: dir },
    )
    daemons.push(manager)
    // Until it has created this ServiceAccount, the API server refuses Pods of the namespace.
    await waitForAnswer('kube-controller-manager', manager, () =>
      get('/api/v1/namespaces/default/serviceaccounts/default'),
    )

    let last = 10
    return {
      kubeconfig,
      server,
      dir,
      isolation,
      authority,
      get,
      exec,
      nextAddress: () => {
        last += 1
        return bridge.address.replace(/\d+$/, String(last))
      },
      stopApiServer: () => apiserver.stop('SIGKILL'),
      startApiServer,
      backUp: () => withoutServers(() => cp(data, backup, { recursive: true })),
      restore: () =>
        withoutServers(async () => {
          await rm(data, { recursive: true })
          await cp(backup, data, { recursive: true })
        }),
      close,
    }
  } catch (error) {
    await close()
    throw error
  }
}

/** The paths must be absolute, because programs with other working directories read the file. */
export function kubeconfigText(server: string, ca: string, user: Record<string, string>): string {
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'rig', cluster: { server, 'certificate-authority': ca } }],
    users: [{ name: 'rig', user }],
    contexts: [{ name: 'rig', context: { cluster: 'rig', user: 'rig' } }],
    'current-context': 'rig',
  })
}

async function createBridge(): Promise<void> {
  // Without its own MAC address a bridge uses that of a port: it changes with the nodes, and neighbour entries go stale.
  await run('ip', ['link', 'add', bridge.name, 'address', '02:88:00:00:00:01', 'type', 'bridge'])
  await run('ip', ['address', 'add', `${bridge.address}/${bridge.prefix}`, 'dev', bridge.name])
  await run('ip', ['link', 'set', bridge.name, 'up'])
}

function startEtcd(dir: string, ports: Ports): Daemon {
  const client = `http://127.0.0.1:${ports.etcd}`
  const peer = `http://127.0.0.1:${ports.peer}`
  const flags = {
    name: 'rig',
    'data-dir': join(dir, 'etcd'),
    'listen-client-urls': client,
    'advertise-client-urls': client,
    'listen-peer-urls': peer,
    'initial-advertise-peer-urls': peer,
    'initial-cluster': `rig=${peer}`,
  }
  const args = Object.entries(flags).map(([flag, value]) => `--${flag}=${value}`)
  // etcd 3.4 of Debian 12 runs on arm64 only with this variable; newer versions ignore it.
  return startDaemon(binary('etcd'), args, { log: join(dir, 'etcd.log'), env: { ETCD_UNSUPPORTED_ARCH: process.arch } })
}

async function apiserverFlags(dir: string, authority: Authority, address: string, ports: Ports): Promise<string[]> {
  const names = ['localhost', 'kubernetes', 'kubernetes.default', 'kubernetes.default.svc'].map(name => `DNS:${name}`)
  const addresses = ['127.0.0.1', '10.0.0.1', bridge.address].map(ip => `IP:${ip}`)
  const serving = await authority.issue('kube-apiserver', '/CN=kube-apiserver', {
    subjectAltName: [...names, ...addresses].join(),
    extendedKeyUsage: 'serverAuth',
  })
  // Client certificate for kubelets: logs of Pods and exec.
  const client = await authority.issue('kubelet-client', '/O=system:masters/CN=kubelet-client', {
    extendedKeyUsage: 'clientAuth',
  })
  const signing = await signingKey(dir)
  return [
    `--etcd-servers=http://127.0.0.1:${ports.etcd}`,
    `--bind-address=${address}`,
    `--secure-port=${ports.apiserver}`,
    // The API server refuses to advertise a loopback address. Without Services nothing uses this one.
    `--advertise-address=${address.startsWith('127.') ? bridge.address : address}`,
    `--tls-cert-file=${serving.cert}`,
    `--tls-private-key-file=${serving.key}`,
    `--client-ca-file=${authority.cert}`,
    `--cert-dir=${join(dir, 'apiserver-certs')}`,
    `--kubelet-client-certificate=${client.cert}`,
    `--kubelet-client-key=${client.key}`,
    `--kubelet-certificate-authority=${authority.cert}`,
    '--kubelet-preferred-address-types=InternalIP',
    '--service-account-issuer=https://kubernetes.default.svc',
    `--service-account-key-file=${signing.public}`,
    `--service-account-signing-key-file=${signing.private}`,
    `--service-cluster-ip-range=${serviceCidr}`,
    `--token-auth-file=${join(dir, 'tokens.csv')}`,
    '--authorization-mode=Node,RBAC',
    '--enable-admission-plugins=NodeRestriction',
    '--endpoint-reconciler-type=none',
    '--allow-privileged=true',
  ]
}

function controllerManagerFlags(kubeconfig: string, authority: Authority): string[] {
  return [
    `--kubeconfig=${kubeconfig}`,
    '--bind-address=127.0.0.1',
    '--cert-dir=controller-manager-certs',
    '--leader-elect=false',
    '--service-account-private-key-file=sa.key',
    `--root-ca-file=${authority.cert}`,
  ]
}

function etcdHealth({ etcd }: Ports): Promise<void> {
  return new Promise((resolve, reject) => {
    httpGet(`http://127.0.0.1:${etcd}/health`, response => {
      response.resume()
      if (response.statusCode === 200) resolve()
      else reject(new Error(`health: ${response.statusCode}`))
    }).once('error', reject)
  })
}

function getJson(url: string, ca: Buffer, token: string): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const call = request(url, { ca, headers: { authorization: `Bearer ${token}` }, timeout: 10_000 }, response => {
      let text = ''
      response.setEncoding('utf8')
      response.on('data', chunk => {
        text += chunk
      })
      response.once('end', () => {
        if (response.statusCode !== 200)
          return reject(new Error(`GET ${url}: ${response.statusCode} ${text.slice(0, 500)}`))
        resolve(text.startsWith('{') ? JSON.parse(text) : text)
      })
    })
    call.once('timeout', () => call.destroy(new Error(`GET ${url}: no response within 10 s`)))
    call.once('error', reject)
    call.end()
  })
}
