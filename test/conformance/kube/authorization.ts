/** Access reviews and token reviews. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { connectKube } from '../../../src/kube/client.ts'
import { openTokenReviews } from '../../../src/server/token-review.ts'
import { eventually } from '../../support/eventually.ts'
import { type KubeContext, rejection } from './context.ts'

const rbac = 'rbac.authorization.k8s.io'

export function authorizationCases(context: () => KubeContext): void {
  async function review(kind: string, spec: object): Promise<Record<string, unknown>> {
    const path = `/apis/authorization.k8s.io/v1/${kind.toLowerCase()}s`
    const { body } = await context().kube.raw('POST', path, { apiVersion: 'authorization.k8s.io/v1', kind, spec })
    return (body as { status: Record<string, unknown> }).status
  }

  test('an administrator has all rights', async () => {
    const resourceAttributes = { verb: 'delete', resource: 'nodes' }
    assert.equal((await review('SelfSubjectAccessReview', { resourceAttributes }))['allowed'], true)
    const empty = await rejection(review('SelfSubjectAccessReview', {}))
    assert.equal(empty.status, 422)
  })

  test('a service account has the rights of its Role, in its namespace', async () => {
    const { kube, namespace, name } = context()
    const own = name()
    const at = (plural: string) => `/apis/${rbac}/v1/namespaces/${namespace}/${plural}`
    const rules = [{ apiGroups: ['multinic.io'], resources: ['multinicnodeconfigs'], verbs: ['get', 'list'] }]
    await kube.raw('POST', at('roles'), { apiVersion: `${rbac}/v1`, kind: 'Role', metadata: { name: own }, rules })
    await kube.raw('POST', at('rolebindings'), {
      apiVersion: `${rbac}/v1`,
      kind: 'RoleBinding',
      metadata: { name: own },
      roleRef: { apiGroup: rbac, kind: 'Role', name: own },
      subjects: [{ kind: 'ServiceAccount', name: own, namespace }],
    })
    const user = `system:serviceaccount:${namespace}:${own}`
    const may = async (verb: string, where = namespace) => {
      const resourceAttributes = { verb, group: 'multinic.io', resource: 'multinicnodeconfigs', namespace: where }
      return (await review('SubjectAccessReview', { user, resourceAttributes }))['allowed']
    }
    await eventually(async () => assert.equal(await may('list'), true))
    assert.equal(await may('delete'), false)
    assert.equal(await may('list', 'default'), false)
  })

  test('rules with subresources, resource names, wildcards, groups and paths are evaluated', async () => {
    const { kube, namespace, name } = context()
    const own = `conformance-${namespace}-${name()}`
    const group = `${own}-group`
    const rules = [
      { apiGroups: [''], resources: ['pods/log'], verbs: ['get'] },
      { apiGroups: [''], resources: ['nodes'], resourceNames: ['worker-1'], verbs: ['get'] },
      { apiGroups: ['*'], resources: ['*/status'], verbs: ['patch'] },
      { nonResourceURLs: ['/metrics/*'], verbs: ['get'] },
    ]
    const path = (plural: string) => `/apis/${rbac}/v1/${plural}`
    const metadata = { name: own }
    await kube.raw('POST', path('clusterroles'), { apiVersion: `${rbac}/v1`, kind: 'ClusterRole', metadata, rules })
    await kube.raw('POST', path('clusterrolebindings'), {
      apiVersion: `${rbac}/v1`,
      kind: 'ClusterRoleBinding',
      metadata,
      roleRef: { apiGroup: rbac, kind: 'ClusterRole', name: own },
      subjects: [{ kind: 'Group', apiGroup: rbac, name: group }],
    })
    const isAllowed = async (attributes: object) =>
      (await review('SubjectAccessReview', { user: own, groups: [group], ...attributes }))['allowed']
    const resource = (resourceAttributes: object) => ({ resourceAttributes })
    const status = { verb: 'patch', group: 'x', resource: 'y', subresource: 'status' }
    await eventually(async () => assert.equal(await isAllowed(resource(status)), true))
    const log = { verb: 'get', resource: 'pods', subresource: 'log', namespace }
    const cases: [attributes: object, allowed: boolean][] = [
      [resource(log), true],
      [resource({ ...log, subresource: 'exec' }), false],
      [resource({ ...log, group: 'batch' }), false],
      [resource({ verb: 'get', resource: 'nodes', name: 'worker-1' }), true],
      [resource({ verb: 'get', resource: 'nodes', name: 'worker-2' }), false],
      [resource({ verb: 'list', resource: 'pods' }), false],
      [{ nonResourceAttributes: { verb: 'get', path: '/metrics/slis' } }, true],
      [{ nonResourceAttributes: { verb: 'get', path: '/logs' } }, false],
    ]
    for (const [attributes, allowed] of cases)
      assert.equal(await isAllowed(attributes), allowed, JSON.stringify(attributes))
    for (const plural of ['clusterrolebindings', 'clusterroles']) await kube.raw('DELETE', `${path(plural)}/${own}`)
  })

  test('a token review returns the user of a valid token', async () => {
    const { kube } = context()
    const reviews = openTokenReviews(async () => connectKube(kube.access), undefined)
    try {
      assert.match((await reviews.userOf((await kube.access.token?.()) ?? '')) ?? '', /admin/)
      assert.equal(await reviews.userOf('nobody'), undefined)
    } finally {
      await reviews.close()
    }
  })
}
