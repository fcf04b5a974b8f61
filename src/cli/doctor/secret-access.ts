/**
 * Which Secrets the operators of a cluster may read and write (SubjectAccessReview). A Secret of another component makes the
 * token of the operator worth as much as that component.
 */
import type { KubeClient } from '../../kube/client.ts'
import { deployments } from '../../kube/resources.ts'
import type { KubeObject } from '../../kube/types.ts'
import type { SecretAccess } from './checks.ts'
import { policyStateOf } from './policies.ts'
import { isAllowed, userOf } from './rights.ts'

interface Source {
  secret?: { secretName?: string; name?: string }
  projected?: { sources?: Source[] }
}
interface Variable {
  valueFrom?: { secretKeyRef?: { name?: string } }
}
interface DeploymentObject extends KubeObject {
  spec?: {
    template?: {
      spec?: {
        serviceAccountName?: string
        volumes?: Source[]
        containers?: { env?: Variable[]; envFrom?: { secretRef?: { name?: string } }[] }[]
      }
    }
  }
}

/** `namespaces`: where OpenstackConfigs are. Nothing if Deployments or access reviews are not allowed: other checks report that. */
export async function secretAccessIn(kube: KubeClient, namespaces: readonly string[]): Promise<SecretAccess[]> {
  try {
    const { items } = await kube.list(deployments, { labelSelector: 'app.kubernetes.io/part-of=multinic' })
    const secretsOfOthers = items.filter(one => componentOf(one) !== 'operator').flatMap(secretsOf)
    const operators = items.filter(one => componentOf(one) === 'operator')
    return await Promise.all(operators.map(one => accessOf(kube, one, secretsOfOthers, namespaces)))
  } catch {
    return []
  }
}

async function accessOf(
  kube: KubeClient,
  operator: DeploymentObject,
  secretsOfOthers: SecretAccess['others'],
  namespaces: readonly string[],
): Promise<SecretAccess> {
  const account = operator.spec?.template?.spec?.serviceAccountName ?? 'default'
  const own = operator.metadata.namespace ?? ''
  const user = userOf(own, account)
  const may = (verb: string, where: { namespace?: string; name?: string }) =>
    isAllowed(kube, user, { group: '', resource: 'secrets', verb, ...where })
  const readable = await Promise.all(
    secretsOfOthers.map(
      async ({ namespace, name }) => (await may('get', { namespace, name })) || may('list', { namespace, name }),
    ),
  )
  const writable = await Promise.all(
    [...new Set([own, 'multinic-system', ...namespaces])].map(namespace => may('create', { namespace })),
  )
  return {
    account,
    all: await may('list', {}),
    others: secretsOfOthers.filter((_, at) => readable[at]),
    writes: writable.includes(true),
    policy: await policyStateOf(kube, user, 'secrets'),
  }
}

function componentOf({ metadata }: KubeObject): string {
  return metadata.labels?.['app.kubernetes.io/component'] ?? ''
}

function secretsOf(deployment: DeploymentObject): SecretAccess['others'] {
  const { volumes = [], containers = [] } = deployment.spec?.template?.spec ?? {}
  const mounted = volumes.flatMap(volume => [volume, ...(volume.projected?.sources ?? [])].map(one => one.secret))
  const names = [
    ...mounted.map(secret => secret?.secretName ?? secret?.name),
    ...containers.flatMap(({ env = [], envFrom = [] }) => [
      ...env.map(({ valueFrom }) => valueFrom?.secretKeyRef?.name),
      ...envFrom.map(({ secretRef }) => secretRef?.name),
    ]),
  ]
  const { namespace = '' } = deployment.metadata
  const component = componentOf(deployment)
  return [...new Set(names)].flatMap(name => (name ? { namespace, name, component } : []))
}
