/**
 * A real API server and Job controller for tests of the controller: Nodes without kubelets, a namespace a story, and the
 * controller under its own ServiceAccount. What ServiceAccounts ask for is in the server's audit log.
 */
import { join } from 'node:path'
import { type Daemon, startDaemon } from '../rigs/process.ts'
import { type Lessen, root, startAuditedCluster } from './audited-cluster.ts'
import { controllerStage } from './controller-cluster.ts'
import type { Waits } from './eventually.ts'

export type { Asked } from './audited-cluster.ts'

export type RealController = Awaited<ReturnType<typeof startRealController>>

const rights = { file: 'controller_role.yaml', namespace: 'multinic-system', account: 'multinic-agent' }

/** Nodes without kubelets stay as they are told, and Jobs are served as fast as the machine can. */
const managerFlags = [
  '--controllers=*,-node-lifecycle-controller',
  '--kube-api-qps=1000',
  '--kube-api-burst=2000',
  '--concurrent-job-syncs=10',
]

export async function startRealController() {
  const cluster = await startAuditedCluster(rights, { controllerManagerFlags: managerFlags })
  const { cp, kube } = cluster

  /** A namespace with what the chart installs in it; the rights may be less than they should be. */
  async function install(
    namespace: string,
    { enforce = 'privileged', change = rules => rules, waits = { within: 60_000 } }: InstallOptions = {},
  ) {
    const labels = { 'pod-security.kubernetes.io/enforce': enforce }
    const kubeconfig = await cluster.installRights(namespace, { labels, change })
    return { ...controllerStage(kube, kubeconfig, namespace, waits), kubeconfig }
  }

  /** The controller as a process of its own; `program` is what Node is given before the command. */
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
  /** Level of Pod security. */
  enforce?: string
  /** Makes the rights less than they should be. */
  change?: Lessen
  /** How the stage waits for anything. */
  waits?: Waits
}
