/**
 * The settings of a sync: in an OpenstackConfig (`spec.settings`), in the operator's environment, or the default.
 *
 * The CR wins over the environment. Credentials follow endpoints (design G9): that is decided in the operator.
 */
import { z } from 'zod'
import { duration } from './text.ts'

const endpoint = z
  .string()
  .max(2048)
  .regex(/^https?:\/\/[^\s]+$/)
const positiveDuration = (description: string) =>
  duration.optional().meta({
    description,
    'x-kubernetes-validations': [{ rule: "duration(self) > duration('0s')", message: 'must be above zero' }],
  })
const flag = (description: string) => z.boolean().optional().meta({ description })
const words = (description: string) =>
  z.array(z.string().min(1).max(64)).max(32).optional().meta({ description, 'x-kubernetes-list-type': 'atomic' })

export const settings = z
  .object({
    contrabassEndpoint: endpoint
      .optional()
      .meta({ description: 'Base address of Contrabass; may carry a path template with {id}.' }),
    contrabassEncryptKey: z
      .string()
      .max(64)
      .optional()
      .meta({ description: 'Deprecated: name a Secret in spec.secrets instead.' }),
    contrabassTimeout: positiveDuration('Time limit of a call to Contrabass.'),
    contrabassInsecureTLS: flag('Do not verify the certificate of Contrabass.'),
    openstackTimeout: positiveDuration('Time limit of a call to Keystone, Neutron or Nova.'),
    openstackInsecureTLS: flag('Do not verify the certificates of OpenStack.'),
    openstackNeutronEndpoint: endpoint.optional().meta({ description: 'Neutron, instead of the catalog entry.' }),
    openstackNovaEndpoint: endpoint.optional().meta({ description: 'Nova, instead of the catalog entry.' }),
    openstackEndpointInterface: z
      .enum(['public', 'internal', 'admin'])
      .optional()
      .meta({ description: 'Which interface of the catalog is used.' }),
    openstackEndpointRegion: z
      .string()
      .max(253)
      .optional()
      .meta({ description: 'Region of the catalog; any when empty.' }),
    openstackNodeNameMetadataKey: z
      .string()
      .max(255)
      .optional()
      .meta({ description: 'Server metadata key that holds the node name.' }),
    openstackPortAllowedStatuses: words('Port statuses that are taken; * takes all.'),
    openstackPortBaseline: z
      .string()
      .max(64)
      .regex(/^(creationTime|none|\d{4}-\d{2}-\d{2}T.+)$/)
      .optional()
      .meta({
        description:
          'Ports created before this are left alone: creationTime of this object, none, or an RFC 3339 time.',
      }),
    openstackPortOwners: words('device_owner values of ports that are taken; a * at the end matches any rest.'),
    downPortFastRetryMax: z
      .int()
      .min(1)
      .max(100)
      .optional()
      .meta({ description: 'How often a node with a DOWN port is sent again on the fast interval.' }),
    pollFastInterval: positiveDuration('Interval after a change.'),
    pollSlowInterval: positiveDuration('Interval while nothing changes.'),
    pollErrorInterval: positiveDuration('Interval after an error.'),
    pollFastWindow: positiveDuration('How long after a change the fast interval is used.'),
    rabbitmqUrls: z
      .array(
        z
          .string()
          .max(2048)
          .regex(/^((amqps?|rabbit):\/\/)?[^\s@,]+$/),
      )
      .max(16)
      .optional()
      .meta({
        description:
          'Addresses of the cloud’s message bus (amqp://host:port/vhost or amqps://…), without an account; the account is in the Secret of spec.secrets.rabbitmqSecretRef.',
        'x-kubernetes-list-type': 'atomic',
      }),
    rabbitmqExchanges: words('Exchanges that Neutron and Nova send their notifications to.'),
    rabbitmqTopics: words('Topics of the notifications, without the priority.'),
    rabbitmqInsecureTLS: flag('Do not verify the certificate of the message bus.'),
    violaEndpoint: endpoint.optional().meta({ description: 'Base address of the Viola API.' }),
    violaTimeout: positiveDuration('Time limit of a call to Viola.'),
    violaInsecureTLS: flag('Do not verify the certificate of Viola.'),
  })
  .meta({ description: "Settings of this object's syncs; they override the operator's environment." })

export type Settings = z.infer<typeof settings>
export type SettingName = keyof Settings

/** How a setting is spelled in the environment. Lists are separated by commas there. */
export const settingEnvironment: Record<SettingName, string> = {
  contrabassEndpoint: 'CONTRABASS_ENDPOINT',
  contrabassEncryptKey: 'CONTRABASS_ENCRYPT_KEY',
  contrabassTimeout: 'CONTRABASS_TIMEOUT',
  contrabassInsecureTLS: 'CONTRABASS_INSECURE_TLS',
  openstackTimeout: 'OPENSTACK_TIMEOUT',
  openstackInsecureTLS: 'OPENSTACK_INSECURE_TLS',
  openstackNeutronEndpoint: 'OPENSTACK_NEUTRON_ENDPOINT',
  openstackNovaEndpoint: 'OPENSTACK_NOVA_ENDPOINT',
  openstackEndpointInterface: 'OPENSTACK_ENDPOINT_INTERFACE',
  openstackEndpointRegion: 'OPENSTACK_ENDPOINT_REGION',
  openstackNodeNameMetadataKey: 'OPENSTACK_NODE_NAME_METADATA_KEY',
  openstackPortAllowedStatuses: 'OPENSTACK_PORT_ALLOWED_STATUSES',
  openstackPortBaseline: 'OPENSTACK_PORT_BASELINE',
  openstackPortOwners: 'OPENSTACK_PORT_OWNERS',
  downPortFastRetryMax: 'DOWN_PORT_FAST_RETRY_MAX',
  pollFastInterval: 'POLL_FAST_INTERVAL',
  pollSlowInterval: 'POLL_SLOW_INTERVAL',
  pollErrorInterval: 'POLL_ERROR_INTERVAL',
  pollFastWindow: 'POLL_FAST_WINDOW',
  rabbitmqUrls: 'RABBITMQ_URLS',
  rabbitmqExchanges: 'RABBITMQ_EXCHANGES',
  rabbitmqTopics: 'RABBITMQ_TOPICS',
  rabbitmqInsecureTLS: 'RABBITMQ_INSECURE_TLS',
  violaEndpoint: 'VIOLA_ENDPOINT',
  violaTimeout: 'VIOLA_TIMEOUT',
  violaInsecureTLS: 'VIOLA_INSECURE_TLS',
}

/** What counts when neither the CR nor the environment says anything. The two endpoints have no default: one of the two must name them. */
export const settingDefaults = {
  contrabassTimeout: '30s',
  contrabassInsecureTLS: false,
  openstackTimeout: '30s',
  openstackInsecureTLS: false,
  openstackEndpointInterface: 'public',
  openstackEndpointRegion: '',
  openstackNodeNameMetadataKey: '',
  openstackPortAllowedStatuses: ['ACTIVE', 'DOWN'],
  openstackPortBaseline: 'creationTime',
  openstackPortOwners: ['compute:*'],
  downPortFastRetryMax: 5,
  pollFastInterval: '20s',
  pollSlowInterval: '2m',
  pollErrorInterval: '30s',
  pollFastWindow: '3m',
  rabbitmqExchanges: ['neutron', 'nova', 'openstack'],
  rabbitmqTopics: ['notifications', 'versioned_notifications'],
  rabbitmqInsecureTLS: false,
  violaTimeout: '30s',
  violaInsecureTLS: false,
} satisfies Settings
