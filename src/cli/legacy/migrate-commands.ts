/**
 * `multinic migrate`: what its commands are called and take. What they do is loaded when one of them runs.
 */
import { Command, Option } from 'commander'
import type { Ending, Io } from '../io.ts'
import type { MigrateFlags } from './migrate.ts'

export function migrateCommand(io: Io, ended: (ending: Ending) => void): Command {
  const plan = migrating('plan', 'show the MultiNicNodeConfigs that would be made; changes nothing')
    .addOption(form())
    .action(async (flags: MigrateFlags) => ended(await (await import('./migrate.ts')).plan(io, flags)))

  const apply = migrating('apply', 'take the nodes over one by one (phase 1), then retire the documents (phases 2, 3)')
    .addOption(
      new Option(
        '--phase <number>',
        '1 takes over (default), 2 makes the documents read-only, 3 writes them out and deletes them',
      ).choices(['1', '2', '3']),
    )
    .option('--allow-changes', 'let agents change nodes that are not as wanted')
    .addOption(patience())
    .action(async (flags: MigrateFlags) => ended(await (await import('./migrate.ts')).apply(io, flags)))

  const verify = migrating('verify', 'tell of every node whether it is taken over; ends with 1 when one is not')
    .addOption(form())
    .action(async (flags: MigrateFlags) => ended(await (await import('./migrate.ts')).verify(io, flags)))

  const rollback = migrating('rollback', 'give the nodes back to their documents')
    .option('--allow-changes', 'also where a document now asks for something else')
    .addOption(patience())
    .action(async (flags: MigrateFlags) => ended(await (await import('./rollback.ts')).rollback(io, flags)))

  const migrate = new Command('migrate')
    .description('from MultiNicBizConfigs to a MultiNicNodeConfig a node, and back, without touching a NIC')
    .exitOverride()
  for (const command of [plan, apply, verify, rollback]) migrate.addCommand(command)
  return migrate
}

function migrating(name: string, description: string): Command {
  return new Command(name)
    .description(description)
    .option('--kubeconfig <file>', 'of the Biz cluster ($KUBECONFIG)')
    .option('--context <name>', 'context of the kubeconfig')
    .option('-n, --namespace <name>', 'of the controller (multinic-system)')
    .option(
      '-f, --filename <file>',
      'further MultiNicBizConfigs, YAML or JSON, also of the older group; - is the standard input',
    )
    .option('--config <name>', 'only this MultiNicBizConfig')
    .option('--node <name>', 'only this node')
    .showHelpAfterError(`(multinic migrate ${name} --help tells more)`)
    .exitOverride()
}

function form(): Option {
  return new Option('-o, --output <format>', 'another form than words').choices(['json', 'yaml'])
}

function patience(): Option {
  return new Option('--timeout <duration>', 'how long one node is waited for (5m)')
}
