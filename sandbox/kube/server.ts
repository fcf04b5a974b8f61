/**
 * The simulated Kubernetes API server: a cluster behind HTTPS and a bearer token, with a kubeconfig.
 */
import { randomBytes } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import type { Log } from '../../src/telemetry/log.ts'
import { createAccountTokens } from './access/account-tokens.ts'
import { makeCertificates } from './access/certificates.ts'
import { createCluster } from './cluster.ts'
import type { HandlerOptions, PodLogs } from './http/context.ts'
import { createHandler } from './http/handler.ts'
import { servePortForward } from './http/port-forward.ts'
import { type KubeFaults, withFaults } from './http/request-faults.ts'
import type { Store } from './objects/store.ts'

export interface KubeApiOptions {
  /** Name of the cluster and the context in the kubeconfig. */
  name: string
  /** A second name of the context. */
  alias?: string | undefined
  /** Certificates, token and kubeconfig are written here. */
  dir: string
  host?: string
  port?: number
  log: Log
}

export interface KubeApi {
  url: string
  /** Path of the kubeconfig. */
  kubeconfig: string
  token: string
  caFile: string
  store: Store
  faults: KubeFaults
  /** Closes all open connections. */
  closeConnections(): void
  /** Sets the source of Pod logs. */
  setPodLogs(provider: PodLogs): void
  close(): Promise<void>
}

export async function startKubeApi(options: KubeApiOptions): Promise<KubeApi> {
  const { name, dir, host = '127.0.0.1', port = 0, log } = options
  const names = [...new Set([host, '127.0.0.1', '::1', 'localhost', 'kubernetes', 'kubernetes.default.svc'])]
  const { ca, cert, key } = makeCertificates(names)
  const caFile = join(dir, 'ca.crt')
  writeFileSync(caFile, ca)
  const token = randomBytes(24).toString('base64url')
  const cluster = createCluster({ log })

  const tokens = createAccountTokens(token, cluster.store, cluster.now)
  let logs: PodLogs = () => undefined
  const podLogs: PodLogs = (...which) => logs(...which)
  const handlerOptions: HandlerOptions = { cluster, tokens, log, podLogs }
  const handler = createHandler(handlerOptions)
  const faults: KubeFaults = { unreachable: false, conflicts: false, readOnly: [] }
  const server = createServer({ cert, key, keepAliveTimeout: 90_000, requestTimeout: 0 }, withFaults(faults, handler))
  server.on('upgrade', servePortForward(handlerOptions))
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, host, resolve)
  })
  const url = `https://${host.includes(':') ? `[${host}]` : host}:${(server.address() as AddressInfo).port}`
  const kubeconfig = join(dir, 'kubeconfig')
  writeFileSync(kubeconfig, kubeconfigText({ name, alias: options.alias, url, ca, token }), { mode: 0o600 })
  log.info('Kubernetes API server started', { cluster: name, url })

  return {
    url,
    kubeconfig,
    token,
    caFile,
    store: cluster.store,
    faults,
    closeConnections: () => server.closeAllConnections(),
    setPodLogs(provider) {
      logs = provider
    },
    async close() {
      cluster.close()
      const closed = new Promise<void>(resolve => server.close(() => resolve()))
      server.closeAllConnections()
      await closed
    },
  }
}

interface KubeconfigInput extends Pick<KubeApiOptions, 'name' | 'alias'> {
  url: string
  ca: string
  token: string
}

function kubeconfigText({ name, alias, url, ca, token }: KubeconfigInput): string {
  const contextText = (context = '') => `- name: ${context}
  context:
    cluster: ${name}
    user: ${name}-admin
    namespace: default
`
  const data = Buffer.from(ca).toString('base64')
  return `apiVersion: v1
kind: Config
current-context: ${name}
clusters:
- name: ${name}
  cluster:
    server: ${url}
    certificate-authority-data: ${data}
contexts:
${[name, alias].filter(Boolean).map(contextText).join('')}users:
- name: ${name}-admin
  user:
    token: ${token}
`
}
