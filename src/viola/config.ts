/**
 * Settings of the Viola API.
 */
import { duration, integer, matching, type Settings, settingsFrom, text, type Values } from '../contract/setting.ts'
import { tenantName } from '../contract/text.ts'
import { shownName } from '../contract/truncate.ts'
import { podSettings } from '../kube/settings.ts'
import type { Environment } from '../runtime/env.ts'
import { accessSettings } from '../server/access-settings.ts'
import { completeTls, tlsSettings } from '../server/tls-settings.ts'
import { traceSettings } from '../telemetry/trace-export.ts'

const oneLine = 'must be one line, without invisible characters and without spaces at its ends'

/** Screens show it as it is. */
export const providerName = tenantName.refine(name => shownName(name) === name, oneLine)

export const violaSettings = {
  LISTEN_ADDR: {
    read: text,
    default: ':8080',
    about: { en: 'Listen address.', ko: '수신 주소입니다.' },
    helm: 'viola.port',
  },
  ROUTING_CONFIG: {
    read: text,
    about: {
      en: 'Routing file. Without one, all providers share one cluster.',
      ko: '라우팅 파일입니다. 없으면 모든 provider가 클러스터 하나를 함께 사용합니다.',
    },
    helm: 'viola.routingSecret',
  },
  TARGET_NAMESPACE: {
    read: matching(value => value.length <= 63, 'must have at most 63 characters'),
    default: 'multinic-system',
    about: {
      en: 'Namespace of MultiNicNodeConfigs, unless the routing names another.',
      ko: 'MultiNicNodeConfig의 네임스페이스입니다. 라우팅에 다른 네임스페이스가 있으면 그것을 사용합니다.',
    },
  },
  VIOLA_PROVIDER_NAME: {
    read: matching(value => providerName.safeParse(value).success, `${oneLine}, and have at most 255 characters`),
    about: {
      en: 'Name of the cluster for people, without a routing file. With one, each target has its own.',
      ko: '라우팅 파일이 없을 때 사람이 보는 클러스터 이름입니다. 라우팅 파일이 있으면 대상마다 이름이 있습니다.',
    },
  },
  KUBECONFIG: {
    read: text,
    unset: { en: 'the cluster that Viola runs in', ko: 'Viola가 실행되는 클러스터' },
    about: { en: 'Kubeconfig of the cluster.', ko: '클러스터의 kubeconfig입니다.' },
    helm: null,
  },
  KUBE_API_SERVER: {
    read: text,
    about: {
      en: 'URL of the Kubernetes API server, instead of a kubeconfig.',
      ko: 'kubeconfig 대신 사용하는 Kubernetes API 서버의 URL입니다.',
    },
  },
  KUBE_CA_PATH: {
    read: text,
    about: { en: 'CA certificates of the API server.', ko: 'API 서버의 CA 인증서입니다.' },
  },
  KUBE_TOKEN: {
    read: text,
    about: { en: 'Bearer token for the API server.', ko: 'API 서버에 사용하는 Bearer 토큰입니다.' },
    helm: null,
  },
  KUBE_TOKEN_FILE: {
    read: text,
    about: {
      en: 'File with the bearer token. A rotated token applies without a restart.',
      ko: 'Bearer 토큰이 있는 파일입니다. 교체한 토큰은 다시 시작하지 않아도 적용됩니다.',
    },
  },
  KUBE_TIMEOUT: {
    read: duration,
    default: '10s',
    about: { en: 'Timeout of a request to a cluster.', ko: '클러스터에 보내는 요청의 타임아웃입니다.' },
  },
  VIOLA_PARALLEL: {
    read: integer(1, 256),
    default: '16',
    about: {
      en: 'Maximum concurrent writes to one cluster, of all requests together.',
      ko: '모든 요청을 합쳐 클러스터 하나에 동시에 쓰는 최대 수입니다.',
    },
  },
  ...accessSettings('VIOLA', 'viola.tokensSecret'),
  ...tlsSettings('VIOLA'),
  VIOLA_CLIENT_CA_FILE: {
    read: text,
    about: {
      en: 'CA of client certificates. The common name is the user, the organizations are the groups of the caller.',
      ko: '클라이언트 인증서의 CA입니다. CN(common name)이 호출자의 사용자이고 O(organization)가 그룹입니다.',
    },
  },
  ...podSettings,
  ...traceSettings,
} satisfies Settings

export type ViolaSettings = Readonly<Values<typeof violaSettings>>

export function violaSettingsFrom(env: Environment): ViolaSettings {
  return settingsFrom(violaSettings, env, completeTls('VIOLA'))
}
