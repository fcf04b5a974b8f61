/**
 * Admission policy for the Jobs of the controller: whoever has its token can create no other Pods than those of the agent.
 *
 * The API server evaluates it for the ServiceAccount of the controller only, which cannot write policies. The image and the
 * names are variables of the policy: the chart sets them to the values that it gives to the controller. CEL cannot list the
 * fields of an object, so the policy names every field by which a Pod gets more rights or runs another program.
 */
import { policyApiVersion as apiVersion, denyingBinding, type Policy } from '../contract/admission.ts'
import { agentInputVariable, agentTraceVariable } from '../contract/agent-input.ts'
import { agentSettings } from '../contract/agent-settings.ts'
import { agentName, allMounts, jobDeadlineSeconds, jobLabels } from './job.ts'

const namespace = 'multinic-system'
const account = 'multinic-agent'
const name = 'multinic-agent-jobs'
/** A condition in CEL. The chart replaces the account. */
export const isController = `request.userInfo.username == 'system:serviceaccount:${namespace}:${account}'`
const labels = {
  'app.kubernetes.io/name': 'multinic-agent',
  'app.kubernetes.io/component': 'agent',
  'app.kubernetes.io/part-of': 'multinic',
}

/** A list in CEL. */
function listOf(texts: readonly string[]): string {
  return `[${[...new Set(texts)].map(text => `'${text}'`).join(', ')}]`
}

const absent = (object: string, ...fields: string[]) => fields.map(field => `!has(${object}.${field})`)
const isFalse = (object: string, ...fields: string[]) =>
  fields.map(field => `(!has(${object}.${field}) || !${object}.${field})`)
const isSetting = (field: string, setting: keyof typeof settings) =>
  `(!has(${field}) || ${field} == '' || ${field} == variables.${setting})`

/** The defaults of the controller. */
const settings = {
  image: 'multinic-agent:latest',
  serviceAccount: `${account}-job`,
  priorityClass: '',
  appArmorProfile: '',
}

const [job, pod, agent] = ['object.spec', 'variables.pod', 'variables.agent']
const environment = [agentInputVariable, agentTraceVariable, ...Object.keys(agentSettings)]
const volumes = allMounts().map(mount => `${mount.name} ${mount.path} ${mount.type}`)
const mounts = allMounts().map(mount => `${mount.name} ${mount.at} ${mount.readOnly ? 'ro' : 'rw'}`)
const template = `${job}.template.metadata`
/** The API server adds those of the Job itself before it evaluates the policy. */
const podLabels = [
  ...Object.values(jobLabels),
  ...['job-name', 'controller-uid'].flatMap(key => [key, `batch.kubernetes.io/${key}`]),
]

/** Each rule by what it demands. */
const rules: Record<string, string[]> = {
  'one Pod at a time, for ten minutes at most': [
    `${job}.parallelism == 1 && ${job}.completions == 1`,
    `has(${job}.activeDeadlineSeconds) && ${job}.activeDeadlineSeconds <= ${jobDeadlineSeconds}`,
  ],
  'no Pods but its own, and no other Job controller': [...isFalse(job, 'manualSelector'), ...absent(job, 'managedBy')],
  'no owner and no finalizers': [
    ...absent('object.metadata', 'ownerReferences', 'finalizers'),
    ...absent(template, 'finalizers'),
  ],
  // Those of another component would make the Pod an endpoint of its Service.
  'the labels of the agent, without annotations of the Pod': [
    `has(${template}.labels) && ${template}.labels.all(key, key in ${listOf(podLabels)})`,
    `${template}.labels['${jobLabels.name}'] == '${agentName}' && ${template}.labels['${jobLabels.component}'] == 'agent'`,
    ...absent(template, 'annotations'),
  ],
  'one container with the name agent': [
    `size(${pod}.containers) == 1 && ${agent}.name == 'agent'`,
    ...absent(pod, 'initContainers', 'ephemeralContainers'),
  ],
  'the image of the policy': [`${agent}.image == variables.image`],
  'the program of the image, without hooks and probes': [
    ...absent(agent, 'command', 'args', 'workingDir', 'lifecycle', 'livenessProbe', 'readinessProbe', 'startupProbe'),
    ...isFalse(agent, 'stdin', 'tty'),
    `(!has(${agent}.terminationMessagePath) || ${agent}.terminationMessagePath == '/dev/termination-log')`,
  ],
  'only the variables of the agent, by value': [
    ...absent(agent, 'envFrom'),
    `has(${pod}.enableServiceLinks) && !${pod}.enableServiceLinks`,
    `(!has(${agent}.env) || ${agent}.env.all(one, !has(one.valueFrom) && one.name in ${listOf(environment)}))`,
  ],
  'no privileges but the capability NET_ADMIN': [
    `has(${agent}.securityContext)`,
    ...isFalse(`${agent}.securityContext`, 'privileged'),
    `has(${agent}.securityContext.allowPrivilegeEscalation) && !${agent}.securityContext.allowPrivilegeEscalation`,
    `has(${agent}.securityContext.readOnlyRootFilesystem) && ${agent}.securityContext.readOnlyRootFilesystem`,
    `has(${agent}.securityContext.capabilities) && has(${agent}.securityContext.capabilities.drop)`,
    `${agent}.securityContext.capabilities.drop == ['ALL']`,
    `(!has(${agent}.securityContext.capabilities.add) || ${agent}.securityContext.capabilities.add == ['NET_ADMIN'])`,
    ...absent(`${agent}.securityContext`, 'procMount', 'windowsOptions'),
    ...absent(`${pod}.securityContext`, 'supplementalGroups', 'fsGroup'),
  ],
  'the seccomp, SELinux and AppArmor settings of the agent': [
    ...absent(`${agent}.securityContext`, 'seccompProfile', 'seLinuxOptions', 'appArmorProfile'),
    `has(${pod}.securityContext) && has(${pod}.securityContext.seccompProfile)`,
    `${pod}.securityContext.seccompProfile.type == 'RuntimeDefault'`,
    `(!has(${pod}.securityContext.seLinuxOptions) || ${pod}.securityContext.seLinuxOptions.type == 'spc_t')`,
    `(!has(${pod}.securityContext.appArmorProfile) || ${isSetting(`${pod}.securityContext.appArmorProfile.type`, 'appArmorProfile')})`,
    ...absent(`${pod}.securityContext`, 'sysctls', 'windowsOptions'),
  ],
  'no namespace of the host but its network, and no other runtime': [
    ...isFalse(pod, 'hostPID', 'hostIPC', 'shareProcessNamespace'),
    ...absent(pod, 'hostUsers', 'runtimeClassName'),
  ],
  // The agent protects the route to the API server, whose name it resolves.
  'names resolved as on the node': [
    `has(${pod}.dnsPolicy) && ${pod}.dnsPolicy == 'Default'`,
    ...absent(pod, 'dnsConfig', 'hostAliases'),
  ],
  'one node by name': [`has(${pod}.nodeName) && ${pod}.nodeName != ''`],
  'the ServiceAccount of the agent, without a token': [
    `has(${pod}.serviceAccountName) && ${pod}.serviceAccountName == variables.serviceAccount`,
    `has(${pod}.automountServiceAccountToken) && !${pod}.automountServiceAccountToken`,
  ],
  'the priority class of the policy': [isSetting(`${pod}.priorityClassName`, 'priorityClass')],
  'only the host paths of the agent': [
    `(!has(${pod}.volumes) || ${pod}.volumes.all(one, has(one.hostPath) && has(one.hostPath.type) && one.name + ' ' + one.hostPath.path + ' ' + one.hostPath.type in ${listOf(volumes)}))`,
  ],
  'each host path at its place, read-only where the agent only reads': [
    `(!has(${agent}.volumeMounts) || ${agent}.volumeMounts.all(one, ${absent('one', 'subPath', 'subPathExpr', 'mountPropagation').join(' && ')} && one.name + ' ' + one.mountPath + (has(one.readOnly) && one.readOnly ? ' ro' : ' rw') in ${listOf(mounts)}))`,
    ...absent(agent, 'volumeDevices'),
  ],
  'no ports and no devices': [
    ...absent(agent, 'ports'),
    ...absent(pod, 'resourceClaims'),
    ...['requests', 'limits'].map(
      kind =>
        `(!has(${agent}.resources) || !has(${agent}.resources.${kind}) || ${agent}.resources.${kind}.all(key, key in ['cpu', 'memory']))`,
    ),
  ],
}

export const agentPolicy: Policy = {
  apiVersion,
  kind: 'ValidatingAdmissionPolicy',
  metadata: { name, labels },
  spec: {
    failurePolicy: 'Fail',
    matchConstraints: {
      resourceRules: [
        { apiGroups: ['batch'], apiVersions: ['*'], operations: ['CREATE', 'UPDATE'], resources: ['jobs'] },
      ],
    },
    matchConditions: [{ name: 'controller', expression: isController }],
    variables: [
      ...Object.entries(settings).map(([setting, value]) => ({ name: setting, expression: `'${value}'` })),
      { name: 'pod', expression: `${job}.template.spec` },
      { name: 'agent', expression: `${pod}.containers[0]` },
    ],
    validations: Object.entries(rules).map(([rule, conditions]) => ({
      expression: conditions.join(' && '),
      message: `the controller may only create agent Jobs: ${rule}`,
      reason: 'Forbidden',
    })),
  },
}

export const agentPolicyBinding = denyingBinding(agentPolicy)
