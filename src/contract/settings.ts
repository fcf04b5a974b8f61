/**
 * Settings of a sync: from the OpenstackConfig (`spec.settings`), else from the operator's environment, else the default.
 *
 * Credentials follow endpoints: the operator decides which key and token a sync may use.
 */
import * as z from 'zod'
import { duration } from './text.ts'

/** Without user, query and fragment: the path of a request follows. */
const endpoint = z
  .string()
  .max(2048)
  .regex(/^https?:\/\/[^\s?#@]+$/)
const positiveDuration = (description: string) =>
  duration.optional().meta({
    description,
    'x-kubernetes-validations': [{ rule: "duration(self) > duration('0s')", message: 'must be above zero' }],
  })
const flag = (description: string) => z.boolean().optional().meta({ description })
const names = (description: string) =>
  z.array(z.string().min(1).max(64)).max(32).optional().meta({ description, 'x-kubernetes-list-type': 'atomic' })

export const settings = z
  .object({
    contrabassEndpoint: endpoint
      .optional()
      .meta({ description: 'Base URL of Contrabass. It may contain a path template with {id}.' }),
    contrabassEncryptKey: z
      .string()
      .max(64)
      .optional()
      .meta({ description: 'Deprecated: use a Secret in spec.secrets instead.' }),
    contrabassTimeout: positiveDuration('Timeout of a request to Contrabass, at most that of the operator.'),
    contrabassInsecureTLS: flag('Do not verify the certificate of Contrabass.'),
    openstackTimeout: positiveDuration(
      'Timeout of a request to Keystone, Neutron or Nova, at most that of the operator.',
    ),
    openstackInsecureTLS: flag('Do not verify the certificates of OpenStack.'),
    openstackNeutronEndpoint: endpoint.optional().meta({ description: 'Neutron URL that replaces the catalog entry.' }),
    openstackNovaEndpoint: endpoint.optional().meta({ description: 'Nova URL that replaces the catalog entry.' }),
    openstackEndpointInterface: z
      .enum(['public', 'internal', 'admin'])
      .optional()
      .meta({ description: 'Endpoint interface of the catalog.' }),
    openstackEndpointRegion: z
      .string()
      .max(253)
      .optional()
      .meta({ description: 'Region of the catalog. Empty means any region.' }),
    openstackNodeNameMetadataKey: z
      .string()
      .max(255)
      .optional()
      .meta({ description: 'Server metadata key that holds the node name.' }),
    openstackPortAllowedStatuses: names('Port statuses that are selected; * selects all.'),
    openstackPortBaseline: z
      .string()
      .max(64)
      .regex(/^(creationTime|none|\d{4}-\d{2}-\d{2}T.+)$/)
      .optional()
      .meta({
        description:
          'Ports created before this time are not selected: creationTime of this object, none, or an RFC 3339 time.',
      }),
    openstackPortOwners: names('device_owner values that are selected; a trailing * matches any suffix.'),
    downPortFastRetryMax: z
      .int()
      .min(1)
      .max(100)
      .optional()
      .meta({ description: 'Retries on the fast interval for a node with a DOWN port.' }),
    pollFastInterval: positiveDuration('Poll interval after a change, at least POLL_MIN_INTERVAL of the operator.'),
    pollSlowInterval: positiveDuration(
      'Poll interval while nothing changes, at least POLL_MIN_INTERVAL of the operator.',
    ),
    pollErrorInterval: positiveDuration('Poll interval after an error, at least POLL_MIN_INTERVAL of the operator.'),
    pollFastWindow: positiveDuration('How long the fast interval applies after a change.'),
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
          'Addresses of the message bus (amqp://host:port/vhost or amqps://…) without credentials. The credentials are in the Secret of spec.secrets.rabbitmqSecretRef.',
        'x-kubernetes-list-type': 'atomic',
      }),
    rabbitmqExchanges: names('Exchanges that Neutron and Nova send their notifications to.'),
    rabbitmqTopics: names('Topics of the notifications, without the priority.'),
    rabbitmqInsecureTLS: flag('Do not verify the certificate of the message bus.'),
    violaEndpoint: endpoint.optional().meta({ description: 'Base URL of the Viola API.' }),
    violaTimeout: positiveDuration('Timeout of a request to Viola, at most that of the operator.'),
    violaInsecureTLS: flag('Do not verify the certificate of Viola.'),
  })
  .meta({ description: "Settings of the syncs of this object. They override the operator's environment." })

export type Settings = z.infer<typeof settings>
export type SettingName = keyof Settings

/** Environment variable of each setting. A list is comma-separated there. */
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

/** Defaults when neither the CR nor the environment sets a value. The endpoints have no default and must be set. */
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
