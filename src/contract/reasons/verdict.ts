/**
 * Reasons of the operator's verdicts on ports and VMs.
 */
import { nothingToDo, type Reasons } from './reason.ts'
import { syncReasons } from './sync.ts'

export const verdictReasons = {
  Selected: {
    class: 'normal',
    en: ['The port is an interface of its node.', nothingToDo.en],
    ko: ['포트가 노드의 인터페이스로 선택되었습니다.', nothingToDo.ko],
  },
  SelectedByOther: {
    class: 'normal',
    en: ['Another OpenstackConfig has delivered the port, and keeps it.', nothingToDo.en],
    ko: ['다른 OpenstackConfig가 전달해 계속 관리하는 포트입니다.', nothingToDo.ko],
  },
  PrimaryPort: {
    class: 'normal',
    en: [
      'The port has the address of the node, or the agent refused it as the primary port. MultiNIC does not manage it.',
      nothingToDo.en,
    ],
    ko: [
      '노드의 주소가 있거나 agent가 기본 포트로 판단해 거부한 포트입니다. MultiNIC은 이 포트를 관리하지 않습니다.',
      nothingToDo.ko,
    ],
  },
  AddressNotUnique: {
    class: 'attention',
    en: [
      'Another interface of the VM has the same address. The delivered one stays, else that of the older port.',
      'Give one of the two ports another address in Neutron.',
    ],
    ko: [
      'VM의 다른 인터페이스에 같은 주소가 있습니다. 이미 전달한 인터페이스를 유지하고, 둘 다 새 포트이면 먼저 생성된 포트를 전달합니다.',
      'Neutron에서 두 포트 중 하나의 주소를 바꾸십시오.',
    ],
  },
  PortTooOld: {
    class: 'warning',
    en: [
      'The port was created before the baseline, so the operator ignores it.',
      'Set openstackPortBaseline to none or to an earlier time.',
    ],
    ko: [
      '기준 시각 이전에 생성된 포트이므로 무시합니다.',
      'openstackPortBaseline을 none 또는 더 이른 시각으로 지정하십시오.',
    ],
  },
  DeviceOwnerNotAllowed: {
    class: 'warning',
    en: [
      'The device_owner of the port matches no entry of openstackPortOwners.',
      'Attach the port with Nova, or add its device_owner to openstackPortOwners.',
    ],
    ko: [
      '포트의 device_owner가 openstackPortOwners의 어느 항목과도 일치하지 않습니다.',
      'Nova로 포트를 연결하거나 openstackPortOwners에 해당 device_owner를 추가하십시오.',
    ],
  },
  IndexConflict: {
    class: 'attention',
    en: [
      'The port has addresses in several subnets, and spec.subnets gives them different indexes. It is not delivered.',
      'Give these subnets the same index, or remove an address from the port.',
    ],
    ko: [
      '포트에 여러 서브넷의 주소가 있는데 spec.subnets에서 이 서브넷들의 index가 서로 다릅니다. 포트를 전달하지 않습니다.',
      '이 서브넷들에 같은 index를 지정하거나 포트에서 주소를 하나 제거하십시오.',
    ],
  },
  IndexInUse: {
    class: 'attention',
    en: [
      'spec.subnets gives the subnet of the port an index that another port of the node already has. A port keeps its index, so this port is not delivered.',
      'Detach the other port, or choose an index that is free on every node.',
    ],
    ko: [
      'spec.subnets에서 포트의 서브넷에 지정한 index를 노드의 다른 포트가 이미 쓰고 있습니다. 포트의 번호는 바뀌지 않으므로 이 포트를 전달하지 않습니다.',
      '다른 포트를 분리하거나 모든 노드에서 비어 있는 index를 지정하십시오.',
    ],
  },
  LimitReached: {
    class: 'attention',
    en: [
      'The node already has ten interfaces (index 0 to 9), or the indexes that are left belong to other subnets of spec.subnets.',
      'Detach a port that is no longer needed.',
    ],
    ko: [
      '노드에 이미 최대 개수인 10개의 인터페이스(번호 0~9)가 있거나, 남은 번호가 spec.subnets의 다른 서브넷에 지정되어 있습니다.',
      '필요 없는 포트를 분리하십시오.',
    ],
  },
  MacNotUnique: {
    class: 'attention',
    en: [
      'Another interface of the VM has the same MAC address. The delivered one stays, else that of the older port.',
      'Detach one of the two ports, or give it another MAC address in Neutron.',
    ],
    ko: [
      'VM의 다른 인터페이스에 같은 MAC 주소가 있습니다. 이미 전달한 인터페이스를 유지하고, 둘 다 새 포트이면 먼저 생성된 포트를 전달합니다.',
      '두 포트 중 하나를 분리하거나 Neutron에서 MAC 주소를 바꾸십시오.',
    ],
  },
  VmNameChanged: {
    class: 'warning',
    en: [
      'The server was renamed. Its node keeps the name under which it was delivered.',
      'Nothing to do. To move the node to the new name, delete its MultiNicNodeConfig.',
    ],
    ko: [
      '서버 이름이 바뀌었습니다. 노드는 처음 전달된 이름을 유지합니다.',
      '조치할 것이 없습니다. 새 이름으로 옮기려면 해당 MultiNicNodeConfig를 삭제하십시오.',
    ],
  },
  VmNameInvalid: {
    class: 'attention',
    en: [
      'The name of the VM cannot be the name of a node: it has control or invisible characters, or is a relative path.',
      'Rename the VM, or set the server metadata key that holds the node name.',
    ],
    ko: [
      'VM 이름을 노드 이름으로 쓸 수 없습니다. 제어 문자나 보이지 않는 문자가 있거나 상대 경로입니다.',
      'VM의 이름을 바꾸거나, 노드 이름을 담는 서버 메타데이터 키를 지정하십시오.',
    ],
  },
  VmNameNotUnique: {
    class: 'attention',
    en: [
      'Two VMs have the same node name.',
      'Rename one of the VMs, or set the server metadata key that holds the node name.',
    ],
    ko: [
      '두 VM의 노드 이름이 같습니다.',
      'VM 하나의 이름을 바꾸거나, 노드 이름을 담는 서버 메타데이터 키를 지정하십시오.',
    ],
  },
  VmNameUnknown: {
    class: 'warning',
    en: ['Nova has not returned the name of the VM yet. The operator asks again.', 'Wait.'],
    ko: ['Nova가 아직 VM 이름을 반환하지 않았습니다. operator가 다시 조회합니다.', '기다리십시오.'],
  },
  NodeNotIdentified: {
    class: 'warning',
    en: [
      'The SystemUUID that the Node reports is not a UUID, so clusterNodes cannot find its VM.',
      'Add the VM to vmNames, or let the firmware of the VM report the server ID (kubectl describe node shows System UUID).',
    ],
    ko: [
      'Node가 보고한 SystemUUID가 UUID가 아니므로 clusterNodes로 VM을 찾을 수 없습니다.',
      'VM을 vmNames에 추가하거나, VM 펌웨어가 서버 ID를 보고하게 하십시오. kubectl describe node의 System UUID에서 확인할 수 있습니다.',
    ],
  },
  NodeNotSelected: {
    class: 'normal',
    en: [
      'No server of the project that meets the conditions of vmSelector is the machine of the Node. MultiNIC does not manage it.',
      nothingToDo.en,
    ],
    ko: [
      '프로젝트에서 vmSelector의 조건을 만족하는 서버 중에 이 Node의 머신이 없습니다. MultiNIC은 이 Node를 관리하지 않습니다.',
      nothingToDo.ko,
    ],
  },
  NotSelected: {
    class: 'normal',
    en: ['The port has no address in a selected subnet. MultiNIC does not manage it.', nothingToDo.en],
    ko: ['선택한 서브넷의 주소가 포트에 없습니다. MultiNIC은 이 포트를 관리하지 않습니다.', nothingToDo.ko],
  },
  PortInvalid: {
    class: 'attention',
    en: [
      'The port, its subnet or its network has a value that no interface can have. A delivered interface stays as it is.',
      'Correct the value that the message names in Neutron.',
    ],
    ko: [
      '포트, 서브넷 또는 네트워크에 인터페이스로 쓸 수 없는 값이 있습니다. 이미 전달한 인터페이스는 그대로 둡니다.',
      '메시지에 나온 값을 Neutron에서 고치십시오.',
    ],
  },
  PortNotBound: {
    class: 'progress',
    en: ['The port is not bound to the VM yet. The operator checks again soon.', 'Wait.'],
    ko: ['포트가 아직 VM에 바인딩되지 않았습니다. operator가 곧 다시 확인합니다.', '기다리십시오.'],
  },
  NetworkMismatch: {
    class: 'warning',
    en: [
      'The selected subnet belongs to a different network than the port.',
      'Check the port and the subnet in Neutron.',
    ],
    ko: ['선택한 서브넷이 포트와 다른 네트워크에 속합니다.', 'Neutron에서 포트와 서브넷을 확인하십시오.'],
  },
  RemovalPending: syncReasons.RemovalPending,
  RemovalUnconfirmed: {
    class: 'warning',
    en: [
      'Neutron answered that the port lost its VM or its address. One answer may be incomplete or old. The interface stays until Nova, a notification or a second read after five seconds confirms it.',
      'Wait. If it stays, compare openstack port show with openstack server show.',
    ],
    ko: [
      'Neutron의 응답에 포트의 VM 연결이나 주소가 없습니다. 응답 하나는 불완전하거나 오래된 것일 수 있습니다. Nova나 알림, 또는 5초 뒤의 두 번째 조회로 확인될 때까지 인터페이스를 유지합니다.',
      '기다리십시오. 계속되면 openstack port show와 openstack server show의 결과를 비교하십시오.',
    ],
  },
  SubnetNameReused: {
    class: 'attention',
    en: [
      'A subnet name in the OpenstackConfig now means another subnet than the one of the interface. Nobody edited the object, so the removal of the interface is on hold.',
      'Check the names of the subnets in Neutron, or select the subnet by its ID. To approve the removal, run the command in the condition RemovalHeld.',
    ],
    ko: [
      'OpenstackConfig의 서브넷 이름이 인터페이스의 서브넷과 다른 서브넷을 가리킵니다. 객체를 편집하지 않았으므로 인터페이스 제거를 보류했습니다.',
      'Neutron에서 서브넷 이름을 확인하거나 서브넷을 ID로 지정하십시오. 제거를 승인하려면 RemovalHeld 조건에 있는 명령을 실행하십시오.',
    ],
  },
  VmNotSelected: {
    class: 'warning',
    en: [
      'The port belongs to a VM that the OpenstackConfig does not select.',
      'Add the VM to vmNames, or change vmSelector.',
    ],
    ko: ['OpenstackConfig가 선택하지 않은 VM의 포트입니다.', 'VM을 vmNames에 추가하거나 vmSelector를 바꾸십시오.'],
  },
  PortStatusNotAllowed: {
    class: 'warning',
    en: [
      'openstackPortAllowedStatuses does not contain the status of the port.',
      'Wait until the status changes, or extend openstackPortAllowedStatuses.',
    ],
    ko: [
      '포트의 상태가 openstackPortAllowedStatuses에 없습니다.',
      '상태가 바뀔 때까지 기다리거나 openstackPortAllowedStatuses에 추가하십시오.',
    ],
  },
  VmNotFound: {
    class: 'attention',
    en: [
      'Nova does not find this VM. A token of the wrong project finds no VM either. So the operator removes its interfaces only if Nova has a record of the deletion or returns another VM of the OpenstackConfig.',
      'Check the project of the credentials. If the VM is gone, remove it from vmNames: the operator then removes its interfaces.',
    ],
    ko: [
      'Nova에서 이 VM을 찾을 수 없습니다. 프로젝트가 잘못된 토큰으로는 VM이 조회되지 않을 수 있으므로, Nova에 삭제 기록이 있거나 OpenstackConfig의 다른 VM이 조회될 때만 인터페이스를 제거합니다.',
      '자격 증명의 프로젝트를 확인하십시오. VM이 삭제되었다면 vmNames에서 빼십시오. 그러면 인터페이스도 제거됩니다.',
    ],
  },
  VmNotUnique: {
    class: 'attention',
    en: ['Several servers have this name.', 'Select the server by its ID in vmNames.'],
    ko: ['같은 이름의 서버가 여러 개 있습니다.', 'vmNames에 서버를 ID로 지정하십시오.'],
  },
} as const satisfies Reasons
