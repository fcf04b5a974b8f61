/**
 * `multinic sandbox`: the commands of the sandbox, for people and for tests.
 */
import { Command, Option } from 'commander'
import { environment } from '../../src/runtime/env.ts'
import { messageOf } from '../../src/runtime/errors.ts'
import { treeOf } from '../control/status.ts'
import { addFaultCommand } from '../faults/command.ts'
import { clean, isKept } from '../lifecycle/state-dir.ts'
import { addPlayCommands } from '../scenarios/command.ts'
import { command, milliseconds, running, stateOf, type Where, wholeNumber } from './cli-options.ts'
import { openShell } from './shell.ts'

export function sandboxCommand(): Command {
  const sandbox = new Command('sandbox')
    .description('the whole chain on this machine: clusters, cloud, nodes with real kernel NICs')
    .enablePositionalOptions()

  command(sandbox, 'up', 'start it in the background (3 nodes, 2 subnets), attach ports, wait for their NICs')
    .option('--foreground', 'stay in the terminal until Ctrl-C')
    .option('--detach', 'return when it is up (the default)')
    .option('--nodes <count>', 'how many nodes', wholeNumber, 3)
    .option('--simulated', 'nodes in memory instead of namespaces: for many nodes (--nodes 500)')
    .option('--keep', 'keep objects, cloud, inventory and the files of nodes for the next up --keep')
    .option('--nic-delay <duration>', 'how long a hot-plugged NIC takes to appear', milliseconds, 300)
    .option('--rabbitmq <url>', 'a RabbitMQ that the cloud tells of its changes (amqp://user:password@host/), or local')
    .addOption(kindOf('kubernetes', 'etcd, kube-apiserver and kube-controller-manager'))
    .addOption(kindOf('openstack', 'Keystone, Neutron, Nova and RabbitMQ'))
    .action(async ({ foreground, nicDelay, rabbitmq, kubernetes, openstack, dir, ...more }: Where & UpFlags) => {
      const { rabbitmqVariable, upDetached, upForeground } = await import('./up.ts')
      const options = {
        ...more,
        state: stateOf({ ...(dir && { dir }) }),
        nicDelayMs: nicDelay,
        rabbitmq: rabbitmq ?? environment()[rabbitmqVariable],
        real: { kubernetes: kubernetes === 'real', openstack: openstack === 'real' },
        program: './bin/multinic',
        say: console.log,
      }
      if (options.real.openstack && options.rabbitmq)
        throw new Error('--rabbitmq: a real OpenStack has a broker of its own; leave it out')
      if (!foreground) return upDetached(options)
      await upForeground(options).catch(error => {
        console.error(`multinic: ${messageOf(error)}`)
        process.exitCode = 1
      })
      // What is left of connections to its own servers must not keep it.
      process.exit()
    })

  command(sandbox, 'down', 'stop it and leave nothing behind, also after a crash')
    .option('--forget', 'also what --keep keeps')
    .action(async ({ forget = false, ...where }: Where & { forget?: boolean }) => {
      const state = stateOf(where)
      const there = await clean(state, { forget })
      if (isKept(state)) console.log(`the sandbox is stopped and kept in ${state.dir} (up --keep, or down --forget)`)
      else console.log(there ? 'the sandbox is gone: processes, namespaces, files' : `no sandbox runs in ${state.dir}`)
    })

  command(sandbox, 'attach', 'attach ports to a VM')
    .requiredOption('--vm <name>', 'name or id of the VM, such as worker-1')
    .requiredOption('--subnet <name>', 'storage or backup')
    .option('--count <count>', 'how many ports', wholeNumber, 1)
    .action(async ({ vm, subnet, count, ...where }: Where & { vm: string; subnet: string; count: number }) => {
      const ports = await running(where, control => control.attach({ vm, subnet, count }))
      for (const port of ports) console.log(`attached port ${port.id}  ${port.macAddress}  ${port.address}`)
    })

  command(sandbox, 'detach', 'detach ports from a VM')
    .requiredOption('--vm <name>', 'name or id of the VM')
    .option('--port <id>', 'one port by its id')
    .option('--name <interface>', 'one port by the name of its NIC, such as multinic1')
    .option('--all', 'all ports but the primary one')
    .action(async ({ vm, port, name, all, ...where }: Where & DetachFlags) => {
      if ([port, name, all].filter(Boolean).length !== 1)
        throw new Error('say which: --port ID, --name multinic1 or --all')
      const which = port ? { vm, port } : name ? { vm, name } : { vm, all: true as const }
      const ports = await running(where, control => control.detach(which))
      for (const gone of ports) console.log(`detached port ${gone.id}  ${gone.macAddress}  ${gone.address}`)
      if (ports.length === 0) console.log(`${vm} has no port to detach`)
    })

  command(sandbox, 'reboot', 'restart a node: only its own files bring its NICs back')
    .argument('<node>')
    .action(async (node: string, where: Where) => {
      await running(where, control => control.reboot(node))
      console.log(`${node} is up again`)
    })

  command(sandbox, 'shell', 'open a shell on a node, or run a command there')
    .argument('<node>')
    .argument('[command...]')
    .passThroughOptions()
    .action(async (node: string, words: string[], where: Where) => {
      const place = await running(where, control => control.node(node))
      process.exitCode = await openShell(node, place, words)
    })

  addFaultCommand(sandbox)
  addPlayCommands(sandbox)

  command(sandbox, 'status', 'show nodes and NICs as a tree')
    .option('-o, --output <format>', 'tree or json', 'tree')
    .action(async ({ output, ...where }: Where & { output: string }) => {
      const status = await running(where, control => control.status())
      if (output === 'json') return console.log(JSON.stringify(status, null, 2))
      console.log(treeOf(status))
      console.log(`\nexport KUBECONFIG=${status.kubeconfigs.biz}\nexport KUBECONFIG=${status.kubeconfigs.management}`)
    })

  return sandbox
}

interface UpFlags {
  foreground?: boolean
  simulated?: boolean
  keep?: boolean
  nodes: number
  nicDelay: number
  rabbitmq?: string
  kubernetes: Kind
  openstack: Kind
}

type Kind = 'simulated' | 'real'

function kindOf(part: string, what: string): Option {
  const text = `simulated, or real: ${what}, as the tests of the project have them`
  return new Option(`--${part} <kind>`, text).choices(['simulated', 'real']).default('simulated')
}

interface DetachFlags {
  vm: string
  port?: string
  name?: string
  all?: boolean
}
