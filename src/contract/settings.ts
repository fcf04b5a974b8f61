/**
 * Settings of a sync: from the OpenstackConfig (`spec.settings`), else from the operator's environment, else the default.
 *
 * Credentials follow endpoints: the operator decides which key and token a sync may use.
 */
import * as z from 'zod'
import { duration, flag, integer, list, matching, oneOf, quoted, type Read, type Setting } from './setting.ts'
import { duration as durationText } from './text.ts'

/** Without user, query and fragment: the path of a request follows. */
const endpointPattern = /^https?:\/\/[^\s?#@]+$/
const endpoint = {
  read: matching(
    value => endpointPattern.test(value),
    'is not a URL such as https://host:port, without user, query and fragment',
  ),
  schema: z.string().max(2048).regex(endpointPattern),
}

const positiveDuration = {
  read: duration,
  schema: durationText.meta({
    'x-kubernetes-validations': [{ rule: "duration(self) > duration('0s')", message: 'must be above zero' }],
  }),
}
const boolean = { read: flag, schema: z.boolean() }
const names = {
  read: list,
  schema: z.array(z.string().min(1).max(64)).max(32).meta({ 'x-kubernetes-list-type': 'atomic' }),
}
const string = (max: number) => ({
  read: matching(value => value.length <= max, `must have at most ${max} characters`),
  schema: z.string().max(max),
})

const interfaces = ['public', 'internal', 'admin'] as const

const baseline: Read<string> = (value, fail) => {
  const isTime = /^\d{4}-\d{2}-\d{2}T.+$/.test(value) && !Number.isNaN(Date.parse(value))
  if (value === 'creationTime' || value === 'none' || isTime) return value
  return void fail(`${quoted(value)} is not creationTime, none or an RFC 3339 time`)
}

/** A setting with its variable and its schema in the object. A list is comma-separated in the variable. */
interface SyncSetting extends Setting {
  environment: string
  schema: z.ZodType
}

export const syncSettings = {
  contrabassEndpoint: {
    ...endpoint,
    environment: 'CONTRABASS_ENDPOINT',
    about: {
      en: 'Base URL of Contrabass. It may contain a path template with {id}.',
      ko: 'Contrabass의 기본 URL입니다. {id}가 있는 경로 템플릿을 쓸 수 있습니다.',
    },
  },
  contrabassEncryptKey: {
    ...string(64),
    environment: 'CONTRABASS_ENCRYPT_KEY',
    about: {
      en: 'Deprecated: use a Secret in spec.secrets instead.',
      ko: '더 이상 권장하지 않습니다. spec.secrets의 Secret을 사용하십시오.',
    },
    helm: 'operator.encryptKeySecret',
  },
  contrabassTimeout: {
    ...positiveDuration,
    environment: 'CONTRABASS_TIMEOUT',
    default: '30s',
    about: {
      en: 'Timeout of a request to Contrabass, at most that of the operator.',
      ko: 'Contrabass에 보내는 요청의 타임아웃입니다. operator의 값을 넘을 수 없습니다.',
    },
  },
  contrabassInsecureTLS: {
    ...boolean,
    environment: 'CONTRABASS_INSECURE_TLS',
    default: 'false',
    about: {
      en: 'Do not verify the certificate of Contrabass.',
      ko: 'Contrabass의 인증서를 검증하지 않습니다.',
    },
  },
  openstackTimeout: {
    ...positiveDuration,
    environment: 'OPENSTACK_TIMEOUT',
    default: '30s',
    about: {
      en: 'Timeout of a request to Keystone, Neutron or Nova, at most that of the operator.',
      ko: 'Keystone, Neutron, Nova에 보내는 요청의 타임아웃입니다. operator의 값을 넘을 수 없습니다.',
    },
  },
  openstackInsecureTLS: {
    ...boolean,
    environment: 'OPENSTACK_INSECURE_TLS',
    default: 'false',
    about: {
      en: 'Do not verify the certificates of OpenStack.',
      ko: 'OpenStack의 인증서를 검증하지 않습니다.',
    },
  },
  openstackNeutronEndpoint: {
    ...endpoint,
    environment: 'OPENSTACK_NEUTRON_ENDPOINT',
    unset: { en: 'from the catalog', ko: '카탈로그의 값' },
    about: {
      en: 'Neutron URL that replaces the catalog entry.',
      ko: '카탈로그 항목을 대신하는 Neutron URL입니다.',
    },
  },
  openstackNovaEndpoint: {
    ...endpoint,
    environment: 'OPENSTACK_NOVA_ENDPOINT',
    unset: { en: 'from the catalog', ko: '카탈로그의 값' },
    about: { en: 'Nova URL that replaces the catalog entry.', ko: '카탈로그 항목을 대신하는 Nova URL입니다.' },
  },
  openstackEndpointInterface: {
    read: oneOf(...interfaces),
    schema: z.enum(interfaces),
    environment: 'OPENSTACK_ENDPOINT_INTERFACE',
    default: 'public',
    about: { en: 'Endpoint interface of the catalog.', ko: '카탈로그의 엔드포인트 인터페이스입니다.' },
  },
  openstackEndpointRegion: {
    ...string(253),
    environment: 'OPENSTACK_ENDPOINT_REGION',
    unset: { en: 'any', ko: '모든 리전' },
    about: {
      en: 'Region of the catalog. Empty means any region.',
      ko: '카탈로그의 리전입니다. 비어 있으면 모든 리전을 뜻합니다.',
    },
  },
  openstackNodeNameMetadataKey: {
    ...string(255),
    environment: 'OPENSTACK_NODE_NAME_METADATA_KEY',
    unset: { en: 'the name of the server', ko: '서버 이름' },
    about: {
      en: 'Server metadata key that holds the node name.',
      ko: '노드 이름이 있는 서버 메타데이터의 키입니다.',
    },
  },
  openstackPortAllowedStatuses: {
    ...names,
    environment: 'OPENSTACK_PORT_ALLOWED_STATUSES',
    default: 'ACTIVE,DOWN',
    about: {
      en: 'Port statuses that are selected; * selects all.',
      ko: '선택하는 포트 상태입니다. *는 전체를 선택합니다.',
    },
  },
  openstackPortBaseline: {
    read: baseline,
    schema: z
      .string()
      .max(64)
      .regex(/^(creationTime|none|\d{4}-\d{2}-\d{2}T.+)$/),
    environment: 'OPENSTACK_PORT_BASELINE',
    default: 'creationTime',
    about: {
      en: 'Ports created before this time are not selected: creationTime of this object, none, or an RFC 3339 time.',
      ko: '이 시각보다 먼저 만든 포트는 선택하지 않습니다: 이 오브젝트의 creationTime, none, 또는 RFC 3339 시각.',
    },
  },
  openstackPortOwners: {
    ...names,
    environment: 'OPENSTACK_PORT_OWNERS',
    default: 'compute:*',
    about: {
      en: 'device_owner values that are selected; a trailing * matches any suffix.',
      ko: '선택하는 device_owner 값입니다. 끝의 *는 뒤에 오는 모든 문자열과 일치합니다.',
    },
  },
  downPortFastRetryMax: {
    read: integer(1, 100),
    schema: z.int().min(1).max(100),
    environment: 'DOWN_PORT_FAST_RETRY_MAX',
    default: '5',
    about: {
      en: 'Retries on the fast interval for a node with a DOWN port.',
      ko: 'DOWN 포트가 있는 노드를 빠른 간격으로 다시 시도하는 횟수입니다.',
    },
  },
  pollFastInterval: {
    ...positiveDuration,
    environment: 'POLL_FAST_INTERVAL',
    default: '20s',
    about: {
      en: 'Poll interval after a change, at least POLL_MIN_INTERVAL of the operator.',
      ko: '변경 후의 폴링 간격입니다. operator의 POLL_MIN_INTERVAL 이상입니다.',
    },
  },
  pollSlowInterval: {
    ...positiveDuration,
    environment: 'POLL_SLOW_INTERVAL',
    default: '2m',
    about: {
      en: 'Poll interval while nothing changes, at least POLL_MIN_INTERVAL of the operator.',
      ko: '변경이 없을 때의 폴링 간격입니다. operator의 POLL_MIN_INTERVAL 이상입니다.',
    },
  },
  pollErrorInterval: {
    ...positiveDuration,
    environment: 'POLL_ERROR_INTERVAL',
    default: '30s',
    about: {
      en: 'Poll interval after an error, at least POLL_MIN_INTERVAL of the operator.',
      ko: '오류 후의 폴링 간격입니다. operator의 POLL_MIN_INTERVAL 이상입니다.',
    },
  },
  pollFastWindow: {
    ...positiveDuration,
    environment: 'POLL_FAST_WINDOW',
    default: '3m',
    about: {
      en: 'How long the fast interval applies after a change.',
      ko: '변경 후 빠른 간격을 적용하는 시간입니다.',
    },
  },
  rabbitmqUrls: {
    read: list,
    schema: z
      .array(
        z
          .string()
          .max(2048)
          .regex(/^((amqps?|rabbit):\/\/)?[^\s@,]+$/),
      )
      .max(16)
      .meta({ 'x-kubernetes-list-type': 'atomic' }),
    environment: 'RABBITMQ_URLS',
    unset: { en: 'from Contrabass', ko: 'Contrabass의 값' },
    about: {
      en: 'Addresses of the message bus (amqp://host:port/vhost or amqps://…) without credentials. The credentials are in the Secret of spec.secrets.rabbitmqSecretRef.',
      ko: '자격 증명이 없는 메시지 버스 주소입니다(amqp://host:port/vhost 또는 amqps://…). 자격 증명은 spec.secrets.rabbitmqSecretRef의 Secret에 있습니다.',
    },
  },
  violaEndpoint: {
    ...endpoint,
    environment: 'VIOLA_ENDPOINT',
    about: { en: 'Base URL of the Viola API.', ko: 'Viola API의 기본 URL입니다.' },
  },
  violaTimeout: {
    ...positiveDuration,
    environment: 'VIOLA_TIMEOUT',
    default: '30s',
    about: {
      en: 'Timeout of a request to Viola, at most that of the operator.',
      ko: 'Viola에 보내는 요청의 타임아웃입니다. operator의 값을 넘을 수 없습니다.',
    },
  },
  violaInsecureTLS: {
    ...boolean,
    environment: 'VIOLA_INSECURE_TLS',
    default: 'false',
    about: { en: 'Do not verify the certificate of Viola.', ko: 'Viola의 인증서를 검증하지 않습니다.' },
  },
} satisfies Record<string, SyncSetting>

type Table = typeof syncSettings
export type SettingName = keyof Table

/** Of the object. */
export const settings = z
  .object(
    Object.fromEntries(
      Object.entries(syncSettings).map(([name, { schema, about }]) => [
        name,
        schema.optional().meta({ ...{ description: about.en }, ...schema.meta(), description: about.en }),
      ]),
    ) as { [N in SettingName]: z.ZodOptional<Table[N]['schema']> },
  )
  .meta({ description: "Settings of the syncs of this object. They override the operator's environment." })

export type Settings = z.infer<typeof settings>
