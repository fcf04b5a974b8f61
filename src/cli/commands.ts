/**
 * The people's commands: what they are called and take. What they do is loaded when one of them runs.
 */
import { Argument, Command, CommanderError, InvalidArgumentError, Option } from 'commander'
import { version } from '../runtime/version.ts'
import type { Flags } from './actions.ts'
import { clusterCommands } from './cluster-commands.ts'
import { type Shell, shells } from './completion.ts'
import { CliError, type Ending, type Io } from './io.ts'
import { migrateCommand } from './legacy/migrate-commands.ts'

type Commands = typeof import('./actions.ts')

const allForms = ['wide', 'json', 'yaml', 'csv']

export function peopleCommands(io: Io, ended: (ending: Ending) => void): Command[] {
  const run =
    <T extends unknown[]>(act: (commands: Commands, flags: Flags, ...given: T) => Promise<Ending>) =>
    async (...given: unknown[]) => {
      const [flags, ...rest] = given.slice(0, -1).reverse() as [Flags, ...unknown[]]
      ended(await act(await import('./actions.ts'), flags, ...(rest.reverse() as T)))
    }

  const status = asking('status', 'show providers, OpenstackConfigs, nodes and NICs as a tree', ...allForms)
    .argument('[node]', 'only this node')
    .addOption(ofProvider())
    .option('--kubeconfig <file>', 'of the management cluster: also show how its OpenstackConfigs are')
    .option('--context <name>', 'context of the kubeconfig')
    .action(run((commands, flags, node?: string) => commands.status(io, flags, node)))

  const why = asking('why', 'tell why a port, node or VM is as it is, and what to do', ...allForms)
    .argument('<what>', 'port id, node name, VM id, IP or MAC address')
    .addOption(ofProvider())
    .addOption(ofOperator())
    .action(run((commands, flags, what: string) => commands.why(io, flags, what)))

  const plan = asking(
    'plan',
    'tell what an OpenstackConfig would send and remove, and why; changes nothing',
    'json',
    'yaml',
  )
    .requiredOption('-f, --filename <file>', 'the OpenstackConfig, YAML or JSON; - is the standard input')
    .option('-n, --namespace <name>', 'where the object names none')
    .addOption(ofOperator())
    .action(run((commands, flags) => commands.plan(io, flags)))

  const history = asking('history', 'show what changed on a node, newest first', ...allForms)
    .argument('<node>', 'name of the node')
    .addOption(at('what the node had at this time instead'))
    .addOption(ofProvider())
    .option('--limit <count>', 'at most so many changes (100)', wholeNumber)
    .action(run((commands, flags, node: string) => commands.history(io, flags, node)))

  const find = asking('find', 'find an IP, MAC, port, VM or node by its beginning', ...allForms)
    .argument('<what>', 'how the address, id or name begins')
    .addOption(at('who had it at this time'))
    .option('--limit <count>', 'at most so many hits (50)', wholeNumber)
    .action(run((commands, flags, what: string) => commands.find(io, flags, what)))

  const check = asking(
    'check',
    'list NICs that are not as they were asked for; ends with 1 when there are any',
    ...allForms,
  )
    .addOption(ofProvider())
    .action(run((commands, flags) => commands.check(io, flags)))

  const exported = asking('export', 'write all nodes and NICs, as CSV unless told otherwise', ...allForms)
    .addOption(ofProvider())
    .addOption(at('as it was at this time'))
    .action(run((commands, flags) => commands.exported(io, flags)))

  const completion = new Command('completion')
    .description('write the completion script of a shell')
    .addArgument(new Argument('<shell>', 'whose').choices(shells))
    .addHelpText(
      'after',
      '\nTry it:\n  source <(multinic completion bash)\n  source <(multinic completion zsh)\n  multinic completion fish | source',
    )
    .exitOverride()
    .action(async (shell: Shell, _flags, command: Command) => {
      const { completionScript, wordsOf } = await import('./completion.ts')
      io.out(completionScript(shell, wordsOf(command.parent ?? command)))
    })

  const told = new Command('version')
    .description('tell the version of this program')
    .exitOverride()
    .action(() => io.out(`multinic ${version}\n`))

  const others = [migrateCommand(io, ended), ...clusterCommands(io, ended), completion, told]
  return [status, why, plan, history, find, check, exported, ...others]
}

/** 0 and 1 are answers, yes and no; 2 is no answer. A part that fails ends with 1. */
export function exitCodeOf(error: unknown): number {
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2
  return error instanceof CliError ? 2 : 1
}

function asking(name: string, description: string, ...formats: string[]): Command {
  return new Command(name)
    .description(description)
    .addOption(new Option('-o, --output <format>', 'another form than words').choices(formats))
    .option('--inventory <url>', 'address of the inventory ($MULTINIC_INVENTORY_URL)')
    .option('--token-file <file>', 'file with the bearer token ($MULTINIC_TOKEN_FILE)')
    .showHelpAfterError(`(multinic ${name} --help tells more)`)
    .exitOverride()
}

function ofProvider(): Option {
  return new Option('--provider <id>', 'only of this provider')
}

function ofOperator(): Option {
  return new Option('--operator <url>', 'where the operator answers, unless at the inventory ($MULTINIC_OPERATOR_URL)')
}

function at(what: string): Option {
  return new Option('--at <time>', `${what}: 2026-01-31T10:00:00Z, or 90m for so long ago`)
}

function wholeNumber(text: string): number {
  if (!/^[1-9]\d{0,2}$|^1000$/.test(text)) throw new InvalidArgumentError('It must be a whole number from 1 to 1000.')
  return Number(text)
}
