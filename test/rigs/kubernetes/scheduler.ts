/**
 * The real kube-scheduler, for tests in which Kubernetes chooses the node of a Pod.
 */
import { join } from 'node:path'
import { type Daemon, startDaemon } from '../process.ts'
import { binary } from './binaries.ts'
import type { ControlPlane } from './control-plane.ts'

export function startScheduler({ kubeconfig, dir }: ControlPlane): Daemon {
  const flags = [
    `--kubeconfig=${kubeconfig}`,
    `--authentication-kubeconfig=${kubeconfig}`,
    `--authorization-kubeconfig=${kubeconfig}`,
    '--bind-address=127.0.0.1',
    '--cert-dir=scheduler-certs',
    '--leader-elect=false',
  ]
  return startDaemon(binary('kube-scheduler'), flags, { log: join(dir, 'kube-scheduler.log'), cwd: dir })
}
