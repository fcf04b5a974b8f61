/**
 * `multinic sandbox`: the commands of the sandbox.
 */
import { type Command, Option } from 'commander'
import { CliError } from '../../src/cli/io.ts'
import { environment } from '../../src/runtime/env.ts'
import { messageOf } from '../../src/runtime/errors.ts'
import { statusTree } from '../control/status.ts'
import { addFaultCommand } from '../faults/command.ts'
import { stopAndRemove } from '../lifecycle/state-dir.ts'
import {
  addCommand,
  parseMilliseconds,
  positiveInteger,
  type SandboxLocation,
  stateDirOf,
  withControl,
} from './cli-options.ts'
import { openShell } from './shell.ts'
import { tour } from './tour.ts'

/** Adds the commands to `multinic sandbox`. */
export function addSandboxCommands(sandbox: Command): void {
  sandbox.enablePositionalOptions()

  addCommand(sandbox, 'up', 'start a sandbox in the background (3 nodes, 2 subnets), attach ports, wait for their NICs')
    .addOption(new Option('--background').hideHelp())
    .option('--nodes <count>', 'number of nodes (default: 3, or 1 virtual machine)', positiveInteger)
    .addOption(
      new Option(
        '--simulated',
        'simulate nodes in memory instead of namespaces; for many nodes (--nodes 500)',
      ).conflicts('vm'),
    )
    .option('--vm', 'nodes are virtual machines in QEMU, with a real kernel, PCI hot-plug and reboots (root)')
    .option('--nic-delay <duration>', 'time until a hot-plugged NIC appears (default: 300ms)', parseMilliseconds)
    .option('--rabbitmq <url>', 'RabbitMQ for cloud notifications: amqp://user:password@host/, or local to start one')
    .addOption(kindOption('kubernetes', 'etcd, kube-apiserver and kube-controller-manager'))
    .addOption(kindOption('openstack', 'Keystone, Neutron, Nova and RabbitMQ'))
    .action(
      async ({ background, nicDelay, rabbitmq, kubernetes, openstack, dir, ...more }: SandboxLocation & UpFlags) => {
        const { rabbitmqVariable, runSandbox, up } = await import('./up.ts')
        const options = {
          ...more,
          nodes: more.nodes ?? (more.vm ? 1 : 3),
          state: stateDirOf({ ...(dir && { dir }) }),
          nicDelayMs: nicDelay ?? 300,
          rabbitmq: rabbitmq ?? environment()[rabbitmqVariable],
          real: { kubernetes: kubernetes === 'real', openstack: openstack === 'real' },
          program: './bin/multinic',
          print: console.log,
        }
        if (options.real.openstack && options.rabbitmq)
          throw new CliError('--rabbitmq: --openstack real starts its own broker; leave out --rabbitmq')
        if (!background) return up(options)
        await runSandbox(options).catch(error => {
          console.error(`multinic: ${messageOf(error)}`)
          process.exitCode = 1
        })
        // Open keep-alive connections to its own servers would keep the process running.
        process.exit()
      },
    )

  addCommand(sandbox, 'down', 'stop the sandbox and remove everything it created, also after a crash').action(
    async (location: SandboxLocation) => {
      const state = stateDirOf(location)
      const existed = await stopAndRemove(state)
      console.log(existed ? 'sandbox removed: processes, namespaces, files' : `no sandbox is running in ${state.dir}`)
    },
  )

  addCommand(sandbox, 'attach', 'attach ports to a VM')
    .requiredOption('--vm <name>', 'name or id of the VM, such as worker-1')
    .requiredOption('--subnet <name>', 'storage or backup; app if you have applied config/samples')
    .option('--count <count>', 'number of ports', positiveInteger, 1)
    .action(
      async ({ vm, subnet, count, ...location }: SandboxLocation & { vm: string; subnet: string; count: number }) => {
        const ports = await withControl(location, control => control.attach({ vm, subnet, count }))
        for (const port of ports) console.log(`attached port ${port.id}  ${port.macAddress}  ${port.address}`)
      },
    )

  addCommand(sandbox, 'detach', 'detach ports from a VM')
    .requiredOption('--vm <name>', 'name or id of the VM')
    .option('--port <id>', 'port to detach, by id')
    .option('--name <interface>', 'port to detach, by the name of its NIC, such as multinic1')
    .option('--all', 'detach all ports except the primary one')
    .action(async ({ vm, port, name, all, ...location }: SandboxLocation & DetachFlags) => {
      if ([port, name, all].filter(Boolean).length !== 1)
        throw new CliError('specify one of --port ID, --name multinic1 and --all')
      const which = port ? { vm, port } : name ? { vm, name } : { vm, all: true as const }
      const ports = await withControl(location, control => control.detach(which))
      for (const gone of ports) console.log(`detached port ${gone.id}  ${gone.macAddress}  ${gone.address}`)
      if (ports.length === 0) console.log(`${vm} has no ports to detach`)
    })

  addCommand(sandbox, 'reboot', 'reboot a node; its NICs come back from its own files only')
    .argument('<node>')
    .action(async (node: string, location: SandboxLocation) => {
      await withControl(location, control => control.reboot(node))
      console.log(`${node} rebooted`)
    })

  addCommand(sandbox, 'shell', 'open a shell on a node, or run a command there')
    .argument('<node>')
    .argument('[command...]')
    .passThroughOptions()
    .action(async (node: string, command: string[], location: SandboxLocation) => {
      process.exitCode = await withControl(location, control => openShell(control, node, command))
    })

  addFaultCommand(sandbox)
  addCommand(sandbox, 'tour', 'guided tour: start a sandbox, explain it step by step, remove it').action(tour)

  addCommand(sandbox, 'status', 'show nodes and NICs as a tree')
    .addOption(new Option('-o, --output <format>', 'output format').choices(['tree', 'json']).default('tree'))
    .action(async ({ output, ...location }: SandboxLocation & { output: string }) => {
      const status = await withControl(location, control => control.status())
      if (output === 'json') return console.log(JSON.stringify(status, null, 2))
      console.log(statusTree(status))
      console.log(`\nexport KUBECONFIG=${status.kubeconfigs.biz}\nexport KUBECONFIG=${status.kubeconfigs.management}`)
    })
}

interface UpFlags {
  background?: boolean
  simulated?: boolean
  vm?: boolean
  nodes?: number
  nicDelay?: number
  rabbitmq?: string
  kubernetes: Kind
  openstack: Kind
}

type Kind = 'simulated' | 'real'

function kindOption(name: string, programs: string): Option {
  const text = `simulated, or real (${programs}, built as for the tests of the project)`
  return new Option(`--${name} <kind>`, text).choices(['simulated', 'real']).default('simulated')
}

interface DetachFlags {
  vm: string
  port?: string
  name?: string
  all?: boolean
}
