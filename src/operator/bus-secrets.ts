/**
 * Secret `rabbitmq-<name>` beside each OpenstackConfig whose cloud has a message bus: its addresses and account, for those
 * who want to listen too. It goes with the object. Whoever reads Secrets in that namespace can read the bus, so it can be
 * switched off.
 */
import { createHash } from 'node:crypto'
import { type OpenstackConfig, openstackConfigGroup } from '../contract/openstack-config.ts'
import type { Kube } from '../kube/api.ts'
import { keyOf } from '../kube/keys.ts'
import { secrets } from '../kube/resources.ts'
import type { Bus } from '../openstack/cloud.ts'
import type { Log } from '../telemetry/log.ts'

export interface BusSecrets {
  /** Made and kept up to date; a failure never keeps ports from being delivered. */
  keep(config: OpenstackConfig, bus: Bus | undefined, log: Log): Promise<void>
}

/** Server-side apply writes nothing when nothing differs, but even that question is asked only so often. */
const askAgainMs = 10 * 60_000

export function createBusSecrets(kube: Pick<Kube, 'apply'> | undefined, now = () => performance.now()): BusSecrets {
  const kept = new Map<string, { mark: string; until: number }>()
  return {
    async keep(config, bus, log) {
      if (!kube || !bus || bus.password === undefined) return
      const { name, namespace = '', uid = '' } = config.metadata
      const data = { RABBITMQ_URLS: bus.urls.join(','), RABBITMQ_USER: bus.user, RABBITMQ_PASSWORD: bus.password }
      const mark = createHash('sha256')
        .update(JSON.stringify([uid, data]))
        .digest('hex')
      const known = kept.get(keyOf(config))
      if (known?.mark === mark && known.until > now()) return
      const owner = { apiVersion: `${openstackConfigGroup}/v1alpha1`, kind: 'OpenstackConfig', name, uid }
      try {
        await kube.apply(
          secrets,
          {
            metadata: { name: `rabbitmq-${name}`, namespace, ownerReferences: [owner] },
            type: 'Opaque',
            data: Object.fromEntries(
              Object.entries(data).map(([key, value]) => [key, Buffer.from(value).toString('base64')]),
            ),
          },
          { fieldManager: 'multinic-operator', force: true },
        )
        kept.set(keyOf(config), { mark, until: now() + askAgainMs })
      } catch (error) {
        log.warn('the Secret of the message bus was not written', { error })
      }
    },
  }
}
