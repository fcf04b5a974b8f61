/**
 * What somebody with the token of a component would try at the API server, with the components that are meant to do it.
 */
import type { Language } from '../../src/contract/reasons/catalogue.ts'
import {
  adminBinding,
  admission,
  allNamespaces,
  apply,
  busSecret,
  type Call,
  change,
  condition,
  configMap,
  core,
  create,
  get,
  job,
  multinicIn,
  namespaces,
  owner,
  pod,
  rbac,
  remove,
  secret,
  strategic,
  tokenSecret,
} from './token-attack-calls.ts'

export const components = ['operator', 'operatorDeployed', 'viola', 'inventory', 'controller', 'agent'] as const
export type Component = (typeof components)[number]

export const namespaceOf = (component: Component) =>
  component === 'operatorDeployed' ? namespaces.deployed : namespaces.release

export interface Attack {
  id: string
  about: Record<Language, string>
  /** Who may do it. Nobody else may do any of its calls. */
  allowed: readonly Component[]
  /** `own`: the namespace of the component; `account`: its ServiceAccount. */
  calls: (own: string, account: string) => Call[]
}

const operators = ['operator', 'operatorDeployed'] as const

export const attacks: readonly Attack[] = [
  {
    id: 'secrets-of-cluster',
    about: { en: 'Read the Secrets of the cluster or of `kube-system`', ko: '클러스터나 `kube-system`의 Secret 읽기' },
    allowed: [],
    calls: () => [get('/api/v1/secrets'), ...['secrets', 'secrets/victim'].map(rest => get(core('kube-system', rest)))],
  },
  {
    id: 'secrets-of-others',
    about: {
      en: 'Read the Secrets of its own namespace or of a namespace without a rule',
      ko: '자기 네임스페이스나 규칙이 없는 네임스페이스의 Secret 읽기',
    },
    allowed: [],
    calls: own => [own, namespaces.foreign].map(one => get(core(one, 'secrets'))),
  },
  {
    id: 'routing-of-viola',
    about: {
      en: 'Read the routing Secret of Viola: get, list, watch, or the answer to an empty patch',
      ko: 'Viola의 라우팅 Secret 읽기: get, list, watch, 빈 패치의 응답',
    },
    allowed: [],
    calls: own =>
      [own, namespaces.release].flatMap(one => [
        get(core(one, 'secrets/viola-routing')),
        get(core(one, 'secrets?fieldSelector=metadata.name%3Dviola-routing')),
        get(core(one, 'secrets?watch=true&timeoutSeconds=1&fieldSelector=metadata.name%3Dviola-routing')),
        change(core(one, 'secrets/viola-routing')),
      ]),
  },
  {
    id: 'secrets-served',
    about: {
      en: 'Read the Secrets of OpenstackConfigs: all in a namespace with a rule, by name in its own',
      ko: 'OpenstackConfig의 Secret 읽기: 규칙이 있는 네임스페이스에서는 모두, 자기 네임스페이스에서는 이름으로',
    },
    allowed: operators,
    calls: () => [
      get(core(namespaces.ruled, 'secrets')),
      get(core(namespaces.release, 'secrets?fieldSelector=metadata.name%3Dmultinic-cloud')),
      get(core(namespaces.objects, 'secrets')),
    ],
  },
  {
    id: 'token-secret',
    about: {
      en: 'Create a Secret of type `kubernetes.io/service-account-token`, in any namespace',
      ko: '아무 네임스페이스에 `kubernetes.io/service-account-token` 유형의 Secret 만들기',
    },
    allowed: [],
    calls: () =>
      allNamespaces.flatMap(one => [
        create(core(one, 'secrets'), tokenSecret('attack')),
        create(core(one, 'secrets'), tokenSecret('rabbitmq-main')),
        apply(core(one, 'secrets/rabbitmq-main'), tokenSecret('rabbitmq-main')),
      ]),
  },
  {
    id: 'other-secret',
    about: {
      en: 'Create, change or delete another Secret than `rabbitmq-<object>`',
      ko: '`rabbitmq-<오브젝트>`가 아닌 Secret 생성, 변경, 삭제',
    },
    allowed: [],
    calls: () =>
      allNamespaces.flatMap(one => [
        create(core(one, 'secrets'), secret('attack', { type: 'Opaque' })),
        create(core(one, 'secrets'), busSecret('contrabass-encrypt-key-2')),
        create(core(one, 'secrets'), busSecret('rabbitmq-other')),
        create(core(one, 'secrets'), secret('rabbitmq-main', { type: 'Opaque' })),
        create(core(one, 'secrets'), { ...busSecret(), data: { LD_PRELOAD: 'eA==' } }),
        create(core(one, 'secrets'), busSecret('rabbitmq-main', { finalizers: ['example.com/x'] })),
        create(core(one, 'secrets'), busSecret('rabbitmq-main', { labels: { x: 'y' } })),
        create(core(one, 'secrets'), { ...busSecret(), immutable: true }),
        change(core(one, 'secrets/victim'), { data: { x: 'eA==' } }),
        change(core(one, 'secrets/rabbitmq-foreign'), { metadata: { ownerReferences: [owner] } }),
        remove(core(one, 'secrets/victim')),
      ]),
  },
  {
    id: 'bus-secret',
    about: {
      en: 'Write `rabbitmq-<object>` in a namespace that is served',
      ko: '처리하는 네임스페이스에 `rabbitmq-<오브젝트>` 쓰기',
    },
    allowed: operators,
    calls: () =>
      [namespaces.ruled, namespaces.release, namespaces.objects].map(one => create(core(one, 'secrets'), busSecret())),
  },
  {
    id: 'mint-token',
    about: { en: 'Request a token of another account, or of its own', ko: '다른 계정이나 자기 계정의 토큰 요청' },
    allowed: [],
    calls: (own, account) =>
      [`kube-system/powerful`, `${own}/default`, `${own}/${account}`].map(one => {
        const [namespace = '', name] = one.split('/')
        const body = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: {} }
        return create(core(namespace, `serviceaccounts/${name}/token`), body)
      }),
  },
  {
    id: 'impersonate',
    about: { en: 'Impersonate an administrator or another account', ko: '관리자나 다른 계정으로 가장' },
    allowed: [],
    calls: () =>
      [
        { 'impersonate-user': 'admin', 'impersonate-group': 'system:masters' },
        { 'impersonate-user': 'system:serviceaccount:kube-system:powerful' },
      ].map(headers => ({ ...get('/api/v1/namespaces'), headers })),
  },
  {
    id: 'pods',
    about: { en: 'Create or change a Pod', ko: 'Pod 생성이나 변경' },
    allowed: [],
    calls: own =>
      ['kube-system', own].flatMap(one => [create(core(one, 'pods'), pod), change(core(one, 'pods/victim'), {})]),
  },
  {
    id: 'exec',
    about: {
      en: 'Enter a Pod: exec, attach, port-forward, proxy, ephemeral containers',
      ko: 'Pod에 들어가기: exec, attach, port-forward, proxy, 임시 컨테이너',
    },
    allowed: [],
    calls: own =>
      ['kube-system', own].flatMap(one => [
        ...['exec?command=id&stdout=true', 'attach?stdout=true', 'portforward', 'proxy/', 'log'].map(rest =>
          get(core(one, `pods/victim/${rest}`)),
        ),
        change(core(one, 'pods/victim/ephemeralcontainers')),
      ]),
  },
  {
    id: 'jobs',
    about: {
      en: 'Create a Job that is not an agent Job, or change one',
      ko: 'agent Job이 아닌 Job 생성, Job 변경',
    },
    allowed: [],
    calls: own =>
      ['kube-system', own].flatMap(one => [
        create(`/apis/batch/v1/namespaces/${one}/jobs`, job),
        change(`/apis/batch/v1/namespaces/${one}/jobs/victim`, { spec: { suspend: false } }),
      ]),
  },
  {
    id: 'own-jobs',
    about: { en: 'Delete a Job of its namespace', ko: '자기 네임스페이스의 Job 삭제' },
    allowed: ['controller'],
    calls: own => [remove(`/apis/batch/v1/namespaces/${own}/jobs/victim`)],
  },
  {
    id: 'delete-others',
    about: {
      en: 'Delete a Pod, Deployment, Namespace or Node',
      ko: 'Pod, Deployment, Namespace, Node 삭제',
    },
    allowed: [],
    calls: own => [
      ...['kube-system', own].map(one => remove(core(one, 'pods/victim'))),
      remove(`/apis/apps/v1/namespaces/${namespaces.release}/deployments/viola-api`),
      ...[own, namespaces.foreign].map(one => remove(`/api/v1/namespaces/${one}`)),
      remove('/api/v1/nodes/w1'),
    ],
  },
  {
    id: 'nodes',
    about: {
      en: 'Change a Node: labels, annotations, taints, cordon, status',
      ko: 'Node 변경: 레이블, 애너테이션, 테인트, cordon, 상태',
    },
    allowed: [],
    calls: () => [
      change('/api/v1/nodes/w1', { metadata: { labels: { 'node-role.kubernetes.io/control-plane': '' } } }),
      change('/api/v1/nodes/w1', { metadata: { annotations: { x: 'y' } } }),
      change('/api/v1/nodes/w1', { spec: { taints: [{ key: 'x', effect: 'NoExecute' }] } }),
      change('/api/v1/nodes/w1', { spec: { unschedulable: true } }),
      ...[
        { conditions: [condition('Ready')] },
        { capacity: { cpu: '1000' } },
        { addresses: [{ type: 'InternalIP', address: '192.0.2.1' }] },
        { features: { supplementalGroupsPolicy: true } },
      ].map(status => ({ ...change('/api/v1/nodes/w1/status', { status }), contentType: strategic })),
    ],
  },
  {
    id: 'own-of-nodes',
    about: {
      en: 'Set the condition `MultiNicReady` and labels `network.multinic.io/…` of a Node, with `NODE_CONDITION` and `NODE_LABELS`',
      ko: '`NODE_CONDITION`과 `NODE_LABELS`를 켠 경우 Node의 조건 `MultiNicReady`와 레이블 `network.multinic.io/…` 설정',
    },
    allowed: ['controller'],
    calls: () => [
      change('/api/v1/nodes/w1', { metadata: { labels: { 'network.multinic.io/x': 'ready' } } }),
      {
        ...change('/api/v1/nodes/w1/status', { status: { conditions: [condition('MultiNicReady')] } }),
        contentType: strategic,
      },
    ],
  },
  {
    id: 'roles',
    about: {
      en: 'Change a role, or bind cluster-admin',
      ko: 'Role 변경, cluster-admin 바인딩',
    },
    allowed: [],
    calls: own => [
      change(`${rbac}/clusterroles/multinic-reader`, { rules: [] }),
      change(`${rbac}/namespaces/${own}/roles/multinic-operator`, { rules: [] }),
      create(`${rbac}/clusterrolebindings`, adminBinding('ClusterRoleBinding')),
      create(`${rbac}/namespaces/${own}/rolebindings`, adminBinding('RoleBinding')),
    ],
  },
  {
    id: 'certificates',
    about: { en: 'Approve or delete a certificate request', ko: '인증서 요청 승인, 삭제' },
    allowed: [],
    calls: () => [
      change('/apis/certificates.k8s.io/v1/certificatesigningrequests/attack/approval', {
        status: { conditions: [{ type: 'Approved', status: 'True', reason: 'x', message: 'x' }] },
      }),
      remove('/apis/certificates.k8s.io/v1/certificatesigningrequests/attack'),
    ],
  },
  {
    id: 'policies',
    about: {
      en: 'Change or delete an admission policy or its binding, or add a webhook',
      ko: '어드미션 정책이나 바인딩 변경, 삭제, 웹훅 추가',
    },
    allowed: [],
    calls: () => [
      ...['validatingadmissionpolicies', 'validatingadmissionpolicybindings'].flatMap(kind =>
        [`${namespaces.release}-multinic-operator-secrets`, 'multinic-operator-secrets'].flatMap(name => [
          change(`${admission}/${kind}/${name}`),
          remove(`${admission}/${kind}/${name}`),
        ]),
      ),
      create(`${admission}/mutatingwebhookconfigurations`, {
        apiVersion: 'admissionregistration.k8s.io/v1',
        kind: 'MutatingWebhookConfiguration',
        metadata: { name: 'attack' },
      }),
    ],
  },
  {
    id: 'definitions',
    about: { en: 'Change or delete a CRD', ko: 'CRD 변경, 삭제' },
    allowed: [],
    calls: () =>
      [change, remove].map(call =>
        call('/apis/apiextensions.k8s.io/v1/customresourcedefinitions/multinicnodeconfigs.multinic.io'),
      ),
  },
  {
    id: 'configmaps',
    about: {
      en: 'Change or delete a ConfigMap that is no delivery record, such as the CA certificate of the namespace',
      ko: '네임스페이스의 CA 인증서처럼 전달 기록이 아닌 ConfigMap 변경, 삭제',
    },
    allowed: [],
    calls: own =>
      ['kube-system', own].flatMap(one => [
        create(core(one, 'configmaps'), configMap('attack')),
        change(core(one, 'configmaps/kube-root-ca.crt'), { data: { 'ca.crt': 'x' } }),
        remove(core(one, 'configmaps/kube-root-ca.crt')),
      ]),
  },
  {
    id: 'delivery-records',
    about: {
      en: 'Write delivery records, ConfigMaps `multinic-delivered-…` of its namespace',
      ko: '자기 네임스페이스의 전달 기록(ConfigMap `multinic-delivered-…`) 쓰기',
    },
    allowed: operators,
    calls: own => [apply(core(own, 'configmaps/multinic-delivered-x'), configMap('multinic-delivered-x'))],
  },
  {
    id: 'leases',
    about: { en: 'Take over the Lease of another component', ko: '다른 구성 요소의 Lease 가로채기' },
    allowed: [],
    calls: own =>
      ['kube-system', own].map(one => ({
        ...{ method: 'PUT', path: `/apis/coordination.k8s.io/v1/namespaces/${one}/leases/victim` },
        body: {
          apiVersion: 'coordination.k8s.io/v1',
          kind: 'Lease',
          metadata: { name: 'victim', resourceVersion: '1' },
        },
      })),
  },
  {
    id: 'configs-of-others',
    about: {
      en: 'Write or delete MultiNicNodeConfigs of another namespace',
      ko: '다른 네임스페이스의 MultiNicNodeConfig 쓰기, 삭제',
    },
    allowed: [],
    calls: () => [change, remove].map(call => call(multinicIn(namespaces.foreign, 'multinicnodeconfigs/w1'))),
  },
  {
    id: 'own-configs',
    about: { en: 'Change MultiNicNodeConfigs of its namespace', ko: '자기 네임스페이스의 MultiNicNodeConfig 변경' },
    allowed: ['viola', 'controller'],
    calls: () => [change(multinicIn(namespaces.release, 'multinicnodeconfigs/w1'))],
  },
  {
    id: 'delete-configs',
    about: { en: 'Delete MultiNicNodeConfigs of its namespace', ko: '자기 네임스페이스의 MultiNicNodeConfig 삭제' },
    allowed: ['viola'],
    calls: () => [remove(multinicIn(namespaces.release, 'multinicnodeconfigs/w1'))],
  },
  {
    id: 'openstackconfigs',
    about: { en: 'Change any OpenstackConfig', ko: '모든 OpenstackConfig 변경' },
    allowed: operators,
    calls: () => [change(`/apis/multinic.example.com/v1alpha1/namespaces/${namespaces.foreign}/openstackconfigs/main`)],
  },
  {
    id: 'read-nodes',
    about: { en: 'Read Nodes', ko: 'Node 읽기' },
    allowed: ['viola', 'controller'],
    calls: () => [get('/api/v1/nodes')],
  },
  {
    id: 'read-pods',
    about: { en: 'Read Pods of its namespace', ko: '자기 네임스페이스의 Pod 읽기' },
    allowed: ['controller'],
    calls: own => [get(core(own, 'pods'))],
  },
  {
    id: 'reviews',
    about: {
      en: 'Ask who owns a token and what a user may do',
      ko: '토큰의 주인과 사용자의 권한 조회',
    },
    allowed: [...operators, 'viola', 'inventory'],
    calls: () => [
      create('/apis/authentication.k8s.io/v1/tokenreviews', {
        apiVersion: 'authentication.k8s.io/v1',
        kind: 'TokenReview',
        spec: { token: 'x' },
      }),
      create('/apis/authorization.k8s.io/v1/subjectaccessreviews', {
        apiVersion: 'authorization.k8s.io/v1',
        kind: 'SubjectAccessReview',
        spec: { user: 'x', nonResourceAttributes: { path: '/', verb: 'get' } },
      }),
    ],
  },
]
