/** The calls of token-attacks.ts, and the objects in them. */
/** Namespaces of the test: of the chart's release, of `make deploy`, one with a rule, one without. */
export const namespaces = {
  release: 'multinic',
  deployed: 'multinic-operator-system',
  objects: 'multinic-system',
  ruled: 'team-a',
  foreign: 'team-b',
}
export const allNamespaces = ['kube-system', ...Object.values(namespaces)]

export interface Call {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  path: string
  body?: object
  /** Default: JSON merge patch. */
  contentType?: string
  headers?: Record<string, string>
}

export const core = (namespace: string, rest: string) => `/api/v1/namespaces/${namespace}/${rest}`
export const multinicIn = (namespace: string, rest: string) => `/apis/multinic.io/v1/namespaces/${namespace}/${rest}`
export const rbac = '/apis/rbac.authorization.k8s.io/v1'
export const admission = '/apis/admissionregistration.k8s.io/v1'
export const get = (path: string): Call => ({ method: 'GET', path })
export const create = (path: string, body: object): Call => ({ method: 'POST', path, body })
export const change = (path: string, body: object = {}): Call => ({ method: 'PATCH', path, body })
export const remove = (path: string): Call => ({ method: 'DELETE', path })
export const apply = (path: string, body: object): Call => ({
  ...{ method: 'PATCH', path: `${path}?fieldManager=attacker&force=true`, body },
  contentType: 'application/apply-patch+yaml',
})

export function secret(name: string, more: object = {}): object {
  return { apiVersion: 'v1', kind: 'Secret', metadata: { name }, ...more }
}

export const owner = { apiVersion: 'multinic.example.com/v1alpha1', kind: 'OpenstackConfig', name: 'main', uid: 'x' }
export const busSecret = (name = 'rabbitmq-main', more: object = {}) => ({
  ...secret(name, { type: 'Opaque', data: { RABBITMQ_USER: 'eA==' } }),
  metadata: { name, ownerReferences: [owner], ...more },
})
export const tokenSecret = (name: string) => ({
  ...secret(name, { type: 'kubernetes.io/service-account-token' }),
  metadata: { name, annotations: { 'kubernetes.io/service-account.name': 'powerful' }, ownerReferences: [owner] },
})

const container = { name: 'x', image: 'attacker', securityContext: { privileged: true } }
const podSpec = { containers: [container], hostPID: true, restartPolicy: 'Never' }
export const pod = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'attack' }, spec: podSpec }
export const job = {
  apiVersion: 'batch/v1',
  kind: 'Job',
  metadata: { name: 'attack' },
  spec: { template: { spec: podSpec } },
}
export const adminBinding = (kind: string) => ({
  apiVersion: 'rbac.authorization.k8s.io/v1',
  kind,
  metadata: { name: 'attack' },
  roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'cluster-admin' },
  subjects: [{ kind: 'Group', apiGroup: 'rbac.authorization.k8s.io', name: 'system:authenticated' }],
})
export const condition = (type: string) => ({ type, status: 'False', reason: 'Attack', message: 'x' })
export const strategic = 'application/strategic-merge-patch+json'

export const configMap = (name: string) => ({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name } })
