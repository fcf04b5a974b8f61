/**
 * The programs of a node: kubelet, containerd and runc, in the mount, UTS, IPC and PID namespaces of node-init.sh.
 */
import { existsSync } from 'node:fs'
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createCgroup } from '../cgroup.ts'
import { type Daemon, type RunOptions, type RunResult, run, startDaemon, waitForAnswer } from '../process.ts'
import { binary } from './binaries.ts'
import { type ControlPlane, kubeconfigText } from './control-plane.ts'
import { writePauseImage } from './images.ts'
import { containerdConfig, inCgroup, kubeletConfig, noNetwork, noNetworkPlugin, runtimeSpec } from './node-config.ts'

export interface ProgramsOptions {
  name: string
  address: string
  /** Directory for the files of the programs. */
  disk: string
  cgroup: string
  /** OCI archives. */
  images: readonly string[]
  /** The directory of the CNI plugins, and the configuration. Without it, Pods have no network of their own. */
  cni?: { plugins: string; config: object }
  /** Settings of the kubelet. */
  kubelet?: object
  /** A node of the sandbox: the directory with its files. Its kubelet stays in the network namespace of the caller. */
  root?: string
}

export interface Machine {
  bootID: string
  kubelet: Daemon
  /** Starts a program in the machine. */
  run(program: string, command: readonly string[]): Daemon
  /** Runs a command in the machine as root. */
  exec(command: string, args: readonly string[], options?: RunOptions): Promise<RunResult>
  /** Kills all programs. */
  powerOff(): Promise<void>
}

export interface NodePrograms {
  start(boot: { netns: string; uuid: string; bootID: string }): Promise<Machine>
}

/** Writes the files of the programs. They can be started many times. */
export async function preparePrograms(cp: ControlPlane, options: ProgramsOptions): Promise<NodePrograms> {
  const { name, address, disk, cgroup, root } = options
  const serving = await cp.authority.issue(`node-${name}`, `/O=system:nodes/CN=system:node:${name}`, {
    subjectAltName: `IP:${address},DNS:${name}`,
    extendedKeyUsage: 'clientAuth,serverAuth',
  })
  const pause = join(disk, 'pause.tar')
  await writePauseImage(pause)
  const cni = { plugins: options.cni?.plugins ?? join(disk, 'cni'), config: join(disk, 'net.d') }
  await mkdir(cni.config)
  await writeFile(join(cni.config, '10-pods.conflist'), options.cni ? JSON.stringify(options.cni.config) : noNetwork)
  if (!options.cni) {
    await mkdir(cni.plugins)
    await writeFile(join(cni.plugins, 'loopback'), noNetworkPlugin, { mode: 0o755 })
  }
  const spec = join(disk, 'spec.json')
  await writeFile(spec, await runtimeSpec())
  const data = root === undefined ? '/var/lib' : '/srv'
  await writeFile(join(disk, 'containerd.toml'), await containerdConfig({ cni, spec, data }))
  const kubeconfig = kubeconfigText(cp.server, cp.authority.cert, {
    'client-certificate': serving.cert,
    'client-key': serving.key,
  })
  await writeFile(join(disk, 'kubeconfig'), kubeconfig)
  const kubelet = kubeletConfig({ address, serving, clientCa: cp.authority.cert })
  await writeFile(join(disk, 'kubelet.json'), JSON.stringify({ ...kubelet, ...inCgroup(cgroup), ...options.kubelet }))

  return {
    async start({ netns, uuid, bootID }) {
      const groups = await createCgroup(`${cgroup}/system`)
      const start = (program: string, command: readonly string[], env: Record<string, string> = {}) =>
        startDaemon('bash', ['-c', joinGroups, 'bash', groups.join(' '), ...command], {
          log: join(disk, `${program}.log`),
          env,
        })

      await rm(join(disk, 'ready'), { force: true })
      const init = start(
        'init',
        [
          ...['nsenter', `--net=/run/netns/${netns}`],
          ...['unshare', '--mount', '--propagation', root === undefined ? 'private' : 'slave'],
          ...['--uts', '--ipc', '--pid', '--fork', '--kill-child', join(import.meta.dirname, 'node-init.sh')],
        ],
        { DISK: disk, NAME: name, UUID: uuid, BOOT_ID: bootID, ...(root !== undefined && { ROOT: root }) },
      )
      await waitForAnswer(`init of ${name}`, init, async () => {
        if (!existsSync(join(disk, 'ready'))) throw new Error('the ready file does not exist')
      })
      const enter = ['--target', String(await onlyChild(init.pid)), '--mount', '--uts', '--ipc', '--pid']
      const inside = ['nsenter', ...enter, '--net', 'env', `PATH=${path}`]
      const exec: Machine['exec'] = (command, args, more) => run('nsenter', [...enter, '--net', command, ...args], more)

      const containerd = start('containerd', [
        ...inside,
        binary('containerd'),
        '--config',
        join(disk, 'containerd.toml'),
      ])
      const ctr = (...args: string[]) => exec('env', [`PATH=${path}`, binary('ctr'), '-n', 'k8s.io', ...args])
      await waitForAnswer(`containerd of ${name}`, containerd, () => ctr('version'))
      for (const image of [pause, ...options.images]) await ctr('images', 'import', image)

      const kubelet = start('kubelet', [
        ...(root === undefined ? inside : [...restarting, 'nsenter', ...enter, 'env', `PATH=${path}`]),
        ...[binary('kubelet'), `--config=${join(disk, 'kubelet.json')}`, `--root-dir=${join(data, 'kubelet')}`],
        ...[`--kubeconfig=${join(disk, 'kubeconfig')}`, `--hostname-override=${name}`, `--node-ip=${address}`],
      ])
      return {
        bootID,
        kubelet,
        run: (program, command) => start(program, [...inside, ...command]),
        exec,
        async powerOff() {
          await kubelet.stop('SIGKILL')
          await init.stop('SIGKILL')
        },
      }
    },
  }
}

const path = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'

/** Adds the shell, and so the program that replaces it, to the cgroups of its first argument. */
const joinGroups = 'for group in $1; do echo $$ >"$group/cgroup.procs"; done; shift; exec "$@"'

/** As systemd does: a kubelet does not start while the disk is full. */
const restarting = ['bash', '-c', 'while :; do "$@"; sleep 1; done', 'bash']

async function onlyChild(pid: number): Promise<number> {
  const children = await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8')
  const child = Number(children.trim().split(' ')[0])
  if (!child) throw new Error(`process ${pid} has no child`)
  return child
}

interface NodeStatus {
  status?: { nodeInfo?: { bootID?: string }; conditions?: { type: string; status: string; reason?: string }[] }
}

/** After a power cycle the node stays Ready for a while, so the boot ID must match too. */
export async function isReady(cp: ControlPlane, name: string, bootID: string): Promise<void> {
  const { status } = (await cp.get(`/api/v1/nodes/${name}`)) as NodeStatus
  const ready = status?.conditions?.find(condition => condition.type === 'Ready')
  if (status?.nodeInfo?.bootID !== bootID) throw new Error(`boot ID is ${status?.nodeInfo?.bootID}, not ${bootID}`)
  if (ready?.status !== 'True') throw new Error(`not Ready: ${ready?.reason}`)
}
