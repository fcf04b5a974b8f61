/**
 * The settings of the controller, those of the agent included: a typing error would otherwise fail the Jobs on all nodes.
 */
import { agentSettings, ignoredAgentSettings } from '../contract/agent-settings.ts'
import { duration, flag, list, oneOf, type Read, type Settings, text } from '../contract/setting.ts'
import { podSettings } from '../kube/settings.ts'
import { traceSettings } from '../telemetry/trace-export.ts'
import { attachmentPlugins } from './networks/attachments.ts'

/** A number of nodes, or a percentage of all nodes. */
export type Amount = { count: number } | { percent: number }

const amount: Read<Amount> = (value, fail) => {
  if (!/^[0-9]{1,6}%?$/.test(value)) return void fail('must be a number of nodes, or a percentage such as 10%')
  return value.endsWith('%') ? { percent: Number.parseInt(value, 10) } : { count: Number(value) }
}

/** `10m`, or a plain number of seconds as in older charts. */
const seconds: Read<number> = (value, fail) => {
  if (/^[0-9]{1,9}$/.test(value)) return Number(value)
  const ms = duration(value, fail)
  return ms && Math.ceil(ms / 1_000)
}

/** Off: undefined, in a box, because undefined stands for an error. */
const interval: Read<{ ms?: number }> = (value, fail) => {
  if (value === 'off') return {}
  const ms = duration(value, problem => fail(`${problem}, or off`))
  return ms === undefined ? undefined : { ms }
}

type Ipam = Record<string, { type: string }>

const ipam: Read<Ipam> = (value, fail) => {
  const sections = parseJson(value)
  const isSection = (section: unknown) =>
    isObject(section) && typeof section['type'] === 'string' && section['type'] !== ''
  if (isObject(sections) && Object.values(sections).every(isSection)) return sections as Ipam
  return void fail('must be a JSON object with an ipam section, with its type, for each alias')
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

function parseJson(value: string): unknown {
  try {
    return JSON.parse(value)
  } catch {
    return undefined
  }
}

export const controllerSettings = {
  KUBECONFIG: {
    read: text,
    unset: { en: 'the ServiceAccount of the Pod', ko: 'Pod의 ServiceAccount' },
    about: { en: 'Path of a kubeconfig file.', ko: 'kubeconfig 파일의 경로입니다.' },
    helm: null,
  },
  ...podSettings,
  CONTROLLER_NAMESPACE: {
    read: text,
    unset: { en: 'POD_NAMESPACE, else multinic-system', ko: 'POD_NAMESPACE, 없으면 multinic-system' },
    about: { en: 'Namespace of the configs and Jobs.', ko: '구성과 Job의 네임스페이스입니다.' },
    helm: null,
  },
  POD_NAMESPACE: {
    read: text,
    about: { en: 'Namespace of the Pod, from the downward API.', ko: 'Downward API로 받은 Pod의 네임스페이스입니다.' },
    helm: null,
  },
  POD_NAME: {
    read: text,
    unset: { en: 'the host name', ko: '호스트 이름' },
    about: { en: 'Name of this replica in the Lease.', ko: 'Lease에 쓰는 이 레플리카의 이름입니다.' },
    helm: null,
  },
  AGENT_IMAGE: {
    read: text,
    default: 'multinic-agent:latest',
    about: { en: 'Image of the agent Jobs.', ko: 'agent Job의 이미지입니다.' },
    helm: 'agent.image',
  },
  AGENT_IMAGE_PULL_POLICY: {
    read: oneOf('Always', 'IfNotPresent', 'Never'),
    default: 'IfNotPresent',
    about: { en: 'Image pull policy of the agent Jobs.', ko: 'agent Job의 이미지 풀 정책입니다.' },
    helm: 'agent.image.pullPolicy',
  },
  AGENT_SERVICE_ACCOUNT: {
    read: text,
    default: 'multinic-agent-job',
    about: {
      en: 'ServiceAccount of the agent Jobs. It needs no permissions.',
      ko: 'agent Job의 ServiceAccount입니다. 권한이 필요 없습니다.',
    },
    helm: null,
  },
  AGENT_PULL_SECRETS: {
    read: list,
    about: {
      en: 'Names of image pull Secrets, separated by commas.',
      ko: '이미지 풀 Secret의 이름입니다. 쉼표로 구분합니다.',
    },
    helm: 'global.imagePullSecrets',
  },
  AGENT_PRIORITY_CLASS: {
    read: text,
    about: { en: 'PriorityClass of the agent Jobs.', ko: 'agent Job의 PriorityClass입니다.' },
    helm: 'agent.priorityClassName',
  },
  AGENT_APPARMOR_PROFILE: {
    read: oneOf('RuntimeDefault', 'Unconfined'),
    about: {
      en: 'AppArmor profile of the agent Jobs. Unconfined lets the agent use D-Bus on Ubuntu, whose default profile denies it.',
      ko: 'agent Job의 AppArmor 프로파일입니다. Unconfined이면 기본 프로파일이 D-Bus를 막는 Ubuntu에서도 agent가 D-Bus를 사용합니다.',
    },
  },
  JOB_TTL: {
    read: seconds,
    default: '10m',
    about: { en: 'How long to keep an ended Job.', ko: '끝난 Job을 보관하는 시간입니다.' },
  },
  MAX_UNAVAILABLE: {
    read: amount,
    default: '10%',
    about: {
      en: 'How many nodes may change at the same time: a number, or a percentage of all nodes (at least 1).',
      ko: '동시에 변경할 수 있는 노드 수입니다: 숫자, 또는 전체 노드의 비율(최소 1).',
    },
  },
  FAILURE_BUDGET: {
    read: amount,
    default: '20%',
    about: {
      en: 'How many nodes may fail with a new spec before the rollout stops: a number, or a percentage of all nodes (at least 3).',
      ko: '새 spec에서 이만큼의 노드가 실패하면 롤아웃을 멈춥니다: 숫자, 또는 전체 노드의 비율(최소 3).',
    },
  },
  DRIFT_INTERVAL: {
    read: interval,
    default: '1h',
    about: {
      en: 'How often to check a configured node for drift, or off. In large clusters longer: checks start at least 5 seconds apart.',
      ko: '구성된 노드의 드리프트를 점검하는 간격, 또는 off입니다. 큰 클러스터에서는 더 길어집니다. 점검은 5초 이상의 간격으로 시작합니다.',
    },
  },
  DRIFT_POLICY: {
    read: oneOf('report', 'repair'),
    default: 'report',
    about: {
      en: 'What to do about drift: report it, or repair it.',
      ko: '드리프트를 처리하는 방법입니다: 보고(report) 또는 복구(repair).',
    },
  },
  CLEANUP_TIMEOUT: {
    read: duration,
    default: '10m',
    about: {
      en: 'How long a deleted config waits for its node to clean up.',
      ko: '삭제된 구성이 노드의 정리를 기다리는 시간입니다.',
    },
  },
  BIZ_CONFIG_MODE: {
    read: oneOf('dual', 'node-only', 'biz-read-only'),
    default: 'dual',
    about: {
      en: 'How to handle MultiNicBizConfigs: dual reconciles them beside MultiNicNodeConfigs, biz-read-only ignores changes to them, node-only ignores them.',
      ko: 'MultiNicBizConfig를 처리하는 방법입니다: dual은 MultiNicNodeConfig와 함께 조정하고, biz-read-only는 변경을 무시하고, node-only는 전체를 무시합니다.',
    },
  },
  NODE_CONDITION: {
    read: flag,
    default: 'false',
    about: {
      en: 'Set the condition MultiNicReady on Nodes. Needs permission to patch nodes/status.',
      ko: 'Node에 MultiNicReady 컨디션을 설정합니다. nodes/status의 patch 권한이 필요합니다.',
    },
  },
  NODE_LABELS: {
    read: flag,
    default: 'false',
    about: {
      en: 'Label each Node with its proven networks (network.multinic.io/ALIAS: ready), and remove the taint multinic.io/not-ready:NoSchedule when all NICs of its config are proven. Needs permission to patch nodes.',
      ko: '확인된 네트워크를 Node의 레이블로 표시하고(network.multinic.io/ALIAS: ready), 구성의 모든 NIC가 확인되면 테인트 multinic.io/not-ready:NoSchedule을 제거합니다. nodes의 patch 권한이 필요합니다.',
    },
    helm: 'controller.nodeLabels',
  },
  ATTACHMENT_NAMESPACES: {
    read: list,
    about: {
      en: 'Namespaces in which the controller keeps one NetworkAttachmentDefinition of Multus for each network with an alias, separated by commas. Needs permissions in these namespaces.',
      ko: 'alias가 있는 네트워크마다 controller가 Multus의 NetworkAttachmentDefinition을 하나씩 두는 네임스페이스입니다. 쉼표로 구분합니다. 이 네임스페이스의 권한이 필요합니다.',
    },
    helm: 'controller.networkAttachments.namespaces',
  },
  ATTACHMENT_PLUGIN: {
    read: oneOf(...attachmentPlugins),
    default: 'ipvlan',
    about: { en: 'CNI plugin of these definitions.', ko: '이 정의의 CNI 플러그인입니다.' },
    helm: 'controller.networkAttachments.plugin',
  },
  ATTACHMENT_IPAM: {
    read: ipam,
    default: '{}',
    about: {
      en: 'The ipam section of these definitions by alias, as JSON: {"storage":{"type":"whereabouts","range":"10.10.0.128/26"}}. For other aliases, the section that you write into the definition stays.',
      ko: '이 정의의 ipam 섹션을 alias별로 쓴 JSON입니다: {"storage":{"type":"whereabouts","range":"10.10.0.128/26"}}. 다른 alias에는 정의에 직접 쓴 섹션을 유지합니다.',
    },
    helm: 'controller.networkAttachments.ipam',
  },
  HEALTH_ADDR: {
    read: text,
    default: ':8080',
    about: {
      en: 'Listen address of /healthz, /readyz and /metrics.',
      ko: '/healthz, /readyz, /metrics의 수신 주소입니다.',
    },
    helm: 'controller.port',
  },
  LEADER_ELECT: {
    read: flag,
    default: 'false',
    about: {
      en: 'Use leader election. Required for more than one replica.',
      ko: '리더를 선출합니다. 레플리카가 둘 이상이면 필요합니다.',
    },
    helm: 'controller.replicas',
  },
  ...traceSettings,
  ...agentSettings,
  ...ignoredAgentSettings,
} satisfies Settings
