/**
 * The agent in a guest, as its Job runs it: the Pod of `agentJob` as a container of runc, without a kubelet. Mounts, rights,
 * environment and input are those of the Job, so that they cannot differ from it.
 */
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { buildRoot, recipes } from '../../../scripts/image.ts'
import { rootFor } from '../../../scripts/images.ts'
import { type AgentReport, agentReport } from '../../../src/contract/agent-report.ts'
import type { WireInterface } from '../../../src/contract/interfaces.ts'
import type { NodeConfig } from '../../../src/contract/node-config.ts'
import { controllerConfig } from '../../../src/controller/config.ts'
import { agentJob } from '../../../src/controller/job.ts'
import { factsOf } from '../../../src/controller/machine.ts'
import type { Action } from '../../../src/controller/plan/observed.ts'
import { requestedOf } from '../../../src/controller/plan/requested.ts'
import type { NodeObject, PodSpec } from '../../../src/kube/types.ts'
import { run } from '../process.ts'
import type { Shell } from './machine.ts'

export interface AgentRequest {
  /** Without the boot ID, which is read from the guest. */
  node: NodeObject
  action: Action
  interfaces: readonly WireInterface[]
  /** Settings of the agent. */
  settings?: Record<string, string>
}

export interface AgentResult {
  code: number
  report: AgentReport | undefined
  log: string
}

/** Label of the files of a container. Debian's mount may not label a whole file system, as containerd does. */
export const fileLabel = 'system_u:object_r:container_file_t:s0'

/** The agent's image as a file system for the second disk of a machine. `add` adds more to its root directory. */
export async function buildPayload(
  dir: string,
  architecture: string,
  add: (root: string) => Promise<void> = async () => {},
): Promise<string> {
  const root = join(dir, 'payload')
  const out = join(dir, 'payload.ext4')
  await buildRoot('agent', join(root, 'agent'), { architecture, from: await rootFor(architecture) })
  await add(root)
  const { stdout } = await run('du', ['--summarize', '--block-size=1M', root])
  await run('mke2fs', [
    '-q',
    '-t',
    'ext4',
    '-O',
    '^has_journal',
    '-d',
    root,
    out,
    `${Math.ceil(Number.parseInt(stdout, 10) * 1.1) + 32}M`,
  ])
  rmSync(root, { recursive: true })
  return out
}

let generation = 0
/** A guest on a busy machine may answer later than the agent waits, and the Job would restart it. */
const maxRestarts = 3

export async function runAgent(machine: Shell, request: AgentRequest): Promise<AgentResult> {
  generation++
  const spec = await podFor(machine, request)
  await checkVolumes(machine, spec)
  // restartPolicy OnFailure: an agent that fails without a report is started again.
  let log = ''
  for (let attempt = 0; ; attempt++) {
    const { code, output, message } = await runContainer(machine, spec, `agent-${generation}-${attempt}`)
    log += output
    if (code === 0 || attempt === maxRestarts)
      return { code, report: message ? agentReport.parse(JSON.parse(message)) : undefined, log }
  }
}

export interface ContainerResult {
  code: number
  output: string
  /** What it wrote to its termination log. */
  message: string
}

/** Runs the first container of a Pod to its end. */
export async function runContainer(machine: Shell, spec: PodSpec, id: string): Promise<ContainerResult> {
  const directory = `/run/${id}`
  const selinux = (await machine.run('[ -e /sys/fs/selinux/enforce ]')).code === 0
  // The policy gives util-linux's mount a domain of its own, which may not mount for a container.
  const mount = selinux ? 'busybox mount' : 'mount'
  await machine.exec(`set -e
    mountpoint -q /payload || ${mount} -t ext4 -o ro /dev/vdb /payload
    mkdir -p ${directory}/upper ${directory}/work ${directory}/rootfs
    ${selinux ? `chcon -R ${fileLabel} ${directory}` : ''}
    ${mount} -t overlay overlay -o lowerdir=/payload/agent,upperdir=${directory}/upper,workdir=${directory}/work ${directory}/rootfs
    : >${directory}/termination-log
    cp -L /etc/resolv.conf ${directory}/resolv.conf || : >${directory}/resolv.conf`)
  await machine.writeFile(`${directory}/config.json`, JSON.stringify(containerConfig(spec, directory, selinux)))
  const { code, stdout, stderr } = await machine.run(`runc run --bundle ${directory} ${id}`)
  const message = await machine.exec(`cat ${directory}/termination-log; umount ${directory}/rootfs; rm -r ${directory}`)
  return { code, output: `${stdout}${stderr}`, message }
}

async function podFor(machine: Shell, request: AgentRequest): Promise<PodSpec> {
  const { metadata, status } = request.node
  const bootID = (await machine.exec('cat /proc/sys/kernel/random/boot_id')).trim()
  const node = factsOf({ ...request.node, status: { ...status, nodeInfo: { ...status?.nodeInfo, bootID } } })
  const config: NodeConfig = {
    apiVersion: 'multinic.io/v1',
    kind: 'MultiNicNodeConfig',
    metadata: { name: metadata.name, namespace: 'multinic-system', uid: 'uid-1', generation },
    spec: { nodeName: metadata.name, instanceId: node.systemUUID, interfaces: [...request.interfaces] },
  }
  const { action, settings } = request
  const job = { config, node, ...requestedOf(config), action, attempt: 0, takesSlot: false }
  return agentJob(job, controllerConfig({ AGENT_IMAGE: 'multinic-agent', ...settings }).agent).spec.template.spec
}

/** What the kubelet does for each type of a hostPath volume before it starts the container. */
export async function checkVolumes(machine: Shell, { volumes = [] }: PodSpec): Promise<void> {
  const lines = volumes.flatMap(({ hostPath: { path = '', type = '' } = {} }) => {
    const test = { Directory: '-d', DirectoryOrCreate: '-d', File: '-f', Socket: '-S' }[type]
    const create = type === 'DirectoryOrCreate' ? [`mkdir -p ${path}`] : []
    return [
      ...create,
      ...(test ? [`[ ${test} ${path} ] || { echo 'hostPath ${path} is no ${type}' >&2; exit 1; }`] : []),
    ]
  })
  await machine.exec(`set -e\n${lines.join('\n')}`)
}

/** An OCI configuration, with the mounts, paths and SELinux label that containerd adds. */
function containerConfig(
  { containers, volumes = [], securityContext: podContext }: PodSpec,
  directory: string,
  selinux: boolean,
): object {
  const [container] = containers
  if (!container) throw new Error('the Job has no container')
  const { env = [], volumeMounts = [], securityContext = {}, resources } = container
  const { add } = securityContext['capabilities'] as { add: string[] }
  const { type } = podContext?.['seLinuxOptions'] as { type: string }
  const capabilities = add.map(name => `CAP_${name}`)
  const bind = (source: string, destination: string, readOnly = false) => {
    return { type: 'bind', source, destination, options: ['rbind', 'rprivate', readOnly ? 'ro' : 'rw'] }
  }
  const mount = (type: string, destination: string, ...options: string[]) => ({
    type,
    source: type,
    destination,
    options,
  })
  const quiet = ['nosuid', 'noexec', 'nodev']
  return {
    ociVersion: '1.0.2',
    process: {
      user: { uid: securityContext['runAsUser'], gid: securityContext['runAsGroup'] },
      args: recipes.agent.entrypoint,
      env: ['PATH=/usr/sbin:/usr/bin:/sbin:/bin', ...env.map(({ name, value }) => `${name}=${value}`)],
      cwd: '/',
      capabilities: { bounding: capabilities, effective: capabilities, permitted: capabilities },
      noNewPrivileges: securityContext['allowPrivilegeEscalation'] === false,
      ...(selinux && { selinuxLabel: `system_u:system_r:${type}:s0` }),
    },
    root: { path: 'rootfs', readonly: securityContext['readOnlyRootFilesystem'] },
    mounts: [
      mount('proc', '/proc', ...quiet),
      mount('tmpfs', '/dev', 'nosuid', 'strictatime', 'mode=755', 'size=65536k'),
      mount('sysfs', '/sys', ...quiet, 'ro'),
      ...volumeMounts.map(({ name, mountPath, readOnly }) => {
        const source = volumes.find(volume => volume.name === name)?.hostPath?.path
        if (source === undefined) throw new Error(`the Pod has no volume ${name}`)
        return bind(source, mountPath, readOnly)
      }),
      // As the kubelet does for dnsPolicy Default.
      bind(`${directory}/resolv.conf`, '/etc/resolv.conf', true),
      bind(`${directory}/termination-log`, '/dev/termination-log'),
    ],
    linux: {
      namespaces: ['pid', 'ipc', 'uts', 'mount'].map(type => ({ type })),
      resources: { memory: { limit: bytes(resources?.limits?.['memory']) } },
      maskedPaths: ['/proc/kcore', '/proc/keys', '/proc/timer_list', '/sys/firmware'],
      readonlyPaths: ['/proc/bus', '/proc/fs', '/proc/irq', '/proc/sys', '/proc/sysrq-trigger'],
    },
  }
}

function bytes(limit = ''): number {
  const [, number] = /^(\d+)Mi$/.exec(limit) ?? []
  if (number === undefined) throw new Error(`memory limit ${limit}: must be in Mi`)
  return Number(number) * 2 ** 20
}
