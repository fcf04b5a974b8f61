import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { test } from 'node:test'
import { parseInput } from '../agent/input.ts'
import { agentInput } from '../contract/agent-input.ts'
import { completeInterfaces } from '../contract/interfaces.ts'
import { interfaceList } from '../contract/node-config.ts'
import { environment } from '../runtime/env.ts'
import { controllerConfig } from './config.ts'
import { aConfig, aNode, hashFor, machine } from './controller.fixture.ts'
import { agentJob, agentJobName, type JobIdentity, type JobRequest, labelValue } from './job.ts'
import { requestedOf } from './plan/requested.ts'

const config = aConfig({ generation: 7 })
const env = { AGENT_IMAGE: 'multinic-agent:dev', AGENT_IMAGE_PULL_POLICY: 'Never' }

function jobFor(request: Partial<JobRequest> = {}, more: Record<string, string> = {}) {
  const { interfaces, specHash } = requestedOf(config)
  const defaults = {
    config,
    node: aNode(),
    interfaces,
    specHash,
    action: 'apply',
    attempt: 0,
    takesSlot: false,
  } as const
  return agentJob({ ...defaults, ...request }, controllerConfig({ ...env, ...more }).agent)
}

test('the manifest of the Job is the one that ran on a real kubelet', () => {
  const { metadata, spec } = jobFor()
  const [container] = spec.template.spec.containers
  const labels = {
    'app.kubernetes.io/name': 'multinic-agent',
    'app.kubernetes.io/managed-by': 'multinic-controller',
    'app.kubernetes.io/component': 'agent',
    'multinic.io/node-name': 'w1',
    'multinic.io/action': 'apply',
    'multinic.io/config-uid': 'uid-of-w1',
    'multinic.io/instance-id': machine,
    instance: machine,
  }
  assert.match(metadata.name, /^multinic-agent-w1-g7-[0-9a-f]{8}$/)
  assert.equal(metadata.namespace, 'multinic-system')
  assert.equal(metadata.ownerReferences, undefined)
  assert.deepEqual(metadata.labels, labels)
  assert.deepEqual(metadata.annotations, {
    'multinic.io/config': 'w1',
    'multinic.io/generation': '7',
    'multinic.io/spec-hash': hashFor(config),
    'multinic.io/boot-id': 'boot-1',
    'multinic.io/attempt': '0',
    'multinic.io/rollout': 'first',
  })
  assert.deepEqual(spec, {
    completions: 1,
    parallelism: 1,
    backoffLimit: 6,
    podReplacementPolicy: 'Failed',
    activeDeadlineSeconds: 600,
    ttlSecondsAfterFinished: 600,
    template: {
      metadata: { labels },
      spec: {
        nodeName: 'w1',
        hostNetwork: true,
        dnsPolicy: 'Default',
        restartPolicy: 'OnFailure',
        terminationGracePeriodSeconds: 30,
        automountServiceAccountToken: false,
        enableServiceLinks: false,
        serviceAccountName: 'multinic-agent-job',
        tolerations: [{ operator: 'Exists' }],
        securityContext: { seccompProfile: { type: 'RuntimeDefault' }, seLinuxOptions: { type: 'spc_t' } },
        volumes: [
          { name: 'netplan', hostPath: { path: '/etc/netplan', type: 'Directory' } },
          {
            name: 'connections',
            hostPath: { path: '/etc/NetworkManager/system-connections', type: 'DirectoryOrCreate' },
          },
          {
            name: 'run-networkmanager',
            hostPath: { path: '/run/NetworkManager/system-connections', type: 'DirectoryOrCreate' },
          },
          { name: 'usr-lib', hostPath: { path: '/usr/lib', type: 'DirectoryOrCreate' } },
          { name: 'networkd', hostPath: { path: '/etc/systemd/network', type: 'Directory' } },
          { name: 'sysctld', hostPath: { path: '/etc/sysctl.d', type: 'Directory' } },
          { name: 'udev', hostPath: { path: '/etc/udev/rules.d', type: 'DirectoryOrCreate' } },
          { name: 'boot', hostPath: { path: '/etc/multinic', type: 'DirectoryOrCreate' } },
          { name: 'units', hostPath: { path: '/etc/systemd/system', type: 'DirectoryOrCreate' } },
          { name: 'dbus', hostPath: { path: '/run/dbus', type: 'DirectoryOrCreate' } },
          { name: 'run-systemd', hostPath: { path: '/run/systemd/network', type: 'DirectoryOrCreate' } },
          { name: 'run-udev', hostPath: { path: '/run/udev/rules.d', type: 'DirectoryOrCreate' } },
          { name: 'lib', hostPath: { path: '/lib', type: 'DirectoryOrCreate' } },
          { name: 'usr-local-lib', hostPath: { path: '/usr/local/lib', type: 'DirectoryOrCreate' } },
          { name: 'state', hostPath: { path: '/var/lib/multinic', type: 'DirectoryOrCreate' } },
          { name: 'sysctls', hostPath: { path: '/proc/sys/net', type: 'Directory' } },
          { name: 'bootid', hostPath: { path: '/proc/sys/kernel/random/boot_id', type: 'File' } },
        ],
        containers: [
          {
            name: 'agent',
            image: 'multinic-agent:dev',
            imagePullPolicy: 'Never',
            terminationMessagePolicy: 'FallbackToLogsOnError',
            env: container?.env,
            resources: { requests: { cpu: '10m', memory: '32Mi' }, limits: { memory: '192Mi' } },
            securityContext: {
              runAsUser: 0,
              runAsGroup: 0,
              privileged: false,
              allowPrivilegeEscalation: false,
              readOnlyRootFilesystem: true,
              capabilities: { drop: ['ALL'], add: ['NET_ADMIN'] },
            },
            volumeMounts: [
              { name: 'netplan', mountPath: '/etc/netplan' },
              { name: 'connections', mountPath: '/etc/NetworkManager/system-connections' },
              { name: 'run-networkmanager', mountPath: '/host/run/NetworkManager/system-connections', readOnly: true },
              { name: 'usr-lib', mountPath: '/host/usr/lib', readOnly: true },
              { name: 'networkd', mountPath: '/etc/systemd/network' },
              { name: 'sysctld', mountPath: '/etc/sysctl.d' },
              { name: 'udev', mountPath: '/etc/udev/rules.d' },
              { name: 'boot', mountPath: '/etc/multinic' },
              { name: 'units', mountPath: '/etc/systemd/system' },
              { name: 'dbus', mountPath: '/run/dbus', readOnly: true },
              { name: 'run-systemd', mountPath: '/host/run/systemd/network', readOnly: true },
              { name: 'run-udev', mountPath: '/host/run/udev/rules.d', readOnly: true },
              { name: 'lib', mountPath: '/host/lib', readOnly: true },
              { name: 'usr-local-lib', mountPath: '/host/usr/local/lib', readOnly: true },
              { name: 'state', mountPath: '/var/lib/multinic' },
              { name: 'sysctls', mountPath: '/host/proc/sys/net' },
              { name: 'bootid', mountPath: '/host/boot_id', readOnly: true },
            ],
          },
        ],
      },
    },
  })
})

test('the Job contains the input and the settings of the agent', () => {
  const networks = {
    serviceCIDRs: ['10.96.0.0/12'],
    addressesOfNodes: [{ address: '192.168.0.10', nodeName: 'w2' }],
  }
  const job = jobFor(
    { action: 'cleanup', ...networks },
    { NIC_WAIT: '20s', NETWORK_TAKEOVER: 'refuse', PREFLIGHT_ALLOW_UP: 'true' },
  )
  const [input, ...settings] = job.spec.template.spec.containers[0]?.env ?? []
  assert.equal(input?.name, 'MULTINIC_INPUT')
  assert.deepEqual(agentInput.parse(JSON.parse(input?.value ?? '')), {
    version: 1,
    mode: 'cleanup',
    nodeName: 'w1',
    instanceId: machine,
    bootID: 'boot-1',
    generation: 7,
    specHash: hashFor(config),
    nodeAddresses: ['10.0.0.11'],
    podCIDRs: ['10.244.1.0/24'],
    ...networks,
    interfaces: config.spec.interfaces,
  })
  assert.deepEqual(settings, [
    { name: 'NIC_WAIT', value: '20s' },
    { name: 'NETWORK_TAKEOVER', value: 'refuse' },
    { name: 'PREFLIGHT_ALLOW_UP', value: 'true' },
  ])
})

const inputOf = (job: ReturnType<typeof jobFor>) =>
  agentInput.parse(JSON.parse(job.spec.template.spec.containers[0]?.env?.[0]?.value ?? ''))

test('the first address of each family of the node comes first', () => {
  const listed = (addresses: string[]) => inputOf(jobFor({ node: aNode({ addresses }) })).nodeAddresses
  assert.deepEqual(listed(['10.0.0.11', '192.168.0.10', '203.0.113.7']), ['10.0.0.11', '192.168.0.10', '203.0.113.7'])
  assert.deepEqual(listed(['192.168.0.10', '10.0.0.11', 'fd00::1']), ['192.168.0.10', 'fd00::1', '10.0.0.11'])
  const many = Array.from({ length: 20 }, (_, at) => `10.0.1.${at}`)
  assert.deepEqual(listed([...many, 'fd00::1'])?.slice(0, 3), ['10.0.1.0', 'fd00::1', '10.0.1.1'])
  assert.equal(listed([]), undefined)
})

test('L7: the largest spec that the schema accepts reaches the agent', () => {
  // Six bytes each in JSON.
  const longest = (length: number, index: number) => `${'\u0001'.repeat(length - 1)}${index}`
  const ip = (index: number) => `fd00:0000:0000:0000:0000:${(0x1000 + index).toString(16)}:255.255.255.255`
  const interfaces = Array.from({ length: 10 }, (_, id) => ({
    id,
    name: `multinic${id}`,
    macAddress: `fa:16:3e:00:00:0${id}`,
    portId: longest(253, id),
    networkId: longest(253, id),
    subnetId: longest(253, id),
    source: longest(507, id),
    address: ip(id),
    cidr: `${ip(id)}/128`,
    gateway: ip(99),
    mtu: 9216,
    addresses: Array.from({ length: 32 }, (_, at) => `${ip(100 + id * 32 + at)}/128`),
    routes: Array.from({ length: 64 }, (_, at) => ({ destination: `${ip(999 + at)}/128`, nexthop: ip(99) })),
    allowedAddressPairs: Array.from({ length: 32 }, (_, at) => `${ip(2_000 + id * 32 + at)}/128`),
  }))
  assert.deepEqual(completeInterfaces(interfaceList.parse(interfaces)).errors, [])
  const largest = aConfig({ name: 'n'.repeat(253), instanceId: longest(253, 1), generation: Number.MAX_SAFE_INTEGER })
  const { interfaces: complete } = completeInterfaces(interfaces)
  const addresses = Array.from({ length: 16 }, (_, at) => ip(at + 5_000))
  const node = aNode({ name: 'n'.repeat(253), addresses, podCIDRs: addresses.map(text => `${text}/128`) })
  const job = jobFor({ config: largest, interfaces: complete, node, serviceCIDRs: node.podCIDRs })
  const [{ name, value } = { name: '', value: '' }] = job.spec.template.spec.containers[0]?.env ?? []
  // The kernel refuses a longer string of the environment (E2BIG, MAX_ARG_STRLEN).
  const size = execFileSync('sh', ['-c', `printf %s "$${name}" | wc -c`], {
    env: { PATH: environment()['PATH'], [name]: value ?? '' },
  })
  assert.equal(Number(size), Buffer.byteLength(value ?? ''))
  assert.equal(parseInput(value).errors.length, 0)
})

test('the label on the Node overrides NETWORK_TAKEOVER of the fleet', () => {
  const takeover = (node: Partial<JobRequest['node']>, fleet: Record<string, string>) =>
    jobFor({ node: aNode(node) }, fleet).spec.template.spec.containers[0]?.env?.filter(
      ({ name }) => name === 'NETWORK_TAKEOVER',
    )
  assert.deepEqual(takeover({}, {}), [])
  assert.deepEqual(takeover({}, { NETWORK_TAKEOVER: 'refuse' }), [{ name: 'NETWORK_TAKEOVER', value: 'refuse' }])
  const one = { takeover: 'dynamic' } as const
  assert.deepEqual(takeover(one, { NETWORK_TAKEOVER: 'refuse' }), [{ name: 'NETWORK_TAKEOVER', value: 'dynamic' }])
})

test('pull secrets, priority and TTL reach the Job', () => {
  const { spec } = jobFor(
    {},
    { AGENT_PULL_SECRETS: 'one, two', AGENT_PRIORITY_CLASS: 'system-node-critical', JOB_TTL: '1h' },
  )
  assert.deepEqual(spec.template.spec.imagePullSecrets, [{ name: 'one' }, { name: 'two' }])
  assert.equal(spec.template.spec.priorityClassName, 'system-node-critical')
  assert.equal(spec.ttlSecondsAfterFinished, 3600)
})

test('an AppArmor profile is set only on request', () => {
  const profileOf = (env: Record<string, string>) => jobFor({}, env).spec.template.spec.securityContext?.appArmorProfile
  assert.equal(profileOf({}), undefined)
  assert.deepEqual(profileOf({ AGENT_APPARMOR_PROFILE: 'Unconfined' }), { type: 'Unconfined' })
})

test('a node of the Red Hat family mounts its own directories', () => {
  const volumes = (backend: 'networkmanager' | 'ifcfg') =>
    jobFor({ node: aNode({ backend }) }).spec.template.spec.volumes ?? []
  const first = (backend: 'networkmanager' | 'ifcfg') => volumes(backend)[0]?.hostPath
  assert.deepEqual(first('networkmanager'), { path: '/etc/NetworkManager/system-connections', type: 'Directory' })
  assert.deepEqual(first('ifcfg'), { path: '/etc/sysconfig/network-scripts', type: 'Directory' })
  const names = new Set(volumes('ifcfg').map(({ name }) => name))
  // The agent compares with profiles of NetworkManager only where it writes one.
  assert.deepEqual(
    volumes('networkmanager').flatMap(({ name }) => (names.has(name) ? [] : [name])),
    ['connections', 'run-networkmanager', 'usr-lib'],
  )
})

const identity: JobIdentity = {
  nodeName: 'w1',
  generation: 7,
  configUid: 'uid',
  specHash: 'hash',
  action: 'apply',
  bootID: 'boot-1',
  attempt: 0,
}

test('the same work has the same Job name, and different work a different one', () => {
  const others: Partial<JobIdentity>[] = [
    { generation: 8 },
    { configUid: 'created-again' },
    { specHash: 'other' },
    { action: 'cleanup' },
    { bootID: 'boot-2' },
    { attempt: 1 },
    { nodeName: 'w2' },
  ]
  const names = [{}, ...others].map(other => agentJobName({ ...identity, ...other }))
  assert.equal(new Set(names).size, names.length)
  assert.equal(agentJobName({ ...identity }), names[0])
})

test('a trace in the Job changes neither its name nor its input', () => {
  const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'
  const [plain, traced] = [jobFor(), jobFor({ traceparent })]
  assert.equal(traced.metadata.annotations?.['multinic.io/traceparent'], traceparent)
  const [, second, ...rest] = traced.spec.template.spec.containers[0]?.env ?? []
  assert.deepEqual(second, { name: 'TRACEPARENT', value: traceparent })
  assert.equal(traced.metadata.name, plain.metadata.name)
  const [first, ...others] = plain.spec.template.spec.containers[0]?.env ?? []
  assert.deepEqual([first, ...others], [traced.spec.template.spec.containers[0]?.env?.[0], ...rest])
})

test('very long node names give valid names and labels', () => {
  const long = `${'very-long.'.repeat(25)}w1`
  const name = agentJobName({ ...identity, nodeName: long, generation: 1234567 })
  assert.ok(name.length <= 63, name)
  assert.match(name, /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/)
  for (const text of [long, 'with space', 'ends-', 'ü', 'i-0123456789abcdef0'])
    assert.match(labelValue(text), /^[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?$/)
  assert.notEqual(labelValue(`${long}a`), labelValue(`${long}b`))
})
