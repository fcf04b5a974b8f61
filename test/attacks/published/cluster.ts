/** Attacks on rights, on the API server and on what the controller does. */
import type { AttackSection } from './section.ts'

export const clusterAttacks: readonly AttackSection[] = [
  {
    title: { en: 'Rights', ko: '권한' },
    attacks: [
      {
        about: {
          en: 'Each attack of [the list for stolen tokens](token-attacks.md)',
          ko: '[탈취한 토큰 목록](token-attacks.ko.md)의 모든 공격',
        },
        failed: {
          en: 'the token of the operator created and read a token of any account: cluster-admin',
          ko: 'operator의 토큰으로 아무 계정의 토큰을 만들어 읽었습니다: cluster-admin',
        },
        file: 'test/attacks/tokens.e2e.test.ts',
        test: 'with the tokens of the components: …',
      },
      {
        about: { en: 'A Job with another image, right, volume or owner', ko: '이미지, 권한, 볼륨, 소유자가 다른 Job' },
        file: 'src/controller/agent-policy.e2e.test.ts',
        test: 'the token of the controller cannot create a Job with …',
      },
      {
        about: { en: 'A field of a Node that the policy does not know', ko: '정책이 모르는 Node 필드' },
        failed: {
          en: '`runtimeHandlers`, `features` and `declaredFeatures` could be changed',
          ko: '`runtimeHandlers`, `features`, `declaredFeatures`를 바꿀 수 있었습니다',
        },
        file: 'src/controller/node-condition-policy.e2e.test.ts',
        test: 'the token of a controller with NODE_CONDITION cannot change of a Node …',
      },
      {
        about: { en: '`helm template` without a cluster', ko: '클러스터 없이 `helm template`' },
        failed: {
          en: 'the rights were rendered without the policies that limit them',
          ko: '제한하는 정책 없이 권한이 렌더링되었습니다',
        },
        file: 'test/packaging/least-privilege.e2e.test.ts',
        test: 'helm template with … renders the right and its policy, or neither, by the version of Kubernetes',
      },
      {
        about: { en: 'An operator that may read Secrets of Viola', ko: 'Viola의 Secret을 읽을 수 있는 operator' },
        failed: { en: 'nothing warned', ko: '경고가 없었습니다' },
        file: 'test/packaging/chart.e2e.test.ts',
        test: 'the doctor names an operator that may read Secrets of Viola, helm warns, and make deploy gives no such right',
      },
      {
        about: { en: 'Rights that are deleted while the controller runs', ko: 'controller 실행 중 권한 삭제' },
        failed: { en: '/readyz stayed 200 for 110 s', ko: '/readyz가 110초 동안 200이었습니다' },
        file: 'src/controller/health.test.ts',
        test: 'a controller whose writes are refused is not ready, until one succeeds',
      },
      {
        about: { en: 'Rights that are deleted while the operator runs', ko: 'operator 실행 중 권한 삭제' },
        failed: { en: '/readyz stayed 200', ko: '/readyz가 계속 200이었습니다' },
        file: 'src/operator/test/refused-writes.test.ts',
        test: 'an operator that may not write OpenstackConfigs is not ready, goes on with the NICs of known ones, and recovers',
      },
      {
        about: { en: 'A forged status of an OpenstackConfig', ko: '위조한 OpenstackConfig 상태' },
        failed: {
          en: 'a used approval removed a NIC again, and a move began that nobody asked for',
          ko: '이미 쓴 승인으로 NIC이 다시 제거되고, 아무도 요청하지 않은 이동이 시작되었습니다',
        },
        file: 'src/operator/test/edited-status.test.ts',
        test: 'a forged status removes and moves nothing, and is put right: …',
      },
    ],
  },
  {
    title: { en: 'API server and etcd', ko: 'API 서버와 etcd' },
    attacks: [
      {
        about: {
          en: 'etcd restored from a backup while a component runs',
          ko: '구성 요소 실행 중 etcd를 백업에서 복원',
        },
        failed: {
          en: 'every component that kept running saw nothing any more, and was ready',
          ko: '계속 실행하던 모든 구성 요소가 아무것도 보지 못했고 ready였습니다',
        },
        file: 'src/kube/restore.e2e.test.ts',
        test: 'an informer that kept running sees the restored objects, and that they were restored',
      },
      {
        about: { en: 'The same under a running operator', ko: '실행 중인 operator에 같은 공격' },
        failed: {
          en: 'objects that were the same in the backup were not synced',
          ko: '백업에서 그대로인 오브젝트는 동기화되지 않았습니다',
        },
        file: 'src/operator/sync/config-watch.test.ts',
        test: 'after a restore of the API server every object is synced from fresh reads, also one that did not change',
      },
      {
        about: { en: 'A watch that says nothing any more', ko: '아무것도 보내지 않는 watch' },
        file: 'src/kube/silent-watch.test.ts',
        test: 'controller M6: a watch that sent bookmarks and then says nothing is restarted, and the cache says so',
      },
      {
        about: { en: 'An expired version on every watch', ko: '모든 watch에 만료된 버전' },
        file: 'src/kube/informer.test.ts',
        test: 'an expired resourceVersion (…) leads to a new list that reports deletions',
      },
      {
        about: { en: 'Hostile answers of the API server', ko: 'API 서버의 악의적인 응답' },
        file: 'test/hostile/hostile-kube.e2e.test.ts',
        test: 'no hostile answer of the Kubernetes API ends a process',
      },
      {
        about: { en: 'A leader that is disconnected', ko: '연결이 끊긴 leader' },
        file: 'src/kube/leader.test.ts',
        test: 'a disconnected leader stops before another one starts, and becomes a candidate again',
      },
      {
        about: { en: 'A Lease that somebody else takes', ko: '다른 것이 가져간 Lease' },
        file: 'src/kube/leader.test.ts',
        test: 'a lease that another replica took ends the leadership',
      },
      {
        about: { en: 'A thousand broken objects', ko: '깨진 오브젝트 1,000개' },
        file: 'test/fuzz/objects.ts',
        runBy: 'test/conformance/kube.real.e2e.test.ts',
        test: 'a thousand broken objects are refused with the field or get a status, and no component fails',
      },
      {
        about: { en: 'An API server without validation rules', ko: '검증 규칙이 없는 API 서버' },
        file: 'src/operator/test/vm-selector.test.ts',
        test: 'an API server without validation rules: an object that selects no VM, or every VM, is refused and removes nothing',
      },
    ],
  },
  {
    title: { en: 'Changes, checks and deletions of many nodes', ko: '여러 노드의 변경, 점검, 삭제' },
    attacks: [
      {
        about: { en: 'A change that takes every node off the network', ko: '모든 노드의 네트워크를 끊는 변경' },
        failed: {
          en: '40 of 40 nodes were unreachable after 41 s, with a limit of 3 at a time',
          ko: '동시 3개 제한에도 41초 뒤 노드 40개 모두에 연결할 수 없었습니다',
        },
        file: 'src/controller/lost-nodes.test.ts',
        test: 'nodes that vanish in their change keep their slots: no other node changes',
      },
      {
        about: { en: 'The same, and another leader', ko: '같은 공격과 leader 교체' },
        failed: { en: 'the next leader did not know of them', ko: '다음 leader가 알지 못했습니다' },
        file: 'src/controller/lost-nodes.test.ts',
        test: 'the next leader knows them',
      },
      {
        about: { en: 'A change that fails on every node', ko: '모든 노드에서 실패하는 변경' },
        file: 'src/controller/rollout.test.ts',
        test: 'a rollout stops when its failure budget is used up, and resumes when the nodes recover',
      },
      {
        about: { en: 'Two configs of one node that are deleted together', ko: '노드 하나의 config 2개를 함께 삭제' },
        failed: { en: 'the NICs stayed on the node, without an object', ko: '오브젝트 없이 NIC이 노드에 남았습니다' },
        file: 'src/controller/reconcile.test.ts',
        test: 'two configs for one node that are deleted together leave no interface behind',
      },
      {
        about: { en: 'All configs deleted at once', ko: '모든 config를 한꺼번에 삭제' },
        failed: {
          en: '12 of 12 cleanups ran at once, with a limit of 1',
          ko: '제한이 1인데 정리 12개가 한꺼번에 실행되었습니다',
        },
        file: 'src/controller/deletions.test.ts',
        test: 'the cleanups of configs that are deleted at once wait for approval',
      },
      {
        about: { en: '5,000 nodes whose check is due at once', ko: '점검 시점이 겹친 노드 5,000개' },
        measured: { en: '8 Jobs and 28 requests in 60 s', ko: '60초 동안 Job 8개와 요청 28개' },
        file: 'src/controller/many-checks.e2e.test.ts',
        test: '5,000 nodes whose checks are due at once cost one Job in five seconds, and few requests',
      },
      {
        about: { en: 'A leader that is killed among 200 Jobs', ko: 'Job 200개 도중 종료된 leader' },
        file: 'src/controller/scale.e2e.test.ts',
        test: 'killing the leader in the middle of 200 Jobs neither repeats nor loses one',
      },
      {
        about: {
          en: 'A config that never ran, edited to be Configured',
          ko: '실행된 적이 없는 config의 상태를 Configured로 수정',
        },
        failed: { en: 'it stayed Configured, without an agent', ko: 'agent 없이 Configured로 남았습니다' },
        file: 'src/controller/edited-status.test.ts',
        test: 'a config that never ran does not become Configured by an edit',
      },
      {
        about: {
          en: 'Reports that are empty, cut, of another node or run',
          ko: '비었거나 잘렸거나 다른 노드나 실행의 보고',
        },
        failed: {
          en: 'a report Configured with a failed interface was a success',
          ko: '실패한 인터페이스가 든 Configured 보고가 성공이었습니다',
        },
        file: 'src/controller/report.test.ts',
        test: '… is no success',
      },
      {
        about: { en: 'A run that is killed after every step', ko: '모든 단계 뒤 종료된 실행' },
        file: 'src/agent/test/killed.e2e.test.ts',
        test: 'a run in which two NICs exchange their indexes may be killed after every step',
      },
    ],
  },
  {
    title: { en: 'Upgrade, rollback and mixed versions', ko: '업그레이드, 롤백, 버전 혼용' },
    attacks: [
      {
        about: { en: '`helm upgrade` with NICs in use', ko: 'NIC 사용 중 `helm upgrade`' },
        file: 'test/packaging/upgrade.e2e.test.ts',
        test: 'helm upgrade touches no NIC',
      },
      {
        about: { en: '`helm rollback` with NICs in use', ko: 'NIC 사용 중 `helm rollback`' },
        file: 'test/packaging/upgrade.e2e.test.ts',
        test: 'helm rollback touches no NIC, and the baseline goes on with the objects',
      },
      {
        about: { en: 'A downgrade that keeps the CRDs', ko: 'CRD를 유지하는 다운그레이드' },
        file: 'test/packaging/upgrade.e2e.test.ts',
        test: 'a downgrade that keeps the CRDs touches no NIC and loses no field',
      },
      {
        about: { en: 'An upgrade of every component while ports change', ko: '포트 변경 중 모든 구성 요소 업그레이드' },
        file: 'test/packaging/replicas.e2e.test.ts',
        test: 'a rolling upgrade of every component stops nothing',
      },
      {
        about: {
          en: 'An agent of another version, with reasons that the controller does not know',
          ko: '다른 버전의 agent가 보고한, controller가 모르는 사유',
        },
        file: 'src/controller/other-agent.test.ts',
        test: 'an unknown reason of an interface is in the status and in the Event as the agent reported it',
      },
      {
        about: { en: 'A Viola that serves only POST', ko: 'POST만 처리하는 Viola' },
        file: 'src/operator/test/faults.test.ts',
        test: 'with a Viola that serves only POST, indexes survive a restart, and removals are empty lists',
      },
      {
        about: { en: 'A database of a later version', ko: '이후 버전의 데이터베이스' },
        file: 'src/inventory/migrations.test.ts',
        test: 'a database that a later version migrated is read and written',
      },
      {
        about: { en: 'CRDs uninstalled while objects exist', ko: '오브젝트가 있을 때 CRD 제거' },
        file: 'test/packaging/chart.e2e.test.ts',
        test: 'make uninstall refuses while objects exist; FORCE=1 succeeds although a running component adds its finalizer again',
      },
    ],
  },
]
