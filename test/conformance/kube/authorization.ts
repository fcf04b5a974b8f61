/** Access reviews and token reviews. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { connectKube } from '../../../src/kube/client.ts'
import { openReviews } from '../../../src/server/reviews.ts'
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

  test('a token of a ServiceAccount is valid for its audience only', async () => {
    const { kube, namespace, name } = context()
    const own = name()
    const accounts = `/api/v1/namespaces/${namespace}/serviceaccounts`
    await kube.raw('POST', accounts, { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: own } })
    const request = async (spec: object) => {
      const body = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec }
      const answer = await kube.raw('POST', `${accounts}/${own}/token`, body)
      return (answer.body as { status: { token: string; expirationTimestamp: string } }).status
    }
    const { token, expirationTimestamp } = await request({ audiences: ['multinic'], expirationSeconds: 600 })
    assert.ok(Date.parse(expirationTimestamp) > Date.now())
    const short = await rejection(request({ audiences: ['multinic'], expirationSeconds: 60 }))
    assert.equal(short.status, 422)
    const reviews = (audience: string) => openReviews(connectKube(kube.access), audience)
    const [ours, others] = [reviews('multinic'), reviews('another-service')]
    try {
      const user = await ours.userOf(token)
      assert.equal(user?.user, `system:serviceaccount:${namespace}:${own}`)
      assert.ok(user?.groups.includes(`system:serviceaccounts:${namespace}`))
      assert.equal(await others.userOf(token), undefined)
      assert.equal(await ours.userOf((await kube.access.token?.()) ?? 'nobody'), undefined)
      assert.equal(await ours.userOf('nobody'), undefined)
      assert.equal(await ours.isAllowed(user, { verb: 'list', group: '', resource: 'secrets', namespace }), false)
      const outside = connectKube({ ...kube.access, token: () => token })
      const refused = await rejection(outside.raw('GET', '/api/v1/namespaces'))
      assert.equal(refused.status, 401, 'such a token is none for the API server')
      await outside.close()
    } finally {
      await Promise.all([ours.close(), others.close()])
    }
  })
}
