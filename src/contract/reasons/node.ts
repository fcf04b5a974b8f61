/**
 * Reasons in the conditions and Events of a MultiNicNodeConfig.
 */
import { nothingToDo, type RunReasons, wait } from './reason.ts'

export const nodeReasons = {
  ReportMissing: {
    class: 'attention',
    refusal: false,
    en: [
      'The Job of the agent ended without a usable report. The controller retries.',
      'Check the Pod of the Job and its log.',
    ],
    ko: [
      'agent의 Job이 유효한 보고서를 남기지 않고 끝났습니다. controller가 다시 시도합니다.',
      'Job의 Pod와 로그를 확인하십시오.',
    ],
  },
  AgentCrashed: {
    class: 'attention',
    refusal: false,
    en: [
      'The agent ends with an error again and again. The kubelet restarts it with growing delays.',
      'Read the log of the agent Pod. If a setting or the image is wrong, correct it: the controller replaces the Job.',
    ],
    ko: [
      'agent가 오류로 계속 종료됩니다. kubelet이 점점 긴 간격으로 다시 시작합니다.',
      'agent Pod의 로그를 확인하십시오. 설정이나 이미지가 잘못되었으면 수정하십시오. controller가 Job을 교체합니다.',
    ],
  },
  AgentOutOfMemory: {
    class: 'attention',
    refusal: false,
    en: ['The kernel killed the agent because it used more memory than its limit.', 'Check the memory of the node.'],
    ko: ['agent가 메모리 한도를 넘어 커널이 종료했습니다.', '노드의 메모리를 확인하십시오.'],
  },
  AllInterfacesConfigured: {
    class: 'normal',
    en: ['The kernel shows all interfaces as requested.', nothingToDo.en],
    ko: ['모든 인터페이스가 요청한 대로 구성된 것을 커널에서 확인했습니다.', nothingToDo.ko],
  },
  Applying: {
    class: 'progress',
    en: ['The agent is running on the node.', wait.en],
    ko: ['노드에서 agent가 실행 중입니다.', wait.ko],
  },
  ApplyFailed: {
    class: 'attention',
    refusal: false,
    en: [
      'The agent could not configure at least one interface and rolled it back. The other interfaces stay configured.',
      'Read interfaceStatuses and correct the cause. The controller retries at nextAttempt; set the annotation multinic.io/retry to retry at once.',
    ],
    ko: [
      '하나 이상의 인터페이스를 구성하지 못해 롤백했습니다. 다른 인터페이스는 그대로 유지됩니다.',
      'interfaceStatuses를 확인하고 원인을 해결하십시오. controller는 nextAttempt에 다시 시도합니다. 바로 다시 시도하려면 어노테이션 multinic.io/retry를 지정하십시오.',
    ],
  },
  CleanupAbandoned: {
    class: 'attention',
    refusal: false,
    en: [
      'The node did not remove its interfaces within CLEANUP_TIMEOUT, so the controller let the deletion of the object finish.',
      'When the node is back, check it for multinic interfaces and files.',
    ],
    ko: [
      '노드가 CLEANUP_TIMEOUT 안에 인터페이스를 제거하지 못해 오브젝트만 삭제했습니다.',
      '노드가 복구되면 multinic 인터페이스와 파일이 남아 있는지 확인하십시오.',
    ],
  },
  CleanupFailed: {
    class: 'warning',
    refusal: false,
    en: [
      'The agent could not remove the interfaces from the node. The controller retries until CLEANUP_TIMEOUT.',
      'Read the message.',
    ],
    ko: [
      '노드에서 인터페이스를 제거하지 못했습니다. controller가 CLEANUP_TIMEOUT까지 다시 시도합니다.',
      '메시지를 확인하십시오.',
    ],
  },
  ConfiguredByOlderAgent: {
    class: 'normal',
    en: [
      'The Go implementation configured the node. It works, with the rules of that agent.',
      'When it suits, run multinic rollout agent: the current agent configures the node again, without an interruption.',
    ],
    ko: [
      'Go 구현의 agent가 구성한 노드입니다. 그 agent의 규칙으로 정상 동작합니다.',
      '편한 시간에 multinic rollout agent를 실행하십시오. 현재 agent가 중단 없이 노드를 다시 구성합니다.',
    ],
  },
  DeletionHeld: {
    class: 'attention',
    refusal: false,
    en: [
      'At least three MultiNicNodeConfigs, and more than a fifth of all, were deleted within ten minutes. Nothing is removed from the nodes until you approve it.',
      'If the deletion is intended, run kubectl annotate namespace multinic-system multinic.io/approve-deletions="$(date +%s)" --overwrite with the namespace of the controller. If not, set the annotation multinic.io/force-delete=true on each of these objects: the interfaces stay on the nodes, and you can create the objects again.',
    ],
    ko: [
      'MultiNicNodeConfig가 10분 안에 3개 이상, 전체의 5분의 1을 넘게 삭제되었습니다. 승인할 때까지 노드에서 아무것도 제거하지 않습니다.',
      '의도한 삭제이면 controller의 네임스페이스를 지정하여 kubectl annotate namespace multinic-system multinic.io/approve-deletions="$(date +%s)" --overwrite를 실행하십시오. 아니면 해당 오브젝트마다 어노테이션 multinic.io/force-delete=true를 지정하십시오. 인터페이스는 노드에 남고 오브젝트를 다시 생성할 수 있습니다.',
    ],
  },
  DuplicateNode: {
    class: 'attention',
    refusal: false,
    en: ['An older MultiNicNodeConfig names the same node.', 'Delete one of the two.'],
    ko: ['같은 노드를 지정한 더 오래된 MultiNicNodeConfig가 있습니다.', '둘 중 하나를 삭제하십시오.'],
  },
  ImagePullFailed: {
    class: 'attention',
    refusal: false,
    en: ['The node cannot pull the image of the agent.', 'Check the image name, the registry and the pull Secrets.'],
    ko: ['노드가 agent 이미지를 가져올 수 없습니다.', '이미지 이름, 레지스트리, 이미지 풀 Secret을 확인하십시오.'],
  },
  MountFailed: {
    class: 'attention',
    refusal: false,
    en: [
      'The node does not have a directory that the agent Pod mounts.',
      'Read the Events of the Pod. Set the label multinic.io/backend on the Node.',
    ],
    ko: [
      'agent Pod가 마운트할 디렉터리가 노드에 없습니다.',
      'Pod의 이벤트를 확인하고 Node에 레이블 multinic.io/backend를 지정하십시오.',
    ],
  },
  MachineNotUnique: {
    class: 'warning',
    refusal: false,
    en: [
      'Several Nodes report the same system UUID, so the machine of this config is not known for certain.',
      'Delete the Node that is left over, or give each machine a UUID of its own.',
    ],
    ko: [
      '여러 Node가 같은 시스템 UUID를 보고하므로 이 구성의 머신을 확실히 알 수 없습니다.',
      '남아 있는 불필요한 Node를 삭제하거나 머신마다 고유한 UUID를 지정하십시오.',
    ],
  },
  NicMissing: {
    class: 'warning',
    refusal: false,
    en: [
      'The guest does not have a NIC with this MAC address yet. The controller keeps looking for it.',
      'Wait. If it takes longer than a few minutes, check the attachment in Nova.',
    ],
    ko: [
      '이 MAC 주소의 NIC가 아직 게스트에 없습니다. controller가 계속 확인합니다.',
      '기다리십시오. 몇 분이 지나도 그대로이면 Nova에서 포트 연결을 확인하십시오.',
    ],
  },
  PodNotStarting: {
    class: 'warning',
    refusal: false,
    en: ['The agent Pod does not start on the node.', 'Check the kubelet of the node.'],
    ko: ['agent Pod가 노드에서 시작되지 않습니다.', '노드의 kubelet을 확인하십시오.'],
  },
  NodeOutOfResources: {
    class: 'warning',
    refusal: false,
    en: ['The node does not have enough resources for the agent Pod.', 'Free resources on the node.'],
    ko: ['노드의 리소스가 부족하여 agent Pod를 실행할 수 없습니다.', '노드의 리소스를 확보하십시오.'],
  },
  NodeNotFound: {
    class: 'warning',
    refusal: false,
    en: ['The cluster has no such node.', 'Wait until the node joins the cluster, or correct nodeName and instanceId.'],
    ko: [
      '클러스터에 해당 노드가 없습니다.',
      '노드가 클러스터에 조인할 때까지 기다리거나 nodeName과 instanceId를 수정하십시오.',
    ],
  },
  NodeUnreachable: {
    class: 'warning',
    refusal: false,
    en: [
      'The node does not report to Kubernetes. The controller configures it when it is back.',
      'Check the machine and its kubelet.',
    ],
    ko: [
      '노드가 Kubernetes에 상태를 보고하지 않습니다. 복구되면 controller가 구성합니다.',
      '머신과 kubelet을 확인하십시오.',
    ],
  },
  OwnedByNodeConfig: {
    class: 'warning',
    refusal: false,
    en: [
      'A MultiNicNodeConfig names this node and takes precedence over the MultiNicBizConfig.',
      'Nothing to do. To return the node to the MultiNicBizConfig, delete that MultiNicNodeConfig.',
    ],
    ko: [
      '이 노드를 지정한 MultiNicNodeConfig가 있으며 MultiNicBizConfig보다 우선합니다.',
      '조치할 것이 없습니다. 노드를 MultiNicBizConfig로 되돌리려면 해당 MultiNicNodeConfig를 삭제하십시오.',
    ],
  },
  Paused: {
    class: 'normal',
    en: [
      'The annotation multinic.io/paused is set on the MultiNicNodeConfig or on the namespace of the controller.',
      'To continue, remove the annotation.',
    ],
    ko: [
      'MultiNicNodeConfig 또는 controller의 네임스페이스에 어노테이션 multinic.io/paused가 지정되어 있습니다.',
      '다시 시작하려면 어노테이션을 삭제하십시오.',
    ],
  },
  PodForbidden: {
    class: 'attention',
    refusal: false,
    en: ['Admission rejects the agent Pod.', 'Allow privileged Pods in the namespace of the controller.'],
    ko: ['어드미션이 agent Pod를 거부했습니다.', 'controller의 네임스페이스에 privileged Pod를 허용하십시오.'],
  },
  PodCreateFailed: {
    class: 'attention',
    refusal: false,
    en: ['Kubernetes cannot create the agent Pod.', 'Read the message and the Events of the Job.'],
    ko: ['Kubernetes가 agent Pod를 생성할 수 없습니다.', '메시지와 Job의 이벤트를 확인하십시오.'],
  },
  QuotaExceeded: {
    class: 'attention',
    refusal: false,
    en: [
      'A ResourceQuota of the namespace does not allow the agent Job or its Pod.',
      'Raise the ResourceQuota that the message names.',
    ],
    ko: [
      '네임스페이스의 ResourceQuota 때문에 agent Job 또는 Pod를 생성할 수 없습니다.',
      '메시지에 나온 ResourceQuota를 늘리십시오.',
    ],
  },
  InterfacesRetained: {
    class: 'warning',
    refusal: false,
    en: [
      'The object was deleted. Its interfaces stay on the nodes.',
      'Nothing to do if that was intended, or if another object took them over. To remove them, create the object again, with its CustomResourceDefinition if that is gone, and delete it.',
    ],
    ko: [
      '오브젝트가 삭제되었습니다. 인터페이스는 노드에 그대로 남아 있습니다.',
      '의도한 결과이거나 다른 오브젝트가 인터페이스를 이어받았으면 조치할 것이 없습니다. 제거하려면 오브젝트를, CustomResourceDefinition이 없어졌으면 함께 다시 생성한 뒤 오브젝트를 삭제하십시오.',
    ],
  },
  Removing: {
    class: 'progress',
    en: ['The agent is removing the interfaces from the node.', wait.en],
    ko: ['노드에서 인터페이스를 제거하는 중입니다.', wait.ko],
  },
  RolloutStopped: {
    class: 'attention',
    refusal: false,
    en: [
      'The number of nodes that failed with a new spec or a new agent has reached FAILURE_BUDGET. The controller changes no further node.',
      'Correct the failed nodes, or raise FAILURE_BUDGET.',
    ],
    ko: [
      '새 spec으로 실패한 노드 수가 FAILURE_BUDGET에 도달했습니다. controller가 나머지 노드를 변경하지 않습니다.',
      '실패한 노드를 해결하거나 FAILURE_BUDGET을 늘리십시오.',
    ],
  },
  RolloutWaiting: {
    class: 'progress',
    en: ['The maximum number of nodes (MAX_UNAVAILABLE) is changing. This node waits for its turn.', wait.en],
    ko: ['최대 개수(MAX_UNAVAILABLE)의 노드를 변경하는 중이며 이 노드는 차례를 기다립니다.', wait.ko],
  },
  SecondaryInternalIP: {
    class: 'warning',
    refusal: false,
    en: [
      'The Node lists addresses of requested NICs as InternalIP. Other programs may use them as the address of the node.',
      'Set internal-network-name in [Networking] of the OpenStack cloud provider, or --node-ip of the kubelet.',
    ],
    ko: [
      'Node에 요청된 NIC의 주소가 InternalIP로 등록되어 있습니다. 다른 프로그램이 이 주소를 노드의 주소로 사용할 수 있습니다.',
      'OpenStack 클라우드 공급자의 [Networking]에 internal-network-name을 지정하거나 kubelet에 --node-ip를 지정하십시오.',
    ],
  },
  SpecInvalid: {
    class: 'attention',
    refusal: false,
    en: ['The spec is invalid.', 'Correct the fields that the message names.'],
    ko: ['spec이 잘못되었습니다.', '메시지에 나온 필드를 수정하십시오.'],
  },
  ApiServerError: {
    class: 'warning',
    refusal: false,
    en: ['The API server rejected a request of the controller. The controller retries.', 'Read the message.'],
    ko: ['API 서버가 controller의 요청을 거부했습니다. controller가 다시 시도합니다.', '메시지를 확인하십시오.'],
  },
  PreviousJobRunning: {
    class: 'progress',
    en: ['The Job of an older generation is still running on the node. The next Job starts when it ends.', wait.en],
    ko: ['이전 generation의 Job이 노드에서 아직 실행 중입니다. 끝나면 다음 Job을 시작합니다.', wait.ko],
  },
  WebhookFailed: {
    class: 'attention',
    refusal: false,
    en: [
      'An admission webhook of the cluster fails, or rejects the agent Job or its Pod.',
      'Repair the webhook that the message names, or exclude the namespace of the controller from it.',
    ],
    ko: [
      '클러스터의 어드미션 웹훅이 실패하거나 agent Job 또는 Pod를 거부했습니다.',
      '메시지에 나온 웹훅을 복구하거나 controller의 네임스페이스를 웹훅 대상에서 제외하십시오.',
    ],
  },
  WrongMachine: {
    class: 'attention',
    refusal: true,
    en: ['The node is not the machine that the spec names.', 'Correct instanceId or nodeName.'],
    ko: ['노드가 spec에 지정된 머신이 아닙니다.', 'instanceId 또는 nodeName을 수정하십시오.'],
  },
} as const satisfies RunReasons
