/**
 * A real API server and Job controller for tests of the controller: Nodes without kubelets, a namespace a story, and the
 * controller under its own ServiceAccount. What ServiceAccounts ask for is in the server's audit log.
 */
import { mkdtemp, open, readFile, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseAllDocuments } from 'yaml'
import { connectKube } from '../src/kube/client.ts'
import { loadKubeconfig } from '../src/kube/config.ts'
import type { KubeObject } from '../src/kube/types.ts'
import { controllerStage } from './controller-cluster.ts'
import { type ControlPlane, kubeconfigText } from './rigs/kubernetes/control-plane.ts'
import { startControlPlane } from './rigs/kubernetes/rig.ts'
import { type Daemon, startDaemon } from './rigs/process.ts'

export const root = join(import.meta.dirname, '..')

export type RealController = Awaited<ReturnType<typeof startRealController>>

export interface Rule {
  apiGroups: string[]
  resources: string[]
  resourceNames?: string[]
  verbs: string[]
}

export interface Asked {
  user: string
  verb: string
  resource: string
  code: number
}

/** Nodes without kubelets stay as they are told, and Jobs are served as fast as the machine can. */
const managerFlags = [
  '--controllers=*,-node-lifecycle-controller',
  '--kube-api-qps=1000',
  '--kube-api-burst=2000',
  '--concurrent-job-syncs=10',
]

export async function startRealController() {
  const dir = await mkdtemp(join(tmpdir(), 'real-controller-'))
  const audit = join(dir, 'audit.log')
  await writeFile(join(dir, 'policy.json'), JSON.stringify(policy))
  const cp = await startControlPlane({
    apiserverFlags: [`--audit-policy-file=${join(dir, 'policy.json')}`, `--audit-log-path=${audit}`],
    controllerManagerFlags: managerFlags,
  })
  const kube = connectKube(await loadKubeconfig(cp.kubeconfig))
  await cp.exec('kubectl', ['apply', '-f', join(root, 'config/crd/bases')])
  await cp.exec('kubectl', ['wait', '--for=condition=Established', '--timeout=30s', 'crd', '--all'])
  const rights = await readFile(join(root, 'config/rbac/controller_role.yaml'), 'utf8')

  /** A namespace with what the chart installs in it; the rights may be less than they should be. */
  async function install(
    namespace: string,
    { enforce = 'privileged', change = rules => rules, within = 60_000 }: InstallOptions = {},
  ) {
    const labels = { 'pod-security.kubernetes.io/enforce': enforce }
    const documents = parseAllDocuments(rights.replaceAll('multinic-system', namespace)).map(
      document => document.toJS() as KubeObject & { rules?: Rule[]; roleRef?: { name: string } },
    )
    const items = documents.map(object => ({
      ...object,
      metadata: object.kind.startsWith('Cluster') ? { name: namespace } : object.metadata,
      ...(object.rules && { rules: change(object.rules) }),
      ...(object.kind === 'ClusterRoleBinding' && { roleRef: { ...object.roleRef, name: namespace } }),
    }))
    const home = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace, labels } }
    await applyAll(cp, [home, ...items])
    const { stdout } = await cp.exec('kubectl', ['-n', namespace, 'create', 'token', 'multinic-agent'])
    const kubeconfig = join(dir, `${namespace}.kubeconfig`)
    await writeFile(kubeconfig, kubeconfigText(cp.server, cp.authority.cert, { token: stdout.trim() }), { mode: 0o600 })
    return { ...controllerStage(kube, kubeconfig, namespace, within), kubeconfig }
  }

  /** The controller as a process of its own. */
  function startProcess(name: string, env: Record<string, string>, program = join(root, 'src/main.ts')): Daemon {
    return startDaemon(process.execPath, [program, 'controller'], {
      log: join(cp.dir, `${name}.log`),
      env: { HEALTH_ADDR: '127.0.0.1:0', AGENT_IMAGE: 'multinic-agent:test', ...env },
    })
  }

  const requests = new Map<string, Asked>()
  let read = 0

  /** What ServiceAccounts have asked for, each request once. */
  async function asked(): Promise<Asked[]> {
    const file = await open(audit)
    try {
      const { size } = await file.stat()
      const { buffer } = await file.read(Buffer.alloc(Math.max(0, size - read)), 0, Math.max(0, size - read), read)
      const whole = buffer.subarray(0, buffer.lastIndexOf(10) + 1)
      // Another caller may have read on meanwhile: a line that is read twice counts once.
      read = Math.max(read, size - buffer.length + whole.length)
      for (const line of whole.toString().split('\n').filter(Boolean)) note(JSON.parse(line) as AuditLine)
    } finally {
      await file.close()
    }
    return [...requests.values()]
  }

  function note({ auditID, user, verb, objectRef, responseStatus }: AuditLine): void {
    const resource = [objectRef?.resource, objectRef?.subresource].filter(Boolean).join('/')
    requests.set(auditID, { user: user.username, verb, resource, code: responseStatus?.code ?? 0 })
  }

  async function close(): Promise<void> {
    await kube.close()
    await cp.close()
  }
  return { cp, kube, rights, install, startProcess, asked, close }
}

export interface InstallOptions {
  /** Level of Pod security. */
  enforce?: string
  /** Makes the rights less than they should be. */
  change?: (rules: Rule[]) => Rule[]
  /** How long the stage waits for anything, in ms. */
  within?: number
}

interface AuditLine {
  auditID: string
  user: { username: string }
  verb: string
  objectRef?: { resource?: string; subresource?: string }
  responseStatus?: { code?: number }
}

const policy = {
  apiVersion: 'audit.k8s.io/v1',
  kind: 'Policy',
  omitStages: ['RequestReceived'],
  rules: [{ level: 'Metadata', userGroups: ['system:serviceaccounts'] }, { level: 'None' }],
}

async function applyAll(cp: ControlPlane, items: object[]): Promise<void> {
  const list = { apiVersion: 'v1', kind: 'List', items }
  await cp.exec('kubectl', ['apply', '-f', '-'], { input: JSON.stringify(list) })
}
