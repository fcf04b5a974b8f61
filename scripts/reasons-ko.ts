/**
 * The catalogue of reasons in Korean, for the reference page. A reason without its words here does not pass the type check.
 */
import type { reasonGroups } from '../src/contract/reasons.ts'

type Groups = typeof reasonGroups
type Texts = { [G in keyof Groups]: Record<keyof Groups[G], readonly [meaning: string, remedy: string]> }

const nothing = '할 일이 없습니다.'
const again = '메시지에 담긴 응답을 보십시오. 자동으로 다시 시도합니다.'
const wait = '기다리십시오.'
const owned = [
  '이 노드를 지정한 MultiNicNodeConfig가 따로 있으며, 그것이 MultiNicBizConfig보다 우선합니다.',
  '할 일이 없습니다. 노드를 되돌려 주려면 그 MultiNicNodeConfig를 삭제하십시오.',
] as const
const otherMachine = 'instanceId 또는 노드 이름을 고치십시오.'
const named = '메시지가 가리키는 필드를 고치십시오.'
const notSecondary = '이 포트를 빼십시오. 보조 NIC가 아닙니다.'

export const koreanReasons: Texts = {
  syncReasons: {
    ConfigError: ['오브젝트, 그 Secret 또는 오퍼레이터의 환경에 쓸 수 없는 설정이 있습니다.', named],
    ContrabassError: [
      'Contrabass가 클라우드에 로그인할 방법을 알려 주지 않았습니다.',
      'contrabassEndpoint, openstackProviderID, 암호화 키를 확인하십시오. 메시지에 Contrabass의 응답이 있습니다.',
    ],
    EventBusUnreachable: [
      '클라우드의 메시지 버스에 닿지 않거나 아직 익스체인지가 없습니다. 짧은 간격의 폴링으로 포트를 찾습니다.',
      '브로커의 주소와 네트워크, rabbitmqExchanges를 확인하십시오. 자동으로 다시 시도합니다.',
    ],
    EventBusConnected: ['클라우드의 알림이 오면 바로 동기화합니다.', nothing],
    EventBusConnecting: ['클라우드의 메시지 버스에 연결하고 있습니다.', '잠시 기다리십시오.'],
    EventBusNotConfigured: [
      '이 클라우드의 메시지 버스를 더 이상 알 수 없습니다. 폴링으로 포트를 찾습니다.',
      '그대로 두거나, Contrabass, spec.secrets.rabbitmqSecretRef 또는 오퍼레이터에 지정하십시오.',
    ],
    EventBusConfigError: [
      '메시지 버스를 설정대로 쓸 수 없습니다. 비밀번호가 풀리지 않거나 거절되었거나 설정이 잘못되었습니다. 짧은 간격의 폴링으로 포트를 찾습니다.',
      '메시지가 가리키는 것을 고치십시오: Contrabass의 rabbitMQPw 또는 오브젝트의 Secret. 동기화는 이벤트 없이 계속됩니다.',
    ],
    FieldIgnored: [
      '오브젝트의 필드가 더 이상 쓰이지 않거나 다른 필드가 우선합니다.',
      '메시지가 가리키는 필드를 빼거나 바꾸십시오.',
    ],
    Healthy: ['마지막 동기화에 오류가 없었습니다.', nothing],
    KeystoneError: [
      'Keystone이 토큰을 발급하지 않았습니다.',
      'Contrabass와 Keystone에서 관리자 계정, 도메인, projectID를 확인하십시오.',
    ],
    NodesOrphaned: [
      '오브젝트의 k8sProviderID 또는 violaEndpoint가 바뀌었고, 이전 곳의 노드는 전달된 그대로 남아 있습니다.',
      '없애려면 오브젝트를 되돌려 놓고 삭제하거나, 그곳의 MultiNicNodeConfig를 삭제하십시오. 그다음 어노테이션 multinic.io/release-removals에 새 값을 주십시오.',
    ],
    NeutronEndpointError: [
      '카탈로그에 이 리전과 인터페이스의 Neutron이 없습니다.',
      'openstackEndpointRegion, openstackEndpointInterface 또는 openstackNeutronEndpoint를 지정하십시오.',
    ],
    NeutronPortError: ['Neutron이 포트 목록을 주지 않았습니다.', again],
    NeutronSubnetError: ['Neutron이 서브넷이나 네트워크를 주지 않았습니다.', again],
    NoChange: ['마지막 동기화에서 모든 것이 이미 전달되어 있었습니다.', nothing],
    NodesFailed: [
      '인터페이스를 설정하지 못한 노드가 있습니다.',
      '인벤토리의 그 노드 또는 MultiNicNodeConfig를 보십시오.',
    ],
    NodesPending: ['노드를 아직 설정하고 있습니다.', '기다리십시오. 오래 걸리면 MultiNicNodeConfig를 보십시오.'],
    NovaError: [
      'Nova가 VM의 이름을 알려 주지 않았습니다.',
      '메시지에 담긴 응답을 보십시오. 아는 노드는 이름을 유지합니다.',
    ],
    RemovalHeld: [
      '오브젝트를 편집하지 않았는데 포트가 한꺼번에 많이 사라져 아무것도 지우지 않았습니다.',
      '클라우드를 확인하십시오. 지우려면 어노테이션 multinic.io/release-removals에 새 값을 주십시오.',
    ],
    RemovalPending: ['Viola가 제거를 거절했습니다.', '메시지를 보십시오. 자동으로 다시 시도합니다.'],
    SubnetNotFound: [
      '프로젝트에 이 이름이나 id의 서브넷이 없습니다.',
      'subnetName, subnetID 또는 subnetIDs를 고치십시오.',
    ],
    SubnetNotUnique: ['같은 이름의 서브넷이 여럿입니다.', '서브넷을 id로 지정하십시오.'],
    SubnetRequired: ['선택한 서브넷이 없습니다.', 'subnetIDs, subnetID 또는 subnetName을 지정하십시오.'],
    Synced: ['마지막 동기화가 변경을 전달했습니다.', nothing],
    ViolaPostError: [
      'Viola가 노드 설정을 받지 않았습니다.',
      'violaEndpoint, 프로바이더 id, 대상 클러스터를 확인하십시오. 메시지에 Viola의 응답이 있습니다.',
    ],
  },
  verdictReasons: {
    Selected: ['포트가 노드의 인터페이스입니다.', nothing],
    BeforeBaseline: [
      '포트가 기준 시각보다 오래되었습니다.',
      'openstackPortBaseline을 none이나 더 이른 시각으로 지정하십시오.',
    ],
    DeviceOwnerNotAllowed: [
      '포트의 device_owner가 openstackPortOwners에 없습니다.',
      'Nova로 포트를 연결하거나 openstackPortOwners를 넓히십시오.',
    ],
    LimitReached: ['노드에 이미 인터페이스 열 개가 있습니다.', '포트를 분리하십시오. 0부터 9까지 모두 쓰고 있습니다.'],
    NameChanged: [
      '서버 이름이 바뀌었지만 노드는 전달될 때의 이름을 유지합니다.',
      '할 일이 없습니다. 일부러 옮기려면 그 MultiNicNodeConfig를 삭제하십시오.',
    ],
    NameNotUnique: [
      '두 VM이 한 노드가 됩니다.',
      'VM마다 다른 이름을 주거나, 노드 이름을 담은 메타데이터 키를 쓰십시오.',
    ],
    NameUnknown: ['Nova가 아직 이 VM의 이름을 알려 주지 않았습니다.', '기다리십시오. 다시 묻습니다.'],
    NoAddress: ['포트에 선택한 서브넷의 주소가 없습니다.', '주소를 주거나 그 서브넷을 선택하십시오.'],
    PortNotBound: ['포트가 아직 VM에 연결되지 않았습니다.', '기다리십시오. 곧 다시 봅니다.'],
    NetworkMismatch: ['주소의 서브넷이 포트와 다른 네트워크에 속합니다.', 'Neutron에서 포트를 확인하십시오.'],
    VmNotSelected: ['이 오브젝트가 지정하지 않은 VM의 포트입니다.', 'VM을 vmNames에 추가하십시오.'],
    StatusNotAllowed: ['받아들이는 포트 상태가 아닙니다.', '기다리거나 openstackPortAllowedStatuses를 넓히십시오.'],
    VmNotFound: [
      'Nova가 이 VM을 모릅니다. Nova가 삭제를 기억하거나 오브젝트의 다른 VM을 보여 줄 때만 인터페이스를 없앱니다. 잘못된 프로젝트의 토큰도 아무것도 보지 못하기 때문입니다.',
      'vmNames에서 빼십시오. 그러면 인터페이스도 없어집니다.',
    ],
    VmNotUnique: ['같은 이름의 서버가 여럿입니다.', 'vmNames에 서버를 id로 적으십시오.'],
  },
  nodeReasons: {
    ReportMissing: ['에이전트의 Job이 보고 없이 끝났습니다.', 'Job의 Pod와 로그를 보십시오. 자동으로 다시 시도합니다.'],
    AllInterfacesConfigured: ['모든 인터페이스를 커널에서 다시 읽었고 요청한 그대로입니다.', nothing],
    Applying: ['에이전트가 노드에서 일하고 있습니다.', wait],
    ApplyFailed: [
      '설정하지 못한 인터페이스가 있습니다. 그것만 되돌렸고 나머지는 남아 있습니다.',
      'interfaceStatuses를 보고 원인을 고치거나 어노테이션 multinic.io/retry를 지정하십시오.',
    ],
    CleanupAbandoned: [
      '노드가 제때 인터페이스를 정리하지 못해 오브젝트를 놓아주었습니다.',
      '노드가 돌아오면 multinic 인터페이스와 파일이 남았는지 보십시오.',
    ],
    CleanupFailed: ['노드에서 인터페이스를 없애지 못했습니다.', '메시지를 보십시오. 10분 동안 다시 시도합니다.'],
    DuplicateNode: ['더 오래된 MultiNicNodeConfig가 같은 노드를 지정합니다.', '둘 중 하나를 삭제하십시오.'],
    ImagePullFailed: [
      '노드가 에이전트 이미지를 받을 수 없습니다.',
      '이미지 이름, 레지스트리, 풀 Secret을 확인하십시오.',
    ],
    MountFailed: [
      '에이전트에 필요한 디렉터리가 노드에 없습니다.',
      'Pod의 이벤트를 보고, Node에 레이블 multinic.io/backend를 지정하십시오.',
    ],
    NicMissing: ['NIC가 아직 게스트에 없습니다.', '기다리십시오. 계속되면 Nova에서 연결을 확인하십시오.'],
    PodNotStarting: ['에이전트의 Pod가 노드에서 시작되지 않습니다.', '노드의 kubelet을 확인하십시오.'],
    NodeOutOfResources: ['노드에 에이전트 Pod를 위한 자리가 없습니다.', '노드의 자원을 비우십시오.'],
    NodeNotFound: ['노드가 이 클러스터에 없습니다.', '들어올 때까지 기다리거나 nodeName과 instanceId를 고치십시오.'],
    NodeUnreachable: ['노드에서 소식이 없습니다.', '머신을 확인하십시오. 돌아오면 설정합니다.'],
    OwnedByNodeConfig: owned,
    Paused: [
      '설정이나 그 네임스페이스에 어노테이션 multinic.io/paused가 있습니다.',
      '계속하려면 그 어노테이션을 지우십시오.',
    ],
    PodForbidden: [
      '어드미션이 에이전트의 Pod를 허용하지 않습니다.',
      '컨트롤러의 네임스페이스에 privileged Pod를 허용하십시오.',
    ],
    Released: ['오브젝트가 삭제되었고 인터페이스는 노드에 남겨 두었습니다.', nothing],
    Removing: ['노드에서 인터페이스를 없애고 있습니다.', wait],
    RolloutStopped: [
      '새 spec으로 실패한 노드가 너무 많아 더 바꾸지 않습니다.',
      '실패한 노드를 고치거나 실패 예산을 늘리십시오.',
    ],
    RolloutWaiting: ['지금 다른 노드가 충분히 바뀌고 있습니다.', wait],
    SpecInvalid: ['spec을 쓸 수 없습니다.', named],
    StepFailed: ['클러스터가 컨트롤러의 작업을 거절했습니다.', '메시지를 보십시오. 자동으로 다시 시도합니다.'],
    Superseded: ['이전 generation의 에이전트가 먼저 끝나야 합니다.', wait],
    WrongMachine: ['노드가 spec의 대상과 다른 머신입니다.', otherMachine],
  },
  bizReasons: {
    AllNodesConfigured: ['문서의 모든 노드가 요청한 것을 가지고 있습니다.', nothing],
    NoNodes: ['문서에 노드가 없습니다.', nothing],
    NodesDone: ['모든 노드를 처리했고 기다리는 노드가 없습니다.', nothing],
    NodesFailed: [
      '설정하지 못한 노드가 있습니다. 그 노드만 영향을 받습니다.',
      'nodeStatuses의 항목을 보고 원인을 고치거나 어노테이션 multinic.io/retry를 지정하십시오.',
    ],
    NotOverridden: ['문서의 노드 중 자기 MultiNicNodeConfig를 가진 것이 없습니다.', nothing],
    OwnedByNodeConfig: owned,
    ProcessingNodes: [
      '노드를 설정하고 있거나 노드가 기다리고 있습니다.',
      '기다리십시오. nodeStatuses가 노드마다 알려 줍니다.',
    ],
    ReadOnly: [
      '이전한 뒤 문서는 읽기 전용입니다. 바꾸면 거절되거나 무시됩니다.',
      'MultiNicNodeConfig를 바꾸거나 이전을 되돌리십시오.',
    ],
    Writable: ['문서의 변경이 반영됩니다.', nothing],
  },
  interfaceReasons: {
    AddressConflict: [
      '네트워크의 다른 머신이 이 주소를 쓰고 있습니다.',
      '메시지의 MAC으로 찾거나 포트의 주소를 바꾸십시오.',
    ],
    AddressOutsideCidr: ['주소가 네트워크 안에 없습니다.', 'address 또는 cidr을 고치십시오.'],
    ApiServerPath: ['NIC가 API 서버로 가는 길입니다.', notSecondary],
    BackendUnknown: [
      '이 노드의 네트워크를 관리하는 것을 알 수 없습니다.',
      'Node에 레이블 multinic.io/backend를 지정하십시오.',
    ],
    CommandFailed: ['커널이 변경을 거절하여 되돌렸습니다.', '메시지를 보십시오.'],
    Configured: ['이름, MAC, MTU, 주소, 경로, 규칙, 파일이 요청한 그대로입니다.', nothing],
    DefaultRoute: ['NIC에 기본 경로가 있습니다.', '이 포트를 빼거나 DHCP가 넣은 기본 경로를 지우십시오.'],
    Drifted: ['노드가 설정된 것과 다릅니다.', '메시지의 차이를 보십시오.'],
    LinkHasMaster: ['NIC가 본드나 브리지에 속해 있습니다.', '본드나 브리지에서 빼거나 포트를 빼십시오.'],
    ForeignAddresses: [
      'NIC가 올라와 있고 우리 것이 아닌 주소나 경로가 있습니다.',
      '그것을 지우거나 PREFLIGHT_ALLOW_UP을 지정하십시오.',
    ],
    ForeignFile: [
      '우리 것이 아닌 파일이 이 MAC을 설정하거나 우리 파일의 자리에 있습니다.',
      '메시지에 나온 항목이나 파일을 지우십시오.',
    ],
    HostPathNotMounted: [
      '에이전트에 필요한 호스트 경로가 주어지지 않았습니다.',
      '메시지가 가리키는 경로를 마운트하십시오. 컨트롤러의 Job에는 모두 있습니다.',
    ],
    GatewayUnreachable: [
      'NIC의 게이트웨이나 상대가 응답하지 않습니다. 전에는 응답했거나 응답해야 하므로(NETWORK_PROBE) NIC를 되돌렸습니다.',
      'Neutron에서 포트, 네트워크, 라우터를 확인하거나 NETWORK_PROBE를 reported로 지정하십시오.',
    ],
    InputInvalid: ['에이전트가 입력을 쓸 수 없습니다.', named],
    InSync: ['노드가 설정된 그대로입니다.', nothing],
    LinkDown: ['링크가 올라오지 않습니다.', 'Neutron의 포트와 호스트의 스위치를 확인하십시오.'],
    MtuTooLarge: ['장치가 이 MTU를 허용하지 않습니다.', '네트워크의 MTU를 낮추거나 장치의 한도를 높이십시오.'],
    InterfaceNameInUse: ['우리 것이 아닌 다른 장치가 이 이름을 쓰고 있습니다.', '그 장치의 이름을 바꾸십시오.'],
    NicAmbiguous: ['노드에 이 MAC의 NIC가 여럿입니다.', '포트마다 다른 MAC을 주십시오.'],
    NicMissing: ['이 MAC의 NIC가 아직 게스트에 없습니다.', '기다리십시오. 계속되면 Nova에서 연결을 확인하십시오.'],
    NodeAddress: ['NIC에 노드의 주소가 있습니다.', notSecondary],
    PersistFailed: ['재부팅 뒤에도 남을 파일을 쓰지 못해 NIC를 되돌렸습니다.', '노드의 디스크를 확인하십시오.'],
    Planned: ['시험 실행입니다. 아무것도 바꾸지 않았습니다.', nothing],
    ProbeFailed: [
      '노드가 게이트웨이, API 서버 또는 주소를 잃어 실행 전체를 되돌렸습니다.',
      '메시지와, 네트워크를 바꾼 다른 것이 있는지 보십시오.',
    ],
    Removed: ['인터페이스가 더 이상 필요 없어 없앴습니다.', nothing],
    RulePriorityInUse: [
      '다른 라우팅 규칙이 우리 우선순위를 쓰고 있습니다.',
      'NETWORK_ROUTING_TABLE_BASE 또는 그 규칙을 바꾸십시오.',
    ],
    RoutingTableInUse: [
      '이 인터페이스의 라우팅 테이블에 다른 경로가 있습니다.',
      'NETWORK_ROUTING_TABLE_BASE 또는 그 경로를 바꾸십시오.',
    ],
    RolledBack: ['이전 실행이 중간에 끊겨 변경을 되돌렸습니다.', '할 일이 없습니다. 다시 시도합니다.'],
    VerifyFailed: ['커널의 상태가 요청과 달라 NIC를 되돌렸습니다.', '메시지의 차이를 보십시오.'],
    WrongMachine: ['spec의 대상과 다른 머신입니다.', otherMachine],
  },
}
