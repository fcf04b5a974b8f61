/**
 * Names, arguments and options of the user commands. Their code is loaded when one of them runs.
 */
import { Argument, type Command, CommanderError, InvalidArgumentError, Option } from 'commander'
import { version } from '../runtime/version.ts'
import type { Flags } from './actions.ts'
import { clusterCommands } from './cluster-commands.ts'
import { type Shell, shells } from './completion.ts'
import { CliError, type Ending, type Io } from './io.ts'
import { migrateCommand } from './legacy/migrate-commands.ts'
import { messagesIn } from './messages/messages.ts'
import type { RenumberFlags } from './renumber.ts'
import { userCommand } from './user-command.ts'

type Actions = typeof import('./actions.ts')

const allFormats = ['wide', 'json', 'yaml', 'csv']

export function userCommands(io: Io, ended: (ending: Ending) => void): Command[] {
  const { help } = messagesIn(io.language)
  const run =
    <T extends unknown[]>(act: (actions: Actions, io: Io, flags: Flags, ...args: T) => Promise<Ending>) =>
    async (...args: unknown[]) => {
      const [flags, ...rest] = args.slice(0, -1).reverse() as [Flags & { watch?: boolean }, ...unknown[]]
      const actions = await import('./actions.ts')
      const once = (to: Io) => act(actions, to, flags, ...(rest.toReversed() as T))
      ended(await (flags.watch ? (await import('./watch.ts')).watching(io, flags, once) : once(io)))
    }
  const provider = () => new Option('--provider <id>', help.provider)
  const operator = () => new Option('--operator <url>', help.operatorUrl)
  const watch = () => new Option('-w, --watch', help.watch)
  const selector = () => new Option('-l, --selector <labels>', help.selector)
  const at = (text: string) => new Option('--at <time>', `${text}: ${help.timeFormats}`)
  const limit = (text: string) =>
    new Option('--limit <count>', text).argParser(value => {
      if (!/^[1-9]\d{0,2}$|^1000$/.test(value)) throw new InvalidArgumentError(help.integer)
      return Number(value)
    })

  const kubeconfigHelp: Record<string, string> = { status: help.statusKubeconfig, renumber: help.renumberKubeconfig }

  /** A command that reads the inventory. */
  function reading(name: string, description: string, ...formats: string[]): Command {
    return userCommand(io.language, name, description)
      .addOption(new Option('-o, --output <format>', help.output).choices(formats))
      .option('--inventory <url>', help.inventory)
      .option('--token-file <file>', help.tokenFile)
      .option('--ca-file <file>', help.caFile)
      .option('--send-token', help.sendToken)
      .option('--kubeconfig <file>', kubeconfigHelp[name] ?? help.kubeconfig)
      .option('--context <name>', help.context)
  }

  const status = reading('status', help.status, ...allFormats)
    .argument('[node]', help.statusNode)
    .addOption(provider())
    .addOption(selector())
    .addOption(watch())
    .action(run((actions, io, flags, node?: string) => actions.status(io, flags, node)))

  const why = reading('why', help.why, ...allFormats)
    .argument('<what>', help.whyWhat)
    .argument('[interface]', help.whyInterface)
    .option('--to <address>', help.whyTo)
    .addOption(provider())
    .addOption(watch())
    .action(run((actions, io, flags, what: string, nic?: string) => actions.why(io, flags, what, nic)))

  const plan = reading('plan', help.plan, 'json', 'yaml')
    .requiredOption('-f, --filename <file>', help.planFile)
    .option('-n, --namespace <name>', help.planNamespace)
    .addOption(operator())
    .action(run((actions, io, flags) => actions.plan(io, flags)))

  const renumber = reading('renumber', help.renumber, 'wide', 'json', 'yaml')
    .addOption(new Option('--plan', help.renumberPlan).conflicts(['apply', 'cancel']))
    .addOption(new Option('--apply', help.renumberApply).conflicts('cancel'))
    .option('--cancel', help.renumberCancel)
    .option('--config <name>', help.renumberConfig)
    .option('--node <name...>', help.renumberNode)
    .option('--subnet <name>', help.renumberSubnet)
    .addOption(selector())
    .option('-n, --namespace <name>', help.renumberNamespace)
    .option('--biz-kubeconfig <file>', help.renumberBizKubeconfig)
    .option('--biz-context <name>', help.renumberBizContext)
    .option('--skip-pod-check', help.renumberSkipPodCheck)
    .option('--yes', help.renumberYes)
    .option('--timeout <duration>', help.timeout)
    .option('--no-wait', help.noWait)
    .addOption(operator())
    .action(async (flags: RenumberFlags) => ended(await (await import('./renumber.ts')).renumber(io, flags)))

  const history = reading('history', help.history, ...allFormats)
    .argument('<node>', help.historyNode)
    .addOption(at(help.historyAt))
    .addOption(provider())
    .addOption(limit(help.historyLimit))
    .action(run((actions, io, flags, node: string) => actions.history(io, flags, node)))

  const find = reading('find', help.find, ...allFormats)
    .argument('<what>', help.findWhat)
    .addOption(at(help.findAt))
    .addOption(new Option('--ever', help.findEver).conflicts(['at', 'limit']))
    .addOption(limit(help.findLimit))
    .action(run((actions, io, flags, what: string) => actions.find(io, flags, what)))

  const check = reading('check', help.check, ...allFormats)
    .addOption(provider())
    .addOption(selector())
    .addOption(new Option('--now <node>', help.checkNow).conflicts(['watch', 'selector']))
    .option('-n, --namespace <name>', help.namespace)
    .option('--timeout <duration>', help.timeout)
    .addOption(watch())
    .action(run((actions, io, flags) => actions.check(io, flags)))

  const audit = reading('audit', help.audit, ...allFormats)
    .option('--from <time>', `${help.auditFrom}: ${help.timeFormats}`)
    .option('--to <time>', `${help.auditTo}: ${help.timeFormats}`)
    .option('--action <name>', help.auditAction)
    .option('--object <name>', help.auditObject)
    .option('--caller <name>', help.auditCaller)
    .addOption(limit(help.auditLimit))
    .action(run((actions, io, flags) => actions.audit(io, flags)))

  const exportCommand = reading('export', help.export, ...allFormats)
    .addOption(provider())
    .addOption(at(help.exportAt))
    .action(run((actions, io, flags) => actions.exportAll(io, flags)))

  const completion = userCommand(io.language, 'completion', help.completion)
    .addArgument(new Argument('<shell>', help.completionShell).choices(shells))
    .addHelpText(
      'after',
      `\n${help.completionUse}\n  source <(multinic completion bash)\n  source <(multinic completion zsh)\n  multinic completion fish | source`,
    )
    .action(async (shell: Shell, _flags, command: Command) => {
      const { completionScript, completionsOf } = await import('./completion.ts')
      io.out(completionScript(shell, completionsOf(command.parent ?? command)))
    })

  const versionCommand = userCommand(io.language, 'version', help.version).action(() => io.out(`multinic ${version}\n`))

  const others = [migrateCommand(io, ended), ...clusterCommands(io, ended), completion, versionCommand]
  return [status, why, plan, renumber, history, find, check, audit, exportCommand, ...others]
}

/** 0 and 1 are the answers yes and no. 2 means that there is no answer. A component that fails exits with 1. */
export function exitCodeOf(error: unknown): number {
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2
  return error instanceof CliError ? 2 : 1
}
