/**
 * Names and options of `multinic migrate`. Its code is loaded when one of its commands runs. Support ends with 1.0.
 */
import { type Command, Option } from 'commander'
import type { Ending, Io } from '../io.ts'
import { messagesIn } from '../messages/messages.ts'
import { userCommand } from '../user-command.ts'
import type { MigrateFlags } from './migrate.ts'

export function migrateCommand(io: Io, ended: (ending: Ending) => void): Command {
  const { help } = messagesIn(io.language)
  const output = () => new Option('-o, --output <format>', help.output).choices(['json', 'yaml'])
  const timeout = () => new Option('--timeout <duration>', help.migrateTimeout)
  const migrating = (name: string, description: string) =>
    userCommand(io.language, name, description, `migrate ${name}`)
      .option('--kubeconfig <file>', help.migrateKubeconfig)
      .option('--context <name>', help.context)
      .option('-n, --namespace <name>', help.migrateNamespace)
      .option('-f, --filename <file>', help.migrateFile)
      .option('--config <name>', help.migrateConfig)
      .option('--node <name>', help.migrateNode)

  const plan = migrating('plan', help.migratePlan)
    .addOption(output())
    .action(async (flags: MigrateFlags) => ended(await (await import('./migrate.ts')).plan(io, flags)))

  const apply = migrating('apply', help.migrateApply)
    .addOption(new Option('--phase <number>', help.migratePhase).choices(['1', '2', '3']))
    .option('--allow-changes', help.migrateAllowChanges)
    .addOption(timeout())
    .action(async (flags: MigrateFlags) => ended(await (await import('./migrate.ts')).apply(io, flags)))

  const verify = migrating('verify', help.migrateVerify)
    .addOption(output())
    .action(async (flags: MigrateFlags) => ended(await (await import('./migrate.ts')).verify(io, flags)))

  const rollback = migrating('rollback', help.migrateRollback)
    .option('--allow-changes', help.rollbackAllowChanges)
    .addOption(timeout())
    .action(async (flags: MigrateFlags) => ended(await (await import('./rollback.ts')).rollback(io, flags)))

  const migrate = userCommand(io.language, 'migrate', help.migrate).helpCommand('help [command]', help.helpCommand)
  for (const command of [plan, apply, verify, rollback]) migrate.addCommand(command)
  return migrate
}
