/** The configuration and the credentials of the real kube-proxy. */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type ControlPlane, kubeconfigText } from './control-plane.ts'

export type ProxyMode = 'iptables' | 'nftables'

export interface ProxyOptions {
  /** Of its Node. */
  name: string
  kubeconfig: string
  mode: ProxyMode
  clusterCIDR: string
  /** By default all addresses of the node with iptables, and only its InternalIPs with nftables. */
  nodePortAddresses?: readonly string[]
}

/** Writes the kubeconfig of all kube-proxies. */
export async function proxyKubeconfig(cp: ControlPlane): Promise<string> {
  const client = await cp.authority.issue('kube-proxy', '/CN=system:kube-proxy', { extendedKeyUsage: 'clientAuth' })
  const file = join(cp.dir, 'kube-proxy.kubeconfig')
  const user = { 'client-certificate': client.cert, 'client-key': client.key }
  await writeFile(file, kubeconfigText(cp.server, cp.authority.cert, user))
  return file
}

/** Limits of 0 leave the sysctls of the machine, which all nodes share, as they are. */
export function proxyConfig({ name, kubeconfig, mode, clusterCIDR, nodePortAddresses }: ProxyOptions): object {
  return {
    apiVersion: 'kubeproxy.config.k8s.io/v1alpha1',
    kind: 'KubeProxyConfiguration',
    mode,
    hostnameOverride: name,
    clusterCIDR,
    ...(nodePortAddresses && { nodePortAddresses }),
    clientConnection: { kubeconfig },
    conntrack: { maxPerCore: 0, min: 0, tcpEstablishedTimeout: '0s', tcpCloseWaitTimeout: '0s' },
    [mode]: { minSyncPeriod: '100ms' },
    healthzBindAddress: '127.0.0.1:10256',
    metricsBindAddress: '127.0.0.1:10249',
  }
}
