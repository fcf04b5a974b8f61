/**
 * Writes the Secret `rabbitmq-<name>` next to each OpenstackConfig whose cloud has a message bus: its addresses and account,
 * for other consumers. It is deleted with the object. Whoever reads Secrets in that namespace can read the bus, so it can
 * be switched off. A Secret of that name that another owner created stays as it is: other programs may trust it.
 */
import { createHash } from 'node:crypto'
import { type OpenstackConfig, openstackConfigGroup } from '../contract/openstack-config.ts'
import type { Kube } from '../kube/api.ts'
import { keyOf } from '../kube/keys.ts'
import { secrets } from '../kube/resources.ts'
import type { Log } from '../telemetry/log.ts'
import type { MessageBus } from './cloud.ts'

export interface BusSecrets {
  /** Creates or updates the Secret. A failure is only logged. */
  update(config: OpenstackConfig, bus: MessageBus | undefined, log: Log): Promise<void>
}

/** An unchanged Secret is applied again after this time, in case somebody changed it. */
const reapplyAfterMs = 10 * 60_000

export function createBusSecrets(
  kube: Pick<Kube, 'apply' | 'list'> | undefined,
  now = () => performance.now(),
): BusSecrets {
  const applied = new Map<string, { digest: string; until: number }>()
  return {
    async update(config, bus, log) {
      if (!kube || !bus || bus.password === undefined) return
      const { name, namespace = '', uid = '' } = config.metadata
      const data = { RABBITMQ_URLS: bus.urls.join(','), RABBITMQ_USER: bus.user, RABBITMQ_PASSWORD: bus.password }
      const digest = createHash('sha256')
        .update(JSON.stringify([uid, data]))
        .digest('hex')
      const known = applied.get(keyOf(config))
      if (known?.digest === digest && known.until > now()) return
      const owner = { apiVersion: `${openstackConfigGroup}/v1alpha1`, kind: 'OpenstackConfig', name, uid }
      const secretName = `rabbitmq-${name}`
      try {
        const { items } = await kube.list(secrets, { namespace, fieldSelector: `metadata.name=${secretName}` })
        if (items.some(({ metadata }) => !metadata.ownerReferences?.some(({ kind }) => kind === 'OpenstackConfig'))) {
          log.warn('cannot write the Secret of the message bus: a Secret of this name exists', { secret: secretName })
          return
        }
        await kube.apply(
          secrets,
          {
            metadata: { name: secretName, namespace, ownerReferences: [owner] },
            type: 'Opaque',
            data: Object.fromEntries(
              Object.entries(data).map(([key, value]) => [key, Buffer.from(value).toString('base64')]),
            ),
          },
          { fieldManager: 'multinic-operator', force: true },
        )
        applied.set(keyOf(config), { digest, until: now() + reapplyAfterMs })
      } catch (error) {
        log.warn('cannot write the Secret of the message bus', { error })
      }
    },
  }
}
