/**
 * A real control plane in this world: etcd, kube-apiserver (Node and RBAC authorisers, NodeRestriction, as in a cluster that
 * people run) and kube-controller-manager, on a bridge to which nodes (node.ts) are plugged.
 */
import { randomBytes } from 'node:crypto'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
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

export interface ControlPlaneOptions {
  apiserverFlags?: string[]
  controllerManagerFlags?: string[]
  /** Kinds that are there before the controller manager: of later ones its garbage collector learns half a minute later. */
  beforeManager?: (exec: ControlPlane['exec']) => Promise<unknown>
  /** A second cluster in the world of this one: with authority, tokens and objects of its own, in the same etcd. */
  beside?: ControlPlane
  /** Outside of a world: on these ports of the loopback address, with its files below this directory. */
  loopback?: { dir: string; ports: Ports }
}

export interface Ports {
  etcd: number
  peer: number
  apiserver: number
  manager: number
}

const usualPorts: Ports = { etcd: 2379, peer: 2380, apiserver: 6443, manager: 10257 }

export interface ControlPlane {
  /** Of a member of system:masters. */
  kubeconfig: string
  server: string
  dir: string
  world: string
  authority: Authority
  /** The answer's JSON; an error when the answer is not a 2xx. */
  get(path: string): Promise<unknown>
  /** With KUBECONFIG set and the cluster's own kubectl first in the path. */
  exec(command: string, args: readonly string[], options?: RunOptions): Promise<RunResult>
  /** An address of the bridge that no node has. */
  nextAddress(): string
  /** Kills the API server, and starts it again with all that it had. */
  away(): Promise<void>
  back(): Promise<void>
  close(): Promise<void>
}

export async function startControlPlane(options: ControlPlaneOptions = {}): Promise<ControlPlane> {
  const { loopback } = options
  const world = loopback ? '' : currentIsolation()
  const dir = await mkdtemp(join(loopback?.dir ?? tmpdir(), 'control-plane-'))
  const ownBridge = !options.beside && !loopback
  const daemons: Daemon[] = []
  const close = async () => {
    // Nothing of it is needed again, and a graceful end would wait for every open watch.
    for (const daemon of daemons) await daemon.stop('SIGKILL')
    if (ownBridge) await run('ip', ['link', 'delete', bridge.name], { check: false })
    await rm(dir, { recursive: true, force: true })
  }
  try {
    const besidePorts = { ...usualPorts, apiserver: 6444, manager: 10258 }
    const ports = loopback?.ports ?? (options.beside ? besidePorts : usualPorts)
    const address = loopback ? '127.0.0.1' : bridge.address
    if (ownBridge) await makeBridge()
    const authority = await certificateAuthority(dir)
    const server = `https://${address}:${ports.apiserver}`
    const token = randomBytes(24).toString('hex')
    const kubeconfig = join(dir, 'kubeconfig')
    await writeFile(join(dir, 'tokens.csv'), `${token},admin,admin,"system:masters"\n`, { mode: 0o600 })
    await writeFile(kubeconfig, kubeconfigText(server, authority.cert, { token }), { mode: 0o600 })
    const ca = await readFile(authority.cert)
    const get = (path: string) => getJson(`${server}${path}`, ca, token)

    const flags = [...(await apiserverFlags(dir, authority, address, ports)), ...(options.apiserverFlags ?? [])]
    if (options.beside) flags.push('--etcd-prefix=/beside')
    else {
      const etcd = startEtcd(dir, ports)
      daemons.push(etcd)
      await waitForAnswer('etcd', etcd, () => etcdHealth(ports))
    }
    let apiserver: Daemon
    const back = async () => {
      apiserver = startDaemon(binary('kube-apiserver'), flags, { log: join(dir, 'kube-apiserver.log'), cwd: dir })
      daemons.push(apiserver)
      await waitForAnswer('kube-apiserver', apiserver, () => get('/readyz'))
    }
    await back()
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
    // The first thing that it does for everybody: until then a Pod of the namespace is refused.
    await waitForAnswer('kube-controller-manager', manager, () =>
      get('/api/v1/namespaces/default/serviceaccounts/default'),
    )

    let last = 10
    return {
      kubeconfig,
      server,
      dir,
      world,
      authority,
      get,
      exec,
      nextAddress: () => {
        last += 1
        return bridge.address.replace(/\d+$/, String(last))
      },
      away: () => apiserver.stop('SIGKILL'),
      back,
      close,
    }
  } catch (error) {
    await close()
    throw error
  }
}

/** Absolute paths: the file is read by programs with other working directories. */
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

async function makeBridge(): Promise<void> {
  // A bridge without a MAC of its own takes that of a port: it changes as nodes come and go, and neighbours go stale.
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
  // etcd 3.4, as Debian 12 has it, refuses to run on arm64 unless it is told to; newer ones do not look.
  return startDaemon(binary('etcd'), args, { log: join(dir, 'etcd.log'), env: { ETCD_UNSUPPORTED_ARCH: process.arch } })
}

async function apiserverFlags(dir: string, authority: Authority, address: string, ports: Ports): Promise<string[]> {
  const names = ['localhost', 'kubernetes', 'kubernetes.default', 'kubernetes.default.svc'].map(name => `DNS:${name}`)
  const addresses = ['127.0.0.1', '10.0.0.1', bridge.address].map(each => `IP:${each}`)
  const serving = await authority.issue('kube-apiserver', '/CN=kube-apiserver', {
    subjectAltName: [...names, ...addresses].join(),
    extendedKeyUsage: 'serverAuth',
  })
  // What it shows to kubelets, for the logs of Pods and exec.
  const client = await authority.issue('kubelet-client', '/O=system:masters/CN=kubelet-client', {
    extendedKeyUsage: 'clientAuth',
  })
  const signing = await signingKey(dir)
  return [
    `--etcd-servers=http://127.0.0.1:${ports.etcd}`,
    `--bind-address=${address}`,
    `--secure-port=${ports.apiserver}`,
    // It does not announce a loopback address; where there are no Services nobody asks for this one.
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
    '--service-cluster-ip-range=10.0.0.0/24',
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
    httpGet(`http://127.0.0.1:${etcd}/health`, answer => {
      answer.resume()
      if (answer.statusCode === 200) resolve()
      else reject(new Error(`health: ${answer.statusCode}`))
    }).once('error', reject)
  })
}

function getJson(url: string, ca: Buffer, token: string): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const asked = request(url, { ca, headers: { authorization: `Bearer ${token}` }, timeout: 10_000 }, answer => {
      let text = ''
      answer.setEncoding('utf8')
      answer.on('data', chunk => {
        text += chunk
      })
      answer.once('end', () => {
        if (answer.statusCode !== 200)
          return reject(new Error(`GET ${url}: ${answer.statusCode} ${text.slice(0, 500)}`))
        resolve(text.startsWith('{') ? JSON.parse(text) : text)
      })
    })
    asked.once('timeout', () => asked.destroy(new Error(`GET ${url}: no answer in 10 s`)))
    asked.once('error', reject)
    asked.end()
  })
}
