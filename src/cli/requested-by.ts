/**
 * Who a command acts for, as the API server knows the user: an annotation beside each request. It is a claim, because whoever may
 * write the annotation may write any name.
 */
import { auditName, requestedByAnnotation } from '../contract/audit.ts'
import type { KubeObject, Resource } from '../contract/object.ts'
import type { KubeClient } from '../kube/client.ts'

interface SelfSubjectReview extends KubeObject {
  status?: { userInfo?: { username?: string } }
}

const selfSubjectReviews: Resource<SelfSubjectReview> = {
  group: 'authentication.k8s.io',
  version: 'v1',
  kind: 'SelfSubjectReview',
  plural: 'selfsubjectreviews',
  namespaced: false,
}

/** Without the name if the API server does not tell it: it serves the review from 1.28 on. */
export async function withRequester(
  kube: Pick<KubeClient, 'create'>,
  annotations: Record<string, string | null>,
): Promise<Record<string, string | null>> {
  const review: SelfSubjectReview = {
    ...{ apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' },
    metadata: { name: '' },
  }
  const { status } = await kube.create(selfSubjectReviews, review).catch(() => review)
  const user = auditName(status?.userInfo?.username ?? '')
  return { ...annotations, [requestedByAnnotation]: user || null }
}
