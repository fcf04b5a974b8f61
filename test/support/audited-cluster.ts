/**
 * A real API server with RBAC whose audit log tells what ServiceAccounts asked for, and rights of config/rbac that may be
 * less than they should be: for tests that a part needs all of its rights and no others.
 */
import { mkdtemp, open, readFile, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseAllDocuments } from 'yaml'
import { connectKube } from '../../src/kube/client.ts'
import { loadKubeconfig } from '../../src/kube/config.ts'
import type { KubeObject } from '../../src/kube/types.ts'
import { kubeconfigText } from '../rigs/kubernetes/control-plane.ts'
import { startControlPlane } from '../rigs/kubernetes/rig.ts'

export const root = join(import.meta.dirname, '../..')

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

export type AuditedCluster = Awaited<ReturnType<typeof startAuditedCluster>>

export interface Rights {
  /** Under config/rbac. */
  file: string
  /** The namespace in the file; another one takes its place. */
  namespace: string
  account: string
}

export async function startAuditedCluster(rights: Rights, flags: { controllerManagerFlags?: string[] } = {}) {
  const dir = await mkdtemp(join(tmpdir(), 'audited-'))
  const audit = join(dir, 'audit.log')
  await writeFile(join(dir, 'policy.json'), JSON.stringify(policy))
  const cp = await startControlPlane({
    ...flags,
    apiserverFlags: [`--audit-policy-file=${join(dir, 'policy.json')}`, `--audit-log-path=${audit}`],
    async beforeManager(exec) {
      await exec('kubectl', ['apply', '-f', join(root, 'config/crd/bases')])
      await exec('kubectl', ['wait', '--for=condition=Established', '--timeout=60s', 'crd', '--all'])
    },
  })
  const kube = connectKube(await loadKubeconfig(cp.kubeconfig))
  const text = await readFile(join(root, 'config/rbac', rights.file), 'utf8')

  /** A namespace with the part's account and rights. Returns a kubeconfig of that account. */
  async function installRights(
    namespace: string,
    { labels = {}, change = rules => rules }: { labels?: Record<string, string>; change?: Lessen } = {},
  ): Promise<string> {
    const documents = parseAllDocuments(text.replaceAll(rights.namespace, namespace)).map(
      document => document.toJS() as KubeObject & { rules?: Rule[]; roleRef?: { name: string } },
    )
    const items = documents.map(object => ({
      ...object,
      metadata: object.kind.startsWith('Cluster') ? { name: namespace } : object.metadata,
      ...(object.rules && { rules: change(object.rules) }),
      ...(object.kind === 'ClusterRoleBinding' && { roleRef: { ...object.roleRef, name: namespace } }),
    }))
    const home = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace, labels } }
    const list = { apiVersion: 'v1', kind: 'List', items: [home, ...items] }
    await cp.exec('kubectl', ['apply', '-f', '-'], { input: JSON.stringify(list) })
    const { stdout } = await cp.exec('kubectl', ['-n', namespace, 'create', 'token', rights.account])
    const kubeconfig = join(dir, `${namespace}.kubeconfig`)
    await writeFile(kubeconfig, kubeconfigText(cp.server, cp.authority.cert, { token: stdout.trim() }), { mode: 0o600 })
    return kubeconfig
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

  /** What the account of this namespace has asked for. */
  async function askedIn(namespace: string): Promise<Asked[]> {
    const own = `system:serviceaccount:${namespace}:${rights.account}`
    return (await asked()).filter(({ user }) => user === own)
  }

  async function close(): Promise<void> {
    await kube.close()
    await cp.close()
  }
  return { cp, kube, rights: rightsIn(text), installRights, asked, askedIn, close }
}

export type Lessen = (rules: Rule[]) => Rule[]

/** `list nodes` */
export function rightOf({ verb, resource }: Pick<Asked, 'verb' | 'resource'>): string {
  return `${verb} ${resource}`
}

function rightsIn(text: string): string[] {
  const rules = parseAllDocuments(text).flatMap(document => (document.toJS() as { rules?: Rule[] }).rules ?? [])
  return rules.flatMap(({ resources, verbs }) =>
    resources.flatMap(resource => verbs.map(verb => rightOf({ verb, resource }))),
  )
}

/** The same rules without one right. */
export function without(right: string): Lessen {
  return rules =>
    rules
      .map(rule => ({
        ...rule,
        verbs: rule.verbs.filter(verb => !rule.resources.some(resource => rightOf({ verb, resource }) === right)),
      }))
      .filter(({ verbs }) => verbs.length > 0)
}

/** Those of the rights for which `isMissed` says so, some at a time. */
export async function missedOf(
  rights: readonly string[],
  isMissed: (right: string, namespace: string) => Promise<boolean>,
): Promise<string[]> {
  const waiting = rights.map((right, index) => ({ right, namespace: `less-${index}` }))
  const missed: string[] = []
  const worker = async () => {
    for (let next = waiting.shift(); next; next = waiting.shift())
      if (await isMissed(next.right, next.namespace)) missed.push(next.right)
  }
  await Promise.all(Array.from({ length: 6 }, worker))
  return missed
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
