/**
 * The network of Pods and Services: every node has a range of Pod addresses, the real kube-proxy balances Services on every node
 * and here, where the test and the API server run, and dnsmasq resolves the names of Services.
 */
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { run, startDaemon } from '../process.ts'
import { binary } from './binaries.ts'
import { bridge, type ControlPlane, serviceCidr } from './control-plane.ts'
import { proxyConfig, proxyKubeconfig } from './proxy.ts'

const podCidr = '10.244.0.0/16'
const domain = 'cluster.local'

/** Lists the rules of kube-proxy; fails until it has written them. */
export const listRules = ['list', 'table', 'ip', 'kube-proxy']

/** What the kubelet writes into the resolv.conf of Pods. */
export const clusterDns = { clusterDNS: [bridge.address], clusterDomain: domain }

export interface PodNetwork {
  /** The directory of the CNI plugins. */
  plugins: string
  /** Returns the range of the next node. */
  nextCidr(): string
  /** Returns the command of the kube-proxy of a node. */
  proxyCommand(name: string): Promise<[string, ...string[]]>
  /** Makes the names of all Services that exist now known. */
  nameServices(): Promise<void>
  close(): Promise<void>
}

/** `plugins` is the directory of the CNI plugins (cni/rig.ts). */
export async function startPodNetwork(cp: ControlPlane, plugins: string): Promise<PodNetwork> {
  await run('sysctl', ['--quiet', '--write', 'net.ipv4.ip_forward=1', 'net.ipv4.conf.all.send_redirects=0'])
  // Without a route, a connection from here to a Service would fail before kube-proxy sees it.
  await run('ip', ['route', 'add', serviceCidr, 'dev', bridge.name])
  await cp.exec('kubectl', ['apply', '-f', '-'], { input: JSON.stringify(apiServerEndpoint(cp.server)) })
  const kubeconfig = await proxyKubeconfig(cp)

  const proxyCommand: PodNetwork['proxyCommand'] = async name => {
    const config = join(cp.dir, `kube-proxy-${name}.json`)
    await writeFile(config, JSON.stringify(proxyConfig({ name, kubeconfig, clusterCIDR: podCidr, mode: 'nftables' })))
    return [binary('kube-proxy'), `--config=${config}`]
  }
  // There is no Node of this name: it waits for one for 30 s, then it works without.
  const [command, ...args] = await proxyCommand('control-plane')
  const proxy = startDaemon(command, args, { log: join(cp.dir, 'kube-proxy.log') })
  const hosts = join(cp.dir, 'dns')
  await mkdir(hosts)
  const dns = startDaemon(
    'dnsmasq',
    [
      ...['--keep-in-foreground', '--user=root', '--conf-file=/dev/null', '--no-resolv', '--no-hosts'],
      ...[`--listen-address=${bridge.address}`, '--bind-interfaces', `--local=/${domain}/`, `--hostsdir=${hosts}`],
    ],
    { log: join(cp.dir, 'dnsmasq.log') },
  )
  let ranges = 0
  return {
    plugins,
    nextCidr: () => {
      ranges += 1
      return podCidr.replace('.0.0/16', `.${ranges}.0/24`)
    },
    proxyCommand,
    async nameServices() {
      const { stdout } = await cp.exec('kubectl', ['get', 'services', '--all-namespaces', '--output', 'json'])
      const { items } = JSON.parse(stdout) as { items: Service[] }
      const lines = items.map(
        ({ metadata, spec }) => `${spec.clusterIP} ${metadata.name}.${metadata.namespace}.svc.${domain}`,
      )
      await writeFile(join(hosts, 'services'), `${lines.join('\n')}\n`)
    },
    close: async () => {
      await dns.stop('SIGKILL')
      await proxy.stop('SIGKILL')
    },
  }
}

interface Service {
  metadata: { name: string; namespace: string }
  spec: { clusterIP: string }
}

/** A veth pair between each Pod and its node. */
export function pointToPoint(cidr: string): object {
  return { type: 'ptp', ipam: { type: 'host-local', ranges: [[{ subnet: cidr }]], routes: [{ dst: '0.0.0.0/0' }] } }
}

/** The API servers of the rig do not publish their address themselves. */
function apiServerEndpoint(server: string): object {
  const { hostname, port } = new URL(server)
  return {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: { name: 'kubernetes', namespace: 'default', labels: { 'kubernetes.io/service-name': 'kubernetes' } },
    addressType: 'IPv4',
    endpoints: [{ addresses: [hostname] }],
    ports: [{ name: 'https', port: Number(port), protocol: 'TCP' }],
  }
}
