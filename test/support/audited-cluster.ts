/**
 * A real API server with RBAC and an audit log of all requests by ServiceAccounts. Tests install config/rbac with one
 * permission less, to show that a component needs all of its permissions and no others.
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

export interface AuditedRequest {
  user: string
  verb: string
  resource: string
  /** Of the object. */
  name: string
  code: number
}

export type AuditedCluster = Awaited<ReturnType<typeof startAuditedCluster>>

export interface RbacFile {
  /** Under config/rbac. */
  files: string[]
  account: string
}

export async function startAuditedCluster(rbac: RbacFile, flags: { controllerManagerFlags?: string[] } = {}) {
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
  const texts = await Promise.all(rbac.files.map(file => readFile(join(root, 'config/rbac', file), 'utf8')))
  const text = texts.join('---\n')

  /** Creates a namespace with the ServiceAccount and its permissions. Returns a kubeconfig of that account. */
  async function installRbac(
    namespace: string,
    { labels = {}, change = rules => rules }: { labels?: Record<string, string>; change?: ChangeRules } = {},
  ): Promise<string> {
    const documents = parseAllDocuments(text.replaceAll(/multinic(-operator)?-system/g, namespace)).map(
      document => document.toJS() as KubeObject & { rules?: Rule[]; roleRef?: { kind: string; name: string } },
    )
    const ofCluster = (name?: string) => `${namespace}-${name}`
    const items = documents.map(object => ({
      ...object,
      metadata: object.kind.startsWith('Cluster') ? { name: ofCluster(object.metadata.name) } : object.metadata,
      ...(object.rules && { rules: change(object.rules) }),
      ...(object.roleRef?.kind === 'ClusterRole' && {
        roleRef: { ...object.roleRef, name: ofCluster(object.roleRef.name) },
      }),
    }))
    const namespaceObject = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace, labels } }
    const list = { apiVersion: 'v1', kind: 'List', items: [namespaceObject, ...items] }
    await cp.exec('kubectl', ['apply', '-f', '-'], { input: JSON.stringify(list) })
    const { stdout } = await cp.exec('kubectl', ['-n', namespace, 'create', 'token', rbac.account])
    const kubeconfig = join(dir, `${namespace}.kubeconfig`)
    await writeFile(kubeconfig, kubeconfigText(cp.server, cp.authority.cert, { token: stdout.trim() }), { mode: 0o600 })
    return kubeconfig
  }

  const found = new Map<string, AuditedRequest>()
  let read = 0

  /** All requests by ServiceAccounts so far. */
  async function requests(): Promise<AuditedRequest[]> {
    const file = await open(audit)
    try {
      const { size } = await file.stat()
      const { buffer } = await file.read(Buffer.alloc(Math.max(0, size - read)), 0, Math.max(0, size - read), read)
      const whole = buffer.subarray(0, buffer.lastIndexOf(10) + 1)
      // Another caller may have read further meanwhile: a line that is read twice counts once.
      read = Math.max(read, size - buffer.length + whole.length)
      for (const line of whole.toString().split('\n').filter(Boolean)) record(JSON.parse(line) as AuditLine)
    } finally {
      await file.close()
    }
    return [...found.values()]
  }

  function record({ auditID, user, verb, objectRef, responseStatus }: AuditLine): void {
    const resource = [objectRef?.resource, objectRef?.subresource].filter(Boolean).join('/')
    const name = objectRef?.name ?? ''
    found.set(auditID, { user: user.username, verb, resource, name, code: responseStatus?.code ?? 0 })
  }

  /** Requests by the ServiceAccount of this namespace. */
  async function requestsOf(namespace: string): Promise<AuditedRequest[]> {
    const own = `system:serviceaccount:${namespace}:${rbac.account}`
    return (await requests()).filter(({ user }) => user === own)
  }

  async function close(): Promise<void> {
    await kube.close()
    await cp.close()
  }
  return { cp, kube, permissions: permissionsIn(text), installRbac, requests, requestsOf, close }
}

export type ChangeRules = (rules: Rule[]) => Rule[]

/** `list nodes` */
export function permissionOf({ verb, resource }: Pick<AuditedRequest, 'verb' | 'resource'>): string {
  return `${verb} ${resource}`
}

function permissionsIn(text: string): string[] {
  const rules = parseAllDocuments(text).flatMap(document => (document.toJS() as { rules?: Rule[] }).rules ?? [])
  return rules.flatMap(({ resources, verbs }) =>
    resources.flatMap(resource => verbs.map(verb => permissionOf({ verb, resource }))),
  )
}

/** The same rules without one permission. */
export function without(permission: string): ChangeRules {
  return rules =>
    rules
      .map(rule => ({
        ...rule,
        verbs: rule.verbs.filter(
          verb => !rule.resources.some(resource => permissionOf({ verb, resource }) === permission),
        ),
      }))
      .filter(({ verbs }) => verbs.length > 0)
}

/** The permissions for which `isNeeded` resolves to true, several at a time. */
export async function neededPermissions(
  permissions: readonly string[],
  isNeeded: (permission: string, namespace: string) => Promise<boolean>,
): Promise<string[]> {
  const waiting = permissions.map((permission, index) => ({ permission, namespace: `less-${index}` }))
  const needed: string[] = []
  const worker = async () => {
    for (let next = waiting.shift(); next; next = waiting.shift())
      if (await isNeeded(next.permission, next.namespace)) needed.push(next.permission)
  }
  await Promise.all(Array.from({ length: 6 }, worker))
  return needed
}

interface AuditLine {
  auditID: string
  user: { username: string }
  verb: string
  objectRef?: { resource?: string; subresource?: string; name?: string }
  responseStatus?: { code?: number }
}

const policy = {
  apiVersion: 'audit.k8s.io/v1',
  kind: 'Policy',
  omitStages: ['RequestReceived'],
  rules: [{ level: 'Metadata', userGroups: ['system:serviceaccounts'] }, { level: 'None' }],
}
