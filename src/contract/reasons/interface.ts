/**
 * Reasons that the agent reports for one interface or for the whole run.
 */
import { nodeReasons } from './node.ts'
import { nothingToDo, type RunReasons } from './reason.ts'

export const interfaceReasons = {
  AddressConflict: {
    class: 'attention',
    refusal: false,
    en: [
      'Another machine uses the address, or the node needs it elsewhere: as a next hop, DNS server, Node or Service address.',
      'Find what the message names, or change the address of the port. A machine is named by its MAC address.',
    ],
    ko: [
      '다른 머신이 이 주소를 사용하거나, 노드가 이 주소를 다음 홉, DNS 서버, 다른 Node 또는 Service의 주소로 사용하고 있습니다.',
      '메시지에 나온 대상을 확인하거나 포트의 주소를 변경하십시오. 머신은 MAC 주소로 표시됩니다.',
    ],
  },
  AddressOutsideCidr: {
    class: 'attention',
    refusal: true,
    en: ['The address is outside its CIDR.', 'Correct address or cidr.'],
    ko: ['주소가 CIDR 범위를 벗어났습니다.', 'address 또는 cidr을 수정하십시오.'],
  },
  CarriesApiServerRoute: {
    class: 'attention',
    refusal: true,
    en: ['The NIC carries the route to the API server.', 'Exclude this port: it is not a secondary NIC.'],
    ko: ['API 서버로 가는 경로가 이 NIC를 사용합니다.', '이 포트를 대상에서 제외하십시오. 보조 NIC가 아닙니다.'],
  },
  BackendUnknown: {
    class: 'attention',
    refusal: true,
    en: [
      'The agent does not recognize the network backend of this node.',
      'Set the label multinic.io/backend on the Node.',
    ],
    ko: ['이 노드의 네트워크 백엔드를 알 수 없습니다.', 'Node에 레이블 multinic.io/backend를 지정하십시오.'],
  },
  CommandFailed: {
    class: 'attention',
    refusal: false,
    en: ['The kernel rejected a change. The agent rolled the interface back.', 'Read the message.'],
    ko: ['커널이 변경을 거부하여 인터페이스를 롤백했습니다.', '메시지를 확인하십시오.'],
  },
  Configured: {
    class: 'normal',
    en: ['Name, MAC address, MTU, addresses, routes, rules and files are as requested.', nothingToDo.en],
    ko: ['이름, MAC 주소, MTU, IP 주소, 라우트, 규칙, 파일이 요청한 대로 구성되었습니다.', nothingToDo.ko],
  },
  ConfiguredByOlderAgent: nodeReasons.ConfiguredByOlderAgent,
  CarriesDefaultRoute: {
    class: 'attention',
    refusal: true,
    en: [
      'The NIC carries a default route that the node may use.',
      'Exclude this port if it is the primary port. Otherwise remove the route, or give the default route of the primary NIC a lower metric.',
    ],
    ko: [
      'NIC에 노드가 사용할 수 있는 기본 라우트가 있습니다.',
      '기본 포트이면 이 포트를 대상에서 제외하십시오. 아니면 이 라우트를 삭제하거나 기본 NIC의 기본 라우트에 더 낮은 메트릭을 지정하십시오.',
    ],
  },
  DhcpClientActive: {
    class: 'attention',
    refusal: true,
    en: [
      'A DHCP client that MultiNIC cannot stop configures the NIC.',
      'Stop the client that the message names for this NIC, or exclude the port.',
    ],
    ko: [
      'MultiNIC이 중지할 수 없는 DHCP 클라이언트가 이 NIC를 구성하고 있습니다.',
      '메시지에 나온 클라이언트를 이 NIC에서 중지하거나 이 포트를 대상에서 제외하십시오.',
    ],
  },
  Drifted: {
    class: 'attention',
    refusal: false,
    en: ['The node differs from its configuration.', 'Read the differences in the message.'],
    ko: ['드리프트: 노드의 관측값이 설정값과 다릅니다.', '메시지에서 차이를 확인하십시오.'],
  },
  LinkHasMaster: {
    class: 'attention',
    refusal: true,
    en: ['The NIC is a member of a bond, bridge or VRF.', 'Remove it from its master, or exclude the port.'],
    ko: ['NIC가 본드, 브리지 또는 VRF의 멤버입니다.', '본드, 브리지 또는 VRF에서 빼거나 포트를 대상에서 제외하십시오.'],
  },
  ForeignAddresses: {
    class: 'attention',
    refusal: true,
    en: [
      'The NIC is up and has addresses or routes that MultiNIC did not configure.',
      'Remove them, or set PREFLIGHT_ALLOW_UP.',
    ],
    ko: [
      'NIC가 up 상태이고 MultiNIC이 구성하지 않은 주소나 라우트가 있습니다.',
      '해당 주소와 라우트를 삭제하거나 PREFLIGHT_ALLOW_UP을 설정하십시오.',
    ],
  },
  ForeignFile: {
    class: 'attention',
    refusal: true,
    en: [
      'A file that MultiNIC did not write would configure this NIC at the next boot, or has the name of a MultiNIC file.',
      'Remove the file that the message names, or rename it so that it sorts after the MultiNIC file.',
    ],
    ko: [
      'MultiNIC이 작성하지 않은 파일이 다음 부팅 때 이 NIC를 구성하거나 MultiNIC 파일과 이름이 같습니다.',
      '메시지에 나온 파일을 삭제하거나 MultiNIC 파일보다 뒤에 정렬되도록 이름을 바꾸십시오.',
    ],
  },
  IPv6Disabled: {
    class: 'attention',
    refusal: true,
    en: [
      'The interface has an IPv6 address, but the kernel of the node has no IPv6.',
      'Boot the node without ipv6.disable=1, or exclude the IPv6 subnet of the port.',
    ],
    ko: [
      '인터페이스에 IPv6 주소가 있지만 노드의 커널에 IPv6가 없습니다.',
      'ipv6.disable=1 없이 노드를 부팅하거나 포트의 IPv6 서브넷을 대상에서 제외하십시오.',
    ],
  },
  PolicyRoutingUnavailable: {
    class: 'attention',
    refusal: false,
    en: [
      'The kernel of the node has no policy routing, so it cannot keep the routes of the NIC apart from those of the node.',
      'Boot a kernel that has the option in the message, or set NETWORK_POLICY_ROUTING_ENABLED to false.',
    ],
    ko: [
      '노드의 커널에 정책 라우팅이 없어 NIC의 라우트를 노드의 라우트와 분리할 수 없습니다.',
      '메시지에 나온 옵션이 있는 커널로 부팅하거나 NETWORK_POLICY_ROUTING_ENABLED를 false로 설정하십시오.',
    ],
  },
  HostPathNotMounted: {
    class: 'attention',
    refusal: true,
    en: [
      'A host path that the agent needs is not mounted.',
      'Mount the path that the message names. The Jobs of the controller mount all of them.',
    ],
    ko: [
      'agent에 필요한 호스트 경로가 마운트되지 않았습니다.',
      '메시지에 나온 경로를 마운트하십시오. controller가 만드는 Job에는 모두 마운트되어 있습니다.',
    ],
  },
  GatewayUnreachable: {
    class: 'attention',
    refusal: false,
    en: [
      'The gateway or peer of the NIC does not answer, although it answered before or NETWORK_PROBE requires it. The agent rolled the interface back.',
      'Check the port, its network and its router in Neutron, or set NETWORK_PROBE to reported.',
    ],
    ko: [
      'NIC의 게이트웨이나 피어가 응답하지 않습니다. 이전에는 응답했거나 NETWORK_PROBE에 필수로 지정되어 있어 인터페이스를 롤백했습니다.',
      'Neutron에서 포트, 네트워크, 라우터를 확인하거나 NETWORK_PROBE를 reported로 설정하십시오.',
    ],
  },
  InputInvalid: {
    class: 'attention',
    refusal: true,
    en: ['The input of the agent is invalid.', 'Correct the fields that the message names.'],
    ko: ['agent의 입력이 잘못되었습니다.', '메시지에 나온 필드를 수정하십시오.'],
  },
  InSync: {
    class: 'normal',
    en: ['The node matches its configuration.', nothingToDo.en],
    ko: ['노드의 관측값이 설정값과 일치합니다.', nothingToDo.ko],
  },
  LinkDown: {
    class: 'attention',
    refusal: false,
    en: ['The link does not come up.', 'Check the port in Neutron and the virtual switch of the hypervisor.'],
    ko: ['링크가 up 상태가 되지 않습니다.', 'Neutron의 포트와 하이퍼바이저의 가상 스위치를 확인하십시오.'],
  },
  LinkHasUpperDevices: {
    class: 'attention',
    refusal: true,
    en: [
      'Other devices, such as a VLAN or a macvlan, are stacked on the NIC.',
      'Remove the devices that the message names, or leave the NIC to its owner.',
    ],
    ko: [
      'VLAN, macvlan 등 다른 장치가 이 NIC 위에 구성되어 있습니다.',
      '메시지에 나온 장치를 제거하거나 NIC을 소유자에게 맡겨 두십시오.',
    ],
  },
  RollbackIncomplete: {
    class: 'attention',
    refusal: false,
    en: [
      'The agent could not roll back everything, or the node still lacks a route or an address that it had before.',
      'Restore by hand what the message names, then check the node with the agent again.',
    ],
    ko: [
      '일부 변경을 롤백하지 못했거나, 노드에 있던 경로 또는 주소가 아직 복구되지 않았습니다.',
      '메시지에 나온 항목을 직접 복구한 후 agent로 노드를 다시 점검하십시오.',
    ],
  },
  MtuTooLarge: {
    class: 'attention',
    refusal: true,
    en: ['The device does not support this MTU.', 'Lower the MTU of the network, or raise the limit of the device.'],
    ko: ['장치가 이 MTU를 지원하지 않습니다.', '네트워크의 MTU를 낮추거나 장치의 한도를 높이십시오.'],
  },
  InterfaceNameInUse: {
    class: 'attention',
    refusal: true,
    en: ['A device that MultiNIC does not manage has this name.', 'Rename that device.'],
    ko: ['MultiNIC이 관리하지 않는 장치가 이 이름을 사용하고 있습니다.', '해당 장치의 이름을 변경하십시오.'],
  },
  NicAmbiguous: {
    class: 'attention',
    refusal: true,
    en: ['Several NICs of the node have this MAC address.', 'Give each port its own MAC address.'],
    ko: ['노드에 이 MAC 주소의 NIC가 여러 개 있습니다.', '포트마다 서로 다른 MAC 주소를 지정하십시오.'],
  },
  NicMissing: nodeReasons.NicMissing,
  HasNodeAddress: {
    class: 'attention',
    refusal: true,
    en: [
      'The NIC has the address of the node.',
      'Exclude this port if it is the primary port. Otherwise set internal-network-name of the OpenStack cloud provider or --node-ip of the kubelet.',
    ],
    ko: [
      'NIC에 노드의 주소가 있습니다.',
      '기본 포트이면 이 포트를 대상에서 제외하십시오. 아니면 OpenStack 클라우드 공급자의 internal-network-name이나 kubelet의 --node-ip를 지정하십시오.',
    ],
  },
  PersistFailed: {
    class: 'attention',
    refusal: false,
    en: [
      'The agent could not write the files that restore the interface after a reboot. It rolled the interface back.',
      'Check the disk of the node.',
    ],
    ko: ['재부팅 후 인터페이스를 복원할 파일을 쓰지 못해 인터페이스를 롤백했습니다.', '노드의 디스크를 확인하십시오.'],
  },
  Planned: {
    class: 'normal',
    en: ['Dry run: the agent changed nothing.', nothingToDo.en],
    ko: ['드라이런이므로 아무것도 변경하지 않았습니다.', nothingToDo.ko],
  },
  ProbeFailed: {
    class: 'attention',
    refusal: false,
    en: [
      'The node lost its gateway, the API server or its address. The agent rolled back the whole run.',
      'Read the message. Check what else changed the network of the node.',
    ],
    ko: [
      '노드가 게이트웨이, API 서버 또는 노드 주소를 잃어 실행 전체를 롤백했습니다.',
      '메시지를 확인하고, 노드의 네트워크를 변경한 다른 원인이 있는지 점검하십시오.',
    ],
  },
  Removed: {
    class: 'normal',
    en: ['The interface is no longer requested. The agent removed it.', nothingToDo.en],
    ko: ['더 이상 요청되지 않는 인터페이스를 제거했습니다.', nothingToDo.ko],
  },
  RouteInvalid: {
    class: 'attention',
    refusal: true,
    en: [
      'A requested route cannot be set on this NIC.',
      'Correct the routes or the gateway of the port or subnet that the message names.',
    ],
    ko: [
      '요청한 라우트를 이 NIC에 설정할 수 없습니다.',
      '메시지에 표시된 포트 또는 서브넷의 라우트나 게이트웨이를 수정하십시오.',
    ],
  },
  RoutingTableInUse: {
    class: 'attention',
    refusal: true,
    en: [
      'The routing table of this interface contains routes that MultiNIC does not manage.',
      'Change NETWORK_ROUTING_TABLE_BASE or those routes.',
    ],
    ko: [
      '이 인터페이스의 라우팅 테이블에 MultiNIC이 관리하지 않는 라우트가 있습니다.',
      'NETWORK_ROUTING_TABLE_BASE 또는 해당 라우트를 변경하십시오.',
    ],
  },
  StateUnreadable: {
    class: 'attention',
    refusal: true,
    en: [
      'The agent cannot read a part of its record or journal on the node, for example because a newer agent wrote it. It keeps the file and changes nothing of the NIC.',
      'Use the version of the agent that wrote the file. If the file is damaged, remove it on the node (rm and the path in the message) and set the annotation multinic.io/retry: the next run configures the NIC like a new one.',
    ],
    ko: [
      '노드에 있는 MultiNIC의 기록 또는 저널에 이 agent가 읽을 수 없는 부분이 있습니다. 예를 들어 더 새로운 버전의 agent가 작성한 경우입니다. agent는 이 NIC를 변경하지 않고 파일을 그대로 둡니다.',
      '파일을 작성한 버전의 agent를 사용하십시오. 파일이 손상되었으면 노드에서 삭제하고(rm과 메시지에 나온 경로) 어노테이션 multinic.io/retry를 지정하십시오. 다음 실행에서 새 NIC처럼 구성합니다.',
    ],
  },
  VerifyFailed: {
    class: 'attention',
    refusal: false,
    en: [
      'The kernel does not show the interface as requested. The agent rolled it back.',
      'Read the differences in the message.',
    ],
    ko: ['커널의 관측값이 요청과 달라 인터페이스를 롤백했습니다.', '메시지에서 차이를 확인하십시오.'],
  },
  WrongMachine: nodeReasons.WrongMachine,
} as const satisfies RunReasons
