/**
 * Callers of our HTTP APIs for tests.
 */
import { randomBytes } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { stringify } from 'yaml'
import type { KubeClient } from '../../src/kube/client.ts'
import { type Access, openAccess } from '../../src/server/access.ts'
import { connectOwnCluster } from '../../src/server/reviews.ts'
import { silent } from '../../src/telemetry/log.ts'

/** For tests of what an API serves, not of who may call it. */
export function openToEveryone(
  prefix: 'OPERATOR' | 'INVENTORY' | 'VIOLA' = 'INVENTORY',
  tokensFile?: string,
): Promise<Access> {
  const connect = () => Promise.reject(new Error('this test has no cluster'))
  return openAccess({ prefix, tokensFile, audience: 'multinic', anonymous: true, connect, log: silent })
}

/** Callers of the file, with the rights of RBAC in the cluster of the kubeconfig. */
export function accessOf(
  kubeconfig: string,
  tokensFile?: string,
  prefix: 'OPERATOR' | 'INVENTORY' | 'VIOLA' = 'INVENTORY',
): Promise<Access> {
  const connect = () => connectOwnCluster({ KUBECONFIG: kubeconfig })
  return openAccess({ prefix, tokensFile, audience: 'multinic', anonymous: false, connect, log: silent })
}

export interface TestCaller {
  /** For the setting …_TOKENS_FILE. */
  tokensFile: string
  token: string
  /** Contains the token. */
  tokenFile: string
}

/** A static token of a cluster administrator. */
export async function adminCaller(dir: string, token = 'a-token-for-the-test'): Promise<TestCaller> {
  const [tokensFile, tokenFile] = [join(dir, 'admin-tokens.yaml'), join(dir, 'admin-token')]
  const tokens = [{ user: 'test', groups: ['system:masters'], token }]
  await writeFile(tokensFile, stringify({ tokens }), { mode: 0o600 })
  await writeFile(tokenFile, token, { mode: 0o600 })
  return { tokensFile, token, tokenFile }
}

const rbac = 'rbac.authorization.k8s.io'

export interface Rule {
  apiGroups: string[]
  resources: string[]
  verbs: string[]
  resourceNames?: string[]
}

/** Binds the rules to a user: in the namespace, or in the whole cluster. */
export async function grant(
  kube: KubeClient,
  user: string,
  rules: Rule[],
  namespace?: string,
  kind: 'User' | 'Group' = 'User',
): Promise<{ revoke(): Promise<void> }> {
  const role = namespace ? 'Role' : 'ClusterRole'
  const binding = `${role}Binding`
  const at = (kind: string) => `/apis/${rbac}/v1/${namespace ? `namespaces/${namespace}/` : ''}${kind.toLowerCase()}s`
  const name = `${user.replaceAll(/[^a-z0-9-]/g, '-')}-${randomBytes(4).toString('hex')}`
  const metadata = { name }
  const apiVersion = `${rbac}/v1`
  await kube.raw('POST', at(role), { apiVersion, kind: role, metadata, rules })
  const roleRef = { apiGroup: rbac, kind: role, name }
  const subjects = [{ kind, apiGroup: rbac, name: user }]
  await kube.raw('POST', at(binding), { apiVersion, kind: binding, metadata, roleRef, subjects })
  return { revoke: async () => void (await kube.raw('DELETE', `${at(binding)}/${name}`)) }
}

export const rules = {
  readInventory: { apiGroups: ['multinic.io'], resources: ['multinicnodeconfigs'], verbs: ['get', 'list'] } as Rule,
  readConfigs: { apiGroups: ['multinic.example.com'], resources: ['openstackconfigs'], verbs: ['get', 'list'] } as Rule,
  writeProvider: (...ids: string[]): Rule => ({
    apiGroups: ['multinic.io'],
    resources: ['providers'],
    verbs: ['get', 'update'],
    ...(ids.length > 0 && { resourceNames: ids }),
  }),
}
