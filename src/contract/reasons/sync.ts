/**
 * Reasons in the conditions and Events of an OpenstackConfig.
 */
import { nodeReasons } from './node.ts'
import { nothingToDo, type Reasons } from './reason.ts'

export const syncReasons = {
  ClusterNodesError: {
    class: 'attention',
    en: [
      'vmSelector has clusterNodes, and Viola did not return the Nodes of the cluster. Nothing is removed. New VMs wait.',
      'Read the response in the message. Upgrade a Viola that does not list Nodes, or select VMs by vmNames, namePattern, metadata or tags. If the cluster refused, grant the account of Viola list and watch on nodes.',
    ],
    ko: [
      'vmSelector에 clusterNodes가 있지만 Viola에서 클러스터의 Node를 가져오지 못했습니다. 아무것도 제거하지 않으며 새 VM은 대기합니다.',
      '메시지의 응답을 확인하십시오. Node 목록을 지원하지 않는 Viola는 업그레이드하거나 vmNames, namePattern, metadata, tags로 VM을 선택하십시오. 클러스터가 거부했다면 Viola 계정에 nodes에 대한 list와 watch 권한을 부여하십시오.',
    ],
  },
  ConfigError: {
    class: 'attention',
    en: [
      'The OpenstackConfig, one of its Secrets or the environment of the operator has an invalid value.',
      'Correct the fields that the message names.',
    ],
    ko: [
      'OpenstackConfig, 참조하는 Secret 또는 operator 환경 변수에 잘못된 값이 있습니다.',
      '메시지에 나온 필드를 수정하십시오.',
    ],
  },
  ContrabassError: {
    class: 'warning',
    en: [
      'Contrabass did not return the credentials of the cloud. The operator retries.',
      'Read the response of Contrabass in the message. Check contrabassEndpoint, openstackProviderID and the encryption key.',
    ],
    ko: [
      'Contrabass에서 클라우드 자격 증명을 가져오지 못했습니다. operator가 다시 시도합니다.',
      '메시지에서 Contrabass의 응답을 확인하고 contrabassEndpoint, openstackProviderID, 암호화 키를 점검하십시오.',
    ],
  },
  DeliveryConflict: {
    class: 'attention',
    en: [
      'Another writer owns fields of a node config in the target cluster, or keeps changing it. Viola does not overwrite them. The operator retries.',
      'The message names the node and the field manager. Stop that writer, or delete the node config: the operator delivers it again.',
    ],
    ko: [
      '대상 클러스터의 노드 구성에 있는 필드를 다른 작성자가 소유하거나 계속 변경합니다. Viola는 그 필드를 덮어쓰지 않습니다. operator가 다시 시도합니다.',
      '메시지에 노드와 필드 관리자가 나옵니다. 해당 작성자를 중지하거나 노드 구성을 삭제하십시오. 삭제하면 operator가 다시 전달합니다.',
    ],
  },
  EventBusUnreachable: {
    class: 'warning',
    en: [
      'The operator cannot connect to the message bus of the cloud, or none of its exchanges exists yet. The operator polls at the fast interval and keeps reconnecting.',
      'Check the broker addresses and the network path to the broker, and that Neutron or Nova sends notifications.',
    ],
    ko: [
      '클라우드의 메시지 버스에 연결할 수 없거나 아직 exchange가 없습니다. operator는 짧은 주기로 폴링하면서 다시 연결합니다.',
      '브로커 주소와 브로커까지의 네트워크 경로, 그리고 Neutron이나 Nova가 알림을 보내는지 확인하십시오.',
    ],
  },
  EventBusConnected: {
    class: 'normal',
    en: ['OpenStack notifications start syncs immediately.', nothingToDo.en],
    ko: ['OpenStack 알림을 받으면 바로 동기화합니다.', nothingToDo.ko],
  },
  EventBusConnecting: {
    class: 'progress',
    en: ['The operator is connecting to the message bus of the cloud.', 'Wait a moment.'],
    ko: ['클라우드의 메시지 버스에 연결하는 중입니다.', '잠시 기다리십시오.'],
  },
  EventBusNotConfigured: {
    class: 'normal',
    en: [
      'No message bus is configured for this cloud. The operator finds ports by polling.',
      'Nothing to do. To get events, set a message bus in Contrabass, in spec.secrets.rabbitmqSecretRef or in the settings of the operator.',
    ],
    ko: [
      '이 클라우드에 설정된 메시지 버스가 없습니다. operator는 폴링으로 포트를 찾습니다.',
      '조치할 것이 없습니다. 이벤트를 받으려면 Contrabass, spec.secrets.rabbitmqSecretRef 또는 operator 설정에 메시지 버스를 지정하십시오.',
    ],
  },
  EventBusConfigError: {
    class: 'attention',
    en: [
      'The message bus is misconfigured: the operator cannot decrypt the password, the broker refuses the login, or a setting is invalid. Syncs continue by polling at the fast interval.',
      'Correct the value that the message names: rabbitMQPw in Contrabass, or the Secret of the OpenstackConfig.',
    ],
    ko: [
      '메시지 버스 설정에 문제가 있습니다. 비밀번호를 복호화할 수 없거나, 브로커가 로그인을 거부했거나, 설정값이 잘못되었습니다. 동기화는 짧은 주기의 폴링으로 계속됩니다.',
      '메시지에 나온 값을 수정하십시오. Contrabass의 rabbitMQPw 또는 OpenstackConfig가 참조하는 Secret입니다.',
    ],
  },
  FieldIgnored: {
    class: 'warning',
    en: [
      'The operator ignores a field because it is deprecated or another field takes precedence.',
      'Remove or replace the field that the message names.',
    ],
    ko: [
      '더 이상 사용되지 않거나 다른 필드가 우선하여 무시된 필드가 있습니다.',
      '메시지에 나온 필드를 삭제하거나 바꾸십시오.',
    ],
  },
  Healthy: {
    class: 'normal',
    en: ['The last sync had no errors.', nothingToDo.en],
    ko: ['마지막 동기화에 오류가 없었습니다.', nothingToDo.ko],
  },
  KeystoneError: {
    class: 'warning',
    en: [
      'Keystone did not issue a token. The operator retries.',
      'Check the account, its domain, its role and its project: in Contrabass, or in the clouds.yaml of spec.cloudSecretRef. The message names the fields.',
    ],
    ko: [
      'Keystone이 토큰을 발급하지 않았습니다. operator가 다시 시도합니다.',
      'Contrabass 또는 spec.cloudSecretRef의 clouds.yaml에서 계정, 도메인, 역할, 프로젝트를 확인하십시오. 메시지에 확인할 필드가 나옵니다.',
    ],
  },
  NodesOrphaned: {
    class: 'attention',
    en: [
      'k8sProviderID or violaEndpoint was changed. The nodes of the previous target keep their configuration and are no longer updated.',
      'To remove them, restore the previous values and delete the OpenstackConfig, or delete their MultiNicNodeConfigs in that cluster. Afterwards, or to keep them, set the annotation multinic.io/approve-removals to a new value.',
    ],
    ko: [
      'k8sProviderID 또는 violaEndpoint가 바뀌었습니다. 이전 대상의 노드는 구성을 유지하지만 더 이상 갱신되지 않습니다.',
      '구성을 제거하려면 이전 값으로 되돌린 뒤 OpenstackConfig를 삭제하거나 해당 클러스터에서 MultiNicNodeConfig를 삭제하십시오. 제거한 뒤 또는 구성을 그대로 둘 때는 어노테이션 multinic.io/approve-removals에 새 값을 지정하십시오.',
    ],
  },
  NeutronEndpointError: {
    class: 'attention',
    en: [
      'The Keystone catalog has no Neutron endpoint for this region and interface, or its host is not allowed.',
      'Set openstackEndpointRegion, openstackEndpointInterface or openstackNeutronEndpoint, or region_name and interface in the clouds.yaml. If its host is not allowed, add it to the hosts of the namespace rule, and to ENDPOINT_ALLOWED_HOSTS if that is set.',
    ],
    ko: [
      'Keystone 카탈로그에 이 리전과 인터페이스의 Neutron 엔드포인트가 없거나, 그 호스트가 허용되지 않았습니다.',
      'openstackEndpointRegion, openstackEndpointInterface 또는 openstackNeutronEndpoint를 지정하거나, clouds.yaml의 region_name과 interface를 지정하십시오. 허용되지 않은 호스트라면 네임스페이스 규칙의 hosts에, ENDPOINT_ALLOWED_HOSTS를 설정했다면 그 목록에도 추가하십시오.',
    ],
  },
  NeutronPortError: {
    class: 'warning',
    en: ['Neutron did not return the ports. The operator retries.', 'Read the response in the message.'],
    ko: ['Neutron에서 포트 목록을 가져오지 못했습니다. operator가 다시 시도합니다.', '메시지의 응답을 확인하십시오.'],
  },
  NeutronSubnetError: {
    class: 'warning',
    en: ['Neutron did not return the subnets or networks. The operator retries.', 'Read the response in the message.'],
    ko: [
      'Neutron에서 서브넷이나 네트워크를 가져오지 못했습니다. operator가 다시 시도합니다.',
      '메시지의 응답을 확인하십시오.',
    ],
  },
  NoChange: {
    class: 'normal',
    en: ['The last sync found nothing to change.', nothingToDo.en],
    ko: ['마지막 동기화에서 변경할 것이 없었습니다.', nothingToDo.ko],
  },
  NodesFailed: {
    class: 'attention',
    en: [
      'The configuration of at least one node failed.',
      'Read the status of the node: its MultiNicNodeConfig, its entry in nodeStatuses, or the inventory. Correct the cause, or set the annotation multinic.io/retry.',
    ],
    ko: [
      '하나 이상의 노드에서 구성에 실패했습니다.',
      '해당 노드의 상태를 MultiNicNodeConfig, nodeStatuses 항목 또는 인벤토리에서 확인하십시오. 원인을 해결하거나 어노테이션 multinic.io/retry를 지정하십시오.',
    ],
  },
  NodesPending: {
    class: 'progress',
    en: [
      'At least one node is not configured yet.',
      'Wait. If it takes longer than a few minutes, read the status of the MultiNicNodeConfigs.',
    ],
    ko: [
      '아직 구성 중인 노드가 있습니다.',
      '기다리십시오. 몇 분이 지나도 그대로이면 MultiNicNodeConfig의 상태를 확인하십시오.',
    ],
  },
  NovaError: {
    class: 'warning',
    en: [
      'Nova did not return the names of the VMs. The operator retries. Nodes that it already knows keep their names.',
      'Read the response in the message.',
    ],
    ko: [
      'Nova에서 VM 이름을 가져오지 못했습니다. operator가 다시 시도하며, 이미 알고 있는 노드의 이름은 유지됩니다.',
      '메시지의 응답을 확인하십시오.',
    ],
  },
  ProviderUnknown: {
    class: 'attention',
    en: [
      'Viola knows no cluster with the provider ID of the OpenstackConfig. Nothing is delivered or removed.',
      'Set spec.credentials.k8sProviderID to a cluster that the message names, or add the cluster to the routing of Viola.',
    ],
    ko: [
      'OpenstackConfig의 프로바이더 ID에 해당하는 클러스터가 Viola에 없습니다. 아무것도 전달하거나 제거하지 않습니다.',
      'spec.credentials.k8sProviderID를 메시지에 나온 클러스터로 지정하거나, Viola의 라우팅에 클러스터를 추가하십시오.',
    ],
  },
  RemovalHeld: {
    class: 'attention',
    en: [
      'Many ports disappeared at once, the name of a VM or a subnet now means another one, or a Node was deleted. Nobody edited the OpenstackConfig. The operator put the removals on hold and removed nothing.',
      'Check the cloud. To approve the removals, run the command in the message.',
    ],
    ko: [
      'OpenstackConfig를 편집하지 않았는데 많은 포트가 한꺼번에 사라졌거나, VM이나 서브넷의 이름이 다른 대상을 가리키거나, VM의 Node가 삭제되었습니다. 제거를 보류했으며 아무것도 제거하지 않았습니다.',
      '클라우드를 확인하십시오. 제거를 승인하려면 메시지에 있는 명령을 실행하십시오.',
    ],
  },
  InterfacesRetained: nodeReasons.InterfacesRetained,
  RemovalPending: {
    class: 'warning',
    en: [
      'Viola or the inventory did not accept a removal. The operator retries. An OpenstackConfig that is being deleted waits up to 15 minutes.',
      'Correct what the message names. The message also has the command that deletes the OpenstackConfig now and keeps its interfaces.',
    ],
    ko: [
      'Viola나 인벤토리가 제거 요청을 받아들이지 않았습니다. operator가 다시 시도합니다. 삭제 중인 OpenstackConfig는 최대 15분 동안 기다립니다.',
      '메시지에 나온 원인을 해결하십시오. 지금 OpenstackConfig를 삭제하고 인터페이스를 남기는 명령도 메시지에 있습니다.',
    ],
  },
  Renumbered: {
    class: 'normal',
    en: ['The requested interfaces have the indexes of their subnets.', nothingToDo.en],
    ko: ['요청한 인터페이스가 서브넷의 번호를 갖게 되었습니다.', nothingToDo.ko],
  },
  RenumberInProgress: {
    class: 'progress',
    en: [
      'The operator gives interfaces the indexes of their subnets, one interface of one node at a time.',
      'Wait. multinic renumber --cancel starts no further move.',
    ],
    ko: [
      'operator가 인터페이스에 서브넷의 번호를 지정하고 있습니다. 한 번에 한 노드의 인터페이스 하나만 바꿉니다.',
      '기다리십시오. multinic renumber --cancel을 실행하면 다음 변경을 시작하지 않습니다.',
    ],
  },
  RenumberStopped: {
    class: 'attention',
    en: [
      'An interface could not get the index of its subnet. The operator rolled the move back and started no other.',
      'Correct what the message names and run multinic renumber --apply again, or clear the request with multinic renumber --cancel.',
    ],
    ko: [
      '인터페이스에 서브넷의 번호를 지정하지 못했습니다. operator가 변경을 되돌렸고 다른 변경은 시작하지 않았습니다.',
      '메시지에 나온 원인을 해결하고 multinic renumber --apply를 다시 실행하거나, multinic renumber --cancel로 요청을 취소하십시오.',
    ],
  },
  SubnetNotFound: {
    class: 'attention',
    en: ['The project has no subnet with this name or ID.', 'Correct subnets, subnetIDs, subnetID or subnetName.'],
    ko: [
      '프로젝트에 이 이름 또는 ID의 서브넷이 없습니다.',
      'subnets, subnetIDs, subnetID 또는 subnetName을 수정하십시오.',
    ],
  },
  SubnetNotUnique: {
    class: 'attention',
    en: ['Several subnets have this name.', 'Select the subnet by its ID.'],
    ko: ['같은 이름의 서브넷이 여러 개 있습니다.', '서브넷을 ID로 지정하십시오.'],
  },
  SubnetRequired: {
    class: 'attention',
    en: ['The OpenstackConfig selects no subnet.', 'Set subnets, subnetIDs, subnetID or subnetName.'],
    ko: [
      'OpenstackConfig에 서브넷이 지정되지 않았습니다.',
      'subnets, subnetIDs, subnetID 또는 subnetName을 지정하십시오.',
    ],
  },
  Synced: {
    class: 'normal',
    en: ['The last sync delivered changes.', nothingToDo.en],
    ko: ['마지막 동기화에서 변경 사항을 전달했습니다.', nothingToDo.ko],
  },
  SyncTimeout: {
    class: 'warning',
    en: [
      'A sync took longer than five minutes and was stopped. What it delivered by then is kept. The operator retries.',
      'The message names the request that did not end. Check how fast that service answers.',
    ],
    ko: [
      '동기화가 5분을 넘어 중단되었습니다. 그때까지 전달한 내용은 유지되며 operator가 다시 시도합니다.',
      '끝나지 않은 요청이 메시지에 나옵니다. 해당 서비스의 응답 속도를 확인하십시오.',
    ],
  },
  UnexpectedError: {
    class: 'attention',
    en: [
      'A sync failed with an error that the operator does not know. Nothing is removed. The operator retries.',
      'Read the message and the log of the operator. If it stays, write a support bundle (multinic support-bundle) and report it.',
    ],
    ko: [
      '동기화가 operator가 알지 못하는 오류로 실패했습니다. 아무것도 제거하지 않으며 operator가 다시 시도합니다.',
      '메시지와 operator의 로그를 확인하십시오. 계속되면 지원 번들(multinic support-bundle)을 만들어 보고하십시오.',
    ],
  },
  ViolaError: {
    class: 'warning',
    en: [
      'Viola did not answer, or refused to say what is delivered. Nothing is delivered or removed. The operator retries.',
      'Read the response of Viola in the message. Check violaEndpoint, its token and the target cluster.',
    ],
    ko: [
      'Viola가 응답하지 않았거나 전달된 내용의 조회를 거부했습니다. 아무것도 전달하거나 제거하지 않으며 operator가 다시 시도합니다.',
      '메시지에서 Viola의 응답을 확인하고 violaEndpoint, 토큰, 대상 클러스터를 점검하십시오.',
    ],
  },
  ViolaPostError: {
    class: 'warning',
    en: [
      'Viola did not accept the node configs. The operator retries.',
      'Read the response of Viola in the message. Check violaEndpoint, the provider ID and the target cluster.',
    ],
    ko: [
      'Viola가 노드 구성을 받아들이지 않았습니다. operator가 다시 시도합니다.',
      '메시지에서 Viola의 응답을 확인하고 violaEndpoint, 프로바이더 ID, 대상 클러스터를 점검하십시오.',
    ],
  },
} as const satisfies Reasons
