import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { aCluster } from '../cluster.fixture.ts'
import { type AccessAttributes, admin, isAllowed, userOf } from './rbac.ts'

const rbac = 'rbac.authorization.k8s.io'
const cluster = aCluster()
after(() => cluster.close())

const role = (rules: object[]) => ({ metadata: { name: 'r' }, rules })
const binding = (kind: string, subjects: object[]) => ({
  metadata: { name: 'b' },
  roleRef: { apiGroup: rbac, kind, name: 'r' },
  subjects,
})
cluster.create(`${rbac}/roles`, role([{ apiGroups: [''], resources: ['pods', 'pods/log'], verbs: ['get', 'list'] }]))
cluster.create(`${rbac}/rolebindings`, binding('Role', [{ kind: 'ServiceAccount', namespace: 'default', name: 'sa' }]))
cluster.create(
  `${rbac}/clusterroles`,
  role([
    { apiGroups: [''], resources: ['nodes'], resourceNames: ['worker-1'], verbs: ['get'] },
    { nonResourceURLs: ['/metrics/*'], verbs: ['get'] },
    { apiGroups: ['*'], resources: ['*/status'], verbs: ['patch'] },
  ]),
)
cluster.create(
  `${rbac}/clusterrolebindings`,
  binding('ClusterRole', [{ kind: 'Group', name: 'system:serviceaccounts' }]),
)

const sa = userOf({ 'impersonate-user': 'system:serviceaccount:default:sa' })
const core = { group: '', namespace: 'default' }

const cases: Record<string, [wish: AccessAttributes, allowed: boolean]> = {
  'a verb of its Role': [{ ...core, verb: 'list', resource: 'pods' }, true],
  'another verb': [{ ...core, verb: 'delete', resource: 'pods' }, false],
  'a subresource that is named': [{ ...core, verb: 'get', resource: 'pods', subresource: 'log', name: 'p' }, true],
  'one that is not': [{ ...core, verb: 'get', resource: 'pods', subresource: 'exec', name: 'p' }, false],
  'another namespace': [{ ...core, namespace: 'kube-system', verb: 'list', resource: 'pods' }, false],
  'all namespaces': [{ group: '', verb: 'list', resource: 'pods' }, false],
  'another group': [{ ...core, group: 'batch', verb: 'list', resource: 'pods' }, false],
  'what a ClusterRole names': [{ group: '', verb: 'get', resource: 'nodes', name: 'worker-1' }, true],
  'what it does not name': [{ group: '', verb: 'get', resource: 'nodes', name: 'worker-2' }, false],
  'the status of anything': [{ ...core, group: 'x', verb: 'patch', resource: 'y', subresource: 'status' }, true],
  'a path below one': [{ verb: 'get', path: '/metrics/slis' }, true],
  'a path that everybody may read': [{ verb: 'get', path: '/version' }, true],
  'another path': [{ verb: 'get', path: '/logs' }, false],
}

for (const [name, [wish, allowed]] of Object.entries(cases)) {
  test(`a service account and ${name}: ${allowed ? 'yes' : 'no'}`, () => {
    assert.equal(isAllowed(cluster.store, sa, wish), allowed)
    assert.equal(isAllowed(cluster.store, admin, wish), true)
  })
}

test('whom somebody speaks for has the groups that were said, or those of a service account', () => {
  assert.deepEqual(userOf({}), admin)
  assert.deepEqual(sa.groups, ['system:serviceaccounts', 'system:serviceaccounts:default', 'system:authenticated'])
  const joe = userOf({ 'impersonate-user': 'joe', 'impersonate-group': 'a, b' })
  assert.deepEqual(joe, { username: 'joe', groups: ['a', 'b', 'system:authenticated'] })
})
