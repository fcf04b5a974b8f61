/**
 * Writes the Secret `rabbitmq-<name>` next to each OpenstackConfig whose cloud has a message bus: its addresses and account,
 * for other consumers. It is deleted with the object. Whoever reads Secrets in that namespace can read the bus, so it can
 * be switched off. A Secret of that name that another owner created stays as it is: other programs may trust it.
 */
import { createHash } from 'node:crypto'
import { type OpenstackConfig, openstackConfigGroup } from '../../contract/openstack-config.ts'
import type { Kube } from '../../kube/api.ts'
import { isInvalid, isNotFound } from '../../kube/errors.ts'
import { keyOf } from '../../kube/keys.ts'
import { secrets } from '../../kube/resources.ts'
import type { OwnerReference } from '../../kube/types.ts'
import type { Log } from '../../telemetry/log.ts'
import type { MessageBus } from '../cloud.ts'

export const busSecretPrefix = 'rabbitmq-'
export const busSecretKeys = ['RABBITMQ_URLS', 'RABBITMQ_USER', 'RABBITMQ_PASSWORD'] as const

export interface BusSecrets {
  /** Creates or updates the Secret. A failure is only logged. */
  update(config: OpenstackConfig, bus: MessageBus | undefined, log: Log): Promise<void>
}

/** An unchanged Secret is applied again after this time, in case somebody changed it. */
const reapplyAfterMs = 10 * 60_000

export function createBusSecrets(
  kube: Pick<Kube, 'create' | 'patch'> | undefined,
  now = () => performance.now(),
): BusSecrets {
  const applied = new Map<string, { digest: string; until: number }>()
  return {
    async update(config, bus, log) {
      if (!kube || !bus || bus.password === undefined) return
      const { name, namespace = '', uid = '' } = config.metadata
      const values: Record<(typeof busSecretKeys)[number], string> = {
        RABBITMQ_URLS: bus.urls.join(','),
        RABBITMQ_USER: bus.user,
        RABBITMQ_PASSWORD: bus.password,
      }
      const data = Object.fromEntries(
        Object.entries(values).map(([key, value]) => [key, Buffer.from(value).toString('base64')]),
      )
      const digest = createHash('sha256')
        .update(JSON.stringify([uid, data]))
        .digest('hex')
      const known = applied.get(keyOf(config))
      if (known?.digest === digest && known.until > now()) return
      const owner = { apiVersion: `${openstackConfigGroup}/v1alpha1`, kind: 'OpenstackConfig', name, uid }
      const key = { namespace, name: `${busSecretPrefix}${name}` }
      try {
        await write(kube, key, owner, data)
        applied.set(keyOf(config), { digest, until: now() + reapplyAfterMs })
      } catch (error) {
        const why = isInvalid(error) ? ': a Secret of this name exists' : ''
        log.warn(`cannot write the Secret of the message bus${why}`, { secret: key.name, error })
      }
    },
  }
}

/** The operator may not read every Secret of the namespace, so the API server compares the owner: 422 if it is another one. */
async function write(
  kube: Pick<Kube, 'create' | 'patch'>,
  key: { namespace: string; name: string },
  owner: OwnerReference,
  data: Record<string, string>,
): Promise<void> {
  const [at, kind] = ['/metadata/ownerReferences/0', owner.kind]
  const change = [
    { op: 'test', path: `${at}/kind`, value: kind },
    { op: 'replace', path: at, value: owner },
    ...Object.entries(data).map(([name, value]) => ({ op: 'add', path: `/data/${name}`, value })),
  ]
  try {
    await kube.patch(secrets, key, change)
  } catch (error) {
    if (!isNotFound(error)) throw error
    const metadata = { ...key, ownerReferences: [owner] }
    await kube.create(secrets, { apiVersion: 'v1', kind: 'Secret', metadata, type: 'Opaque', data })
  }
}
