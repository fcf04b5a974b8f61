/** Attacks by tenants and by answers of a cloud. */
import type { AttackSection } from './section.ts'

const evidence = 'src/operator/test/removal-evidence.test.ts'
const access = 'src/operator/clouds/cloud-access.test.ts'
const tenants = 'test/attacks/tenants.test.ts'

export const cloudAttacks: readonly AttackSection[] = [
  {
    title: { en: 'Clouds that an object names', ko: '오브젝트가 지정하는 클라우드' },
    attacks: [
      {
        about: {
          en: 'A URL of a host that is not allowed in every field of a clouds.yaml, catalog answers included',
          ko: 'clouds.yaml의 모든 필드와 카탈로그 응답에 허용하지 않은 호스트의 URL 넣기',
        },
        failed: {
          en: 'requests with the token reached any host by `network_endpoint_override` and `compute_endpoint_override`',
          ko: '`network_endpoint_override`와 `compute_endpoint_override`로 토큰이 든 요청이 아무 호스트에나 도달했습니다',
        },
        file: access,
        test: 'no value of a clouds.yaml leads to a host that is not allowed',
      },
      {
        about: {
          en: 'A redirect, or a page link, to another host',
          ko: '다른 호스트로 가는 리디렉션이나 페이지 링크',
        },
        file: access,
        test: 'neither a redirect nor a page link leads a cloud to another host',
      },
      {
        about: {
          en: 'Find open ports by the errors in the status',
          ko: '상태에 나오는 오류로 열린 포트 찾기',
        },
        failed: {
          en: 'the status told ECONNREFUSED from `HTTP 404` and `invalid fields`',
          ko: '상태가 ECONNREFUSED를 `HTTP 404`, `invalid fields`와 구별했습니다',
        },
        file: access,
        test: 'the owner of … cannot tell an open port from a closed one, and the log of the operator can',
      },
      {
        about: { en: 'The same with a message bus', ko: '메시지 버스로 같은 시도' },
        file: 'src/operator/events/tenant-bus.test.ts',
        test: 'a closed port and another service look alike to a tenant, and the log of the operator has the cause',
      },
      {
        about: { en: 'A metadata address, as a number or an IPv6 form', ko: '숫자나 IPv6 형식으로 쓴 메타데이터 주소' },
        file: 'src/http-client/client.test.ts',
        test: '… is never called: a metadata service could answer with credentials',
      },
      {
        about: { en: 'A Keystone on a host that is not allowed', ko: '허용하지 않은 호스트의 Keystone' },
        file: 'src/operator/test/faults.test.ts',
        test: 'a Keystone host that is not allowed gets no password',
      },
      {
        about: { en: 'A private CA, and another certificate than its own', ko: '사설 CA와 다른 인증서' },
        file: 'src/http-client/client.test.ts',
        test: 'a private certificate is trusted only with its CA or with insecure TLS',
      },
      {
        about: { en: 'A Secret of another namespace', ko: '다른 네임스페이스의 Secret' },
        file: 'src/operator/test/untrusted-config.test.ts',
        test: 'an object cannot use a Secret of another namespace',
      },
      {
        about: {
          en: 'A Contrabass of the tenant that names a Keystone',
          ko: '테넌트의 Contrabass가 Keystone을 지정하기',
        },
        file: tenants,
        test: 'operator 11: a Contrabass of the tenant does not get the clear password to a Keystone of its choice',
      },
      {
        about: { en: 'Delete an object whose host is not allowed', ko: '허용하지 않은 호스트를 쓰는 오브젝트 삭제' },
        file: tenants,
        test: 'operator 5: the deletion of an object does not send a Secret to a host that is not allowed',
      },
      {
        about: { en: 'Endpoints that hang, in many objects', ko: '여러 오브젝트에 응답 없는 엔드포인트 넣기' },
        file: tenants,
        test: 'operator 8: many objects with endpoints that hang do not delay another namespace',
      },
      {
        about: {
          en: 'Server names with paths, control characters and marks',
          ko: '경로, 제어 문자, 방향 표시가 든 서버 이름',
        },
        file: tenants,
        test: 'operator 15c: a server whose name is … gets a verdict, and affects no other server',
      },
    ],
  },
  {
    title: { en: 'Half true answers of a cloud', ko: '절반만 맞는 클라우드 응답' },
    attacks: [
      {
        about: {
          en: 'A port without addresses, without a device, missing, or as it was earlier, in one answer of Neutron',
          ko: 'Neutron 응답 하나에서 포트의 주소나 장치가 없거나, 포트가 없거나, 예전 상태인 경우',
        },
        failed: {
          en: 'a live NIC left its node after 0.6 s, and came back under another index',
          ko: '사용 중인 NIC이 0.6초 뒤 노드에서 사라졌고 다른 번호로 돌아왔습니다',
        },
        file: evidence,
        test: 'an answer with the fault … removes nothing, whatever the time and the number of answers',
      },
      {
        about: {
          en: 'Random changes among such answers, pages of 3, and faults of Nova, Keystone and Contrabass',
          ko: '이런 응답, 3개짜리 페이지, Nova, Keystone, Contrabass의 장애 속에서 무작위 변경',
        },
        failed: {
          en: '3 of 12 live NICs were removed, and 1 got another index',
          ko: '사용 중인 NIC 12개 중 3개가 제거되었고 1개는 다른 번호를 받았습니다',
        },
        file: 'test/operator/half-answers.test.ts',
        test: 'a half true answer removes and renumbers no interface (seed …)',
      },
      {
        about: {
          en: 'A list of Nova without a server that `vmSelector` selects, or with one without its fields',
          ko: '`vmSelector`가 선택한 서버가 빠졌거나 필드가 없는 Nova 목록',
        },
        failed: {
          en: 'the NICs of the server were removed at once',
          ko: '그 서버의 NIC이 바로 제거되었습니다',
        },
        file: evidence,
        test: 'a VM that is selected by its … stays with the fault …, and leaves when it is so',
      },
      {
        about: {
          en: 'A subnet without the fields of its gateway and routes',
          ko: '게이트웨이와 경로 필드가 없는 서브넷',
        },
        failed: {
          en: 'the gateway and the routes were removed from every NIC of the subnet',
          ko: '그 서브넷의 모든 NIC에서 게이트웨이와 경로가 제거되었습니다',
        },
        file: evidence,
        test: 'an answer without the gateway and the routes of a subnet keeps those of the interfaces, and one that has none removes them',
      },
      {
        about: { en: 'Such an answer while Nova fails', ko: 'Nova 장애 중에 이런 응답' },
        file: evidence,
        test: 'a port without addresses in one answer while Nova fails: the verdict says what is waited for, and the next sync is near',
      },
      {
        about: { en: 'A subnet name that another subnet takes', ko: '다른 서브넷이 가져간 서브넷 이름' },
        failed: {
          en: 'all NICs of the former subnet were removed at once, and the object was Ready',
          ko: '이전 서브넷의 NIC이 모두 바로 제거되었고 오브젝트는 Ready였습니다',
        },
        file: evidence,
        test: 'a subnet name that means another subnet removes nothing until a person approves it, also under another leader',
      },
      {
        about: { en: 'A server name that another server takes', ko: '다른 서버가 가져간 서버 이름' },
        file: 'src/operator/test/deleted-vm.test.ts',
        test: 'operator 7, 15f: a name that comes to mean another server removes nothing, and says how to approve it',
      },
      {
        about: {
          en: 'An empty list, a failing Nova, an account without its role',
          ko: '빈 목록, Nova 장애, 역할을 잃은 계정',
        },
        file: 'src/operator/test/vm-selector.test.ts',
        test: 'an empty list, a Nova that fails and an account without its role remove nothing',
      },
      {
        about: { en: 'Three ports that disappear at once', ko: '한꺼번에 사라진 포트 3개' },
        file: 'src/operator/test/faults.test.ts',
        test: 'removals of three ports that disappear at once are on hold until they are approved',
      },
      {
        about: {
          en: 'Take the index of a NIC by a new port after it was removed',
          ko: '제거된 NIC의 번호를 새 포트로 가져가기',
        },
        failed: { en: 'the port that returned got another index', ko: '돌아온 포트가 다른 번호를 받았습니다' },
        file: evidence,
        test: 'the index of a removed interface stays reserved for its port for ten minutes, also for another leader',
      },
      {
        about: { en: 'Random bytes and structures in every answer', ko: '모든 응답에 무작위 바이트와 구조 넣기' },
        file: 'test/fuzz/openstack-responses.test.ts',
        test: 'broken responses of Neutron and Nova',
      },
    ],
  },
  {
    title: { en: 'One bad item in a list', ko: '목록의 잘못된 항목 하나' },
    attacks: [
      {
        about: { en: 'Two ports with one MAC address on a VM', ko: 'VM 하나에 같은 MAC 주소의 포트 2개' },
        failed: {
          en: 'no change of the node was delivered any more, and the error named a position in JSON',
          ko: '노드의 변경이 더는 전달되지 않았고 오류에는 JSON의 위치만 나왔습니다',
        },
        file: 'src/operator/plan/undeliverable.test.ts',
        test: 'two ports with one MAC address on a VM hold up neither its other ports nor its changes, and the status names them',
      },
      {
        about: { en: 'Random clouds with impossible values', ko: '불가능한 값이 든 무작위 클라우드' },
        failed: {
          en: 'nodes were planned that Viola or the agent refuses as a whole',
          ko: 'Viola나 agent가 통째로 거부하는 노드를 계획했습니다',
        },
        file: 'test/fuzz/planned-nodes.test.ts',
        test: 'every node that is planned is accepted',
      },
      {
        about: {
          en: 'A record that an older inventory refuses, among those of other nodes',
          ko: '이전 버전 inventory가 거부하는 기록 하나를 다른 노드의 기록에 섞기',
        },
        failed: {
          en: 'no record of any node reached the inventory any more',
          ko: '어떤 노드의 기록도 더는 inventory에 도달하지 않았습니다',
        },
        file: 'src/operator/record/refused-batches.test.ts',
        test: 'a record that the inventory refuses keeps back no other one, and is sent again only when it changes',
      },
      {
        about: {
          en: 'A provider that the operator may not write, among others',
          ko: '다른 제공자에 섞인, operator에 쓰기 권한이 없는 제공자',
        },
        failed: {
          en: 'the records of the other providers were not sent either',
          ko: '다른 제공자의 기록도 보내지 않았습니다',
        },
        file: 'src/operator/record/refused-batches.test.ts',
        test: 'a provider that the operator may not write keeps back no other one, and is sent again with the next sync',
      },
      {
        about: { en: 'A wrong entry in vmNames', ko: 'vmNames의 잘못된 항목' },
        file: 'src/operator/test/faults.test.ts',
        test: 'a wrong entry of vmNames degrades the object, and the others are delivered',
      },
      {
        about: { en: 'A node that Viola refuses', ko: 'Viola가 거부하는 노드' },
        file: 'src/operator/test/viola-faults.test.ts',
        test: 'POST: the status shows the message of a node that failed',
      },
      {
        about: { en: 'A config for a node that does not exist', ko: '없는 노드의 config' },
        file: 'test/system/bad-input.root.test.ts',
        test: 'a config for a missing node waits with a reason and does not block other nodes',
      },
    ],
  },
  {
    title: { en: 'Message bus', ko: '메시지 버스' },
    attacks: [
      {
        about: {
          en: 'An account that is rotated before Contrabass has the new one',
          ko: 'Contrabass보다 먼저 교체된 계정',
        },
        failed: {
          en: 'events were off until the next poll, up to 2 minutes',
          ko: '다음 폴링까지 최대 2분 동안 이벤트가 꺼졌습니다',
        },
        file: 'src/operator/events/refused-account.test.ts',
        test: 'while the bus refuses the account, syncs read it again with pauses of 5 to 60 s, until another one is known',
      },
      {
        about: { en: 'A forged notification of a neighbour’s server', ko: '이웃의 서버로 위조한 알림' },
        file: 'src/operator/events/hostile-bus.test.ts',
        test: 'a notification that a tenant forged before does not hide that of the neighbour’s cloud',
      },
      {
        about: { en: '100,000 messages at the start', ko: '시작할 때 메시지 100,000개' },
        file: 'test/system/event-faults.e2e.test.ts',
        test: '100,000 messages wait at the start: the delivered nodes are the same',
      },
      {
        about: { en: 'A queue that is deleted', ko: '삭제된 큐' },
        file: 'test/system/events.e2e.test.ts',
        test: 'a deleted queue is recreated, and changes in between are found',
      },
      {
        about: { en: 'Any bytes in place of AMQP', ko: 'AMQP 대신 아무 바이트' },
        file: 'src/openstack/bus.test.ts',
        test: 'no bytes of a server make the listener throw',
      },
    ],
  },
]
