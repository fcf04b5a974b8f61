/**
 * The operator's own settings. Those that an OpenstackConfig may also contain are in src/contract/settings.ts.
 */
import { duration, flag, list, matching, type Settings, text, type Values } from '../contract/setting.ts'
import { podSettings } from '../kube/settings.ts'
import { tokenSettings } from '../server/access-settings.ts'
import { traceSettings } from '../telemetry/trace-export.ts'

const ofTheSystem = { en: 'those of the system', ko: '시스템의 인증서' }

export const processSettings = {
  KUBECONFIG: {
    read: text,
    unset: { en: 'the ServiceAccount of the Pod', ko: 'Pod의 ServiceAccount' },
    about: { en: 'Kubeconfig of the management cluster.', ko: '관리 클러스터의 kubeconfig입니다.' },
    helm: null,
  },
  ...podSettings,
  OPERATOR_ADDR: {
    read: text,
    default: ':8081',
    about: {
      en: 'Listen address of health, readiness, metrics and the operator’s API.',
      ko: '상태, 준비 상태, 메트릭, operator API의 수신 주소입니다.',
    },
    helm: 'operator.port',
  },
  ...tokenSettings('OPERATOR', null),
  POLL_MIN_INTERVAL: {
    read: duration,
    default: '500ms',
    about: {
      en: 'Shortest poll interval that an object may set. A shorter one is raised to it.',
      ko: '오브젝트가 설정할 수 있는 가장 짧은 폴링 간격입니다. 더 짧으면 이 값으로 올립니다.',
    },
  },
  WATCH_NAMESPACES: {
    read: list,
    unset: { en: 'all', ko: '전체' },
    about: {
      en: 'Namespaces whose objects are synced, separated by commas.',
      ko: '오브젝트를 동기화하는 네임스페이스입니다. 쉼표로 구분합니다.',
    },
  },
  LEADER_ELECT: {
    read: flag,
    default: 'false',
    about: {
      en: 'Leader election: of several replicas, only the holder of the Lease syncs.',
      ko: '리더 선출: 여러 레플리카 중 Lease를 가진 것만 동기화합니다.',
    },
    helm: 'operator.replicas',
  },
  POD_NAMESPACE: {
    read: text,
    default: 'multinic-operator-system',
    about: {
      en: 'Namespace of the Lease, and of the delivery records for a Viola that serves only POST.',
      ko: 'Lease의 네임스페이스이며, POST만 제공하는 Viola의 전달 기록도 여기에 저장합니다.',
    },
    helm: null,
  },
  POD_NAME: {
    read: text,
    unset: { en: 'the host name', ko: '호스트 이름' },
    about: { en: 'Identity in the Lease.', ko: 'Lease에 쓰는 이름입니다.' },
    helm: null,
  },
  CONTRABASS_CA_FILE: {
    read: text,
    unset: ofTheSystem,
    about: { en: 'CA certificates for Contrabass.', ko: 'Contrabass의 CA 인증서입니다.' },
  },
  OPENSTACK_CA_FILE: {
    read: text,
    unset: ofTheSystem,
    about: { en: 'CA certificates for Keystone, Neutron and Nova.', ko: 'Keystone, Neutron, Nova의 CA 인증서입니다.' },
  },
  VIOLA_CA_FILE: {
    read: text,
    unset: ofTheSystem,
    about: { en: 'CA certificates for Viola.', ko: 'Viola의 CA 인증서입니다.' },
  },
  VIOLA_TOKEN_FILE: {
    read: text,
    about: {
      en: 'Bearer token for the Viola of VIOLA_ENDPOINT. Reloaded when the file changes.',
      ko: 'VIOLA_ENDPOINT의 Viola에 사용하는 Bearer 토큰입니다. 파일이 바뀌면 다시 읽습니다.',
    },
    helm: 'operator.violaTokenSecret',
  },
  VIOLA_CLIENT_CERT_FILE: {
    read: text,
    about: {
      en: 'Client certificate for the Viola of VIOLA_ENDPOINT.',
      ko: 'VIOLA_ENDPOINT의 Viola에 사용하는 클라이언트 인증서입니다.',
    },
  },
  VIOLA_CLIENT_KEY_FILE: {
    read: text,
    about: { en: 'Private key of VIOLA_CLIENT_CERT_FILE.', ko: 'VIOLA_CLIENT_CERT_FILE의 개인 키입니다.' },
  },
  INVENTORY_URL: {
    read: matching(value => /^https?:$/.test(URL.parse(value)?.protocol ?? ''), 'must be an http or https URL'),
    unset: { en: 'the inventory embedded in the operator', ko: 'operator에 내장된 인벤토리' },
    about: { en: 'URL of a separate inventory.', ko: '별도 인벤토리의 URL입니다.' },
    helm: 'inventory.enabled',
  },
  INVENTORY_TOKEN_FILE: {
    read: text,
    about: {
      en: 'Bearer token for the inventory of INVENTORY_URL. Reloaded when the file changes.',
      ko: 'INVENTORY_URL의 인벤토리에 사용하는 Bearer 토큰입니다. 파일이 바뀌면 다시 읽습니다.',
    },
    helm: 'operator.inventoryTokenSecret',
  },
  INVENTORY_CA_FILE: {
    read: text,
    unset: ofTheSystem,
    about: {
      en: 'CA certificates for the inventory of INVENTORY_URL. Reloaded when the file changes.',
      ko: 'INVENTORY_URL의 인벤토리에 사용하는 CA 인증서입니다. 파일이 바뀌면 다시 읽습니다.',
    },
  },
  RABBITMQ_EVENTS_ENABLED: {
    read: flag,
    default: 'true',
    about: { en: 'Listen to notifications of the clouds.', ko: '클라우드의 알림을 받습니다.' },
  },
  RABBITMQ_USER: {
    read: text,
    about: { en: 'User for the message bus of RABBITMQ_URLS.', ko: 'RABBITMQ_URLS의 메시지 버스에 쓰는 사용자입니다.' },
  },
  RABBITMQ_PASSWORD: {
    read: text,
    about: { en: 'Password of RABBITMQ_USER.', ko: 'RABBITMQ_USER의 비밀번호입니다.' },
  },
  RABBITMQ_PASSWORD_FILE: {
    read: text,
    about: {
      en: 'File with the password of RABBITMQ_USER. Reloaded when it changes.',
      ko: 'RABBITMQ_USER의 비밀번호가 있는 파일입니다. 바뀌면 다시 읽습니다.',
    },
  },
  RABBITMQ_CA_FILE: {
    read: text,
    unset: ofTheSystem,
    about: { en: 'CA certificates for message buses.', ko: '메시지 버스의 CA 인증서입니다.' },
  },
  RABBITMQ_QUEUE: {
    read: text,
    unset: { en: 'a queue that is deleted with the connection', ko: '연결이 끝나면 삭제되는 큐' },
    about: {
      en: 'Name of a queue that keeps notifications for 30 minutes while the operator is down.',
      ko: 'operator가 멈춘 동안 알림을 30분 보관하는 큐의 이름입니다.',
    },
  },
  RABBITMQ_SECRET_ENABLED: {
    read: flag,
    default: 'true',
    about: {
      en: 'Write the account of a cloud’s message bus to a Secret next to the object.',
      ko: '클라우드 메시지 버스의 계정을 오브젝트 옆의 Secret에 씁니다.',
    },
  },
  ENDPOINT_ALLOWED_HOSTS: {
    read: list,
    unset: { en: 'all except link-local addresses', ko: '링크 로컬 주소를 제외한 전체' },
    about: {
      en: 'Hosts that objects, their clouds.yaml, Contrabass and catalogs may name, separated by commas.',
      ko: '오브젝트, clouds.yaml, Contrabass, 카탈로그에 쓸 수 있는 호스트입니다. 쉼표로 구분합니다.',
    },
  },
  NAMESPACE_RULES_FILE: {
    read: text,
    about: {
      en: 'File with the hosts, providers and projects that each namespace may use. Objects of multinic-system and POD_NAMESPACE need no rule, all others do.',
      ko: '네임스페이스마다 사용할 수 있는 호스트, provider, 프로젝트가 있는 파일입니다. multinic-system과 POD_NAMESPACE의 오브젝트에는 규칙이 필요 없고, 나머지에는 필요합니다.',
    },
    helm: 'operator.namespaceRules',
  },
  HTTP_PROXY: {
    read: text,
    about: {
      en: 'Proxy for http URLs, and for https URLs if HTTPS_PROXY is not set.',
      ko: 'http URL의 프록시이며, HTTPS_PROXY가 없으면 https URL에도 사용합니다.',
    },
  },
  HTTPS_PROXY: { read: text, about: { en: 'Proxy for https URLs.', ko: 'https URL의 프록시입니다.' } },
  NO_PROXY: {
    read: text,
    about: { en: 'Hosts that are called without a proxy.', ko: '프록시 없이 호출하는 호스트입니다.' },
  },
  ...traceSettings,
} satisfies Settings

export type ProcessSettings = Readonly<Values<typeof processSettings>>
