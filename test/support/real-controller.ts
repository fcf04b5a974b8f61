/**
 * A real API server and Job controller for tests of the controller: Nodes without kubelets, a namespace per test, and the
 * controller under its own ServiceAccount. The audit log has all requests by ServiceAccounts.
 */
import { join } from 'node:path'
import { type Daemon, startDaemon } from '../rigs/process.ts'
import { type ChangeRules, root, startAuditedCluster } from './audited-cluster.ts'
import { controllerHarness } from './controller-cluster.ts'
import type { WaitOptions } from './eventually.ts'

export type { AuditedRequest } from './audited-cluster.ts'

export type RealController = Awaited<ReturnType<typeof startRealController>>

/** The Job controller has no rate limit. */
const managerFlags = ['--kube-api-qps=1000', '--kube-api-burst=2000', '--concurrent-job-syncs=10']
/** Nodes without kubelets keep their status. All nodes keep the taint that they have until they are ready. */
const withoutNodeLifecycle = '--controllers=*,-node-lifecycle-controller'

export interface RealOptions {
  options?: string[]
  nodeLifecycle?: boolean
}

/**
 * `options` are files of config/rbac beside controller_role.yaml, for options such as NODE_CONDITION. `nodeLifecycle`: all
 * nodes have kubelets.
 */
export async function startRealController({ options = [], nodeLifecycle = false }: RealOptions = {}) {
  const files = ['controller_role.yaml', ...options]
  const controllerManagerFlags = [...managerFlags, ...(nodeLifecycle ? [] : [withoutNodeLifecycle])]
  const cluster = await startAuditedCluster({ account: 'multinic-agent', files }, { controllerManagerFlags })
  const { cp, kube } = cluster

  /** Creates a namespace with everything that the chart installs in it. */
  async function install(
    namespace: string,
    { enforce = 'privileged', change = rules => rules, waits = { within: 60_000 } }: InstallOptions = {},
  ) {
    const labels = { 'pod-security.kubernetes.io/enforce': enforce }
    const kubeconfig = await cluster.installRbac(namespace, { labels, change })
    return { ...controllerHarness(kube, kubeconfig, namespace, waits), kubeconfig }
  }

  /** Starts the controller as a separate process. `program` are the arguments of Node before the command. */
  function startProcess(
    name: string,
    env: Record<string, string>,
    program: readonly string[] = [join(root, 'src/main.ts')],
  ): Daemon {
    return startDaemon(process.execPath, [...program, 'controller'], {
      log: join(cp.dir, `${name}.log`),
      env: { HEALTH_ADDR: '127.0.0.1:0', AGENT_IMAGE: 'multinic-agent:test', ...env },
    })
  }

  return { ...cluster, install, startProcess }
}

export interface InstallOptions {
  /** Pod security level. */
  enforce?: string
  /** Changes the rules before they are installed. */
  change?: ChangeRules
  /** Timeouts of the harness. */
  waits?: WaitOptions
}
