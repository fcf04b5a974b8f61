/** Who may do what, asked for oneself and for others; and whose a token is. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { connectKube } from '../../../src/kube/client.ts'
import { openTokenReviews } from '../../../src/server/token-review.ts'
import { eventually } from '../../support/eventually.ts'
import { type Place, refusal } from './place.ts'

const rbac = 'rbac.authorization.k8s.io'

export function rightCases(place: () => Place): void {
  async function review(kind: string, spec: object): Promise<Record<string, unknown>> {
    const path = `/apis/authorization.k8s.io/v1/${kind.toLowerCase()}s`
    const { body } = await place().kube.raw('POST', path, { apiVersion: 'authorization.k8s.io/v1', kind, spec })
    return (body as { status: Record<string, unknown> }).status
  }

  test('an administrator may do everything', async () => {
    const resourceAttributes = { verb: 'delete', resource: 'nodes' }
    assert.equal((await review('SelfSubjectAccessReview', { resourceAttributes }))['allowed'], true)
    const empty = await refusal(review('SelfSubjectAccessReview', {}))
    assert.equal(empty.status, 422)
  })

  test('a service account may do what its Role gives, in its namespace', async () => {
    const { kube, namespace, name } = place()
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

  test('a token is reviewed', async () => {
    const { kube } = place()
    const reviews = openTokenReviews(async () => connectKube(kube.access), undefined)
    try {
      assert.match((await reviews.userOf((await kube.access.token?.()) ?? '')) ?? '', /admin/)
      assert.equal(await reviews.userOf('nobody'), undefined)
    } finally {
      await reviews.close()
    }
  })
}
