/**
 * Names and options of the commands that use a cluster: `retry`, `rollout`, `doctor` and `support-bundle`. Their code is loaded when one of them runs.
 */
import { type Command, Option } from 'commander'
import type { DoctorFlags } from './doctor/doctor.ts'
import type { Ending, Io } from './io.ts'
import { messagesIn } from './messages/messages.ts'
import type { RequestFlags } from './node-requests.ts'
import type { RolloutFlags } from './rollout.ts'
import type { SupportFlags } from './support-bundle.ts'
import { userCommand } from './user-command.ts'

export function clusterCommands(io: Io, ended: (ending: Ending) => void): Command[] {
  const { help } = messagesIn(io.language)
  const ofCluster = (name: string, description: string, path = name) =>
    userCommand(io.language, name, description, path)
      .option('--kubeconfig <file>', help.kubeconfig)
      .option('--context <name>', help.context)
      .option('-n, --namespace <name>', help.namespace)

  const doctor = ofCluster('doctor', help.doctor)
    .option('--url <address...>', help.doctorUrl)
    .option('--inventory <url>', help.inventory)
    .option('--token-file <file>', help.tokenFile)
    .option('--ca-file <file>', help.caFile)
    .option('--send-token', help.sendToken)
    .addOption(new Option('-o, --output <format>', help.output).choices(['json', 'yaml']))
    .action(async (flags: DoctorFlags) => ended(await (await import('./doctor/doctor.ts')).doctor(io, flags)))

  const retry = ofCluster('retry', help.retry)
    .argument('[node]', help.retryNode)
    .argument('[interface]', help.retryInterface)
    .option('-l, --selector <labels>', help.selector)
    .option('--timeout <duration>', help.timeout)
    .option('--no-wait', help.noWait)
    .action(async (node: string | undefined, nic: string | undefined, flags: RequestFlags) =>
      ended(await (await import('./node-requests.ts')).retry(io, flags, node, nic)),
    )

  const rollout = userCommand(io.language, 'rollout', help.rollout)
  rollout.addCommand(
    ofCluster('agent', help.rolloutAgent, 'rollout agent')
      .addOption(new Option('--cancel', help.rolloutCancel).conflicts(['timeout', 'wait']))
      .option('--timeout <duration>', help.rolloutTimeout)
      .option('--no-wait', help.noWait)
      .action(async (flags: RolloutFlags) => ended(await (await import('./rollout.ts')).rolloutAgent(io, flags))),
  )
  rollout.addCommand(
    ofCluster('status', help.rolloutStatus, 'rollout status').action(async (flags: RolloutFlags) =>
      ended(await (await import('./rollout.ts')).rolloutStatus(io, flags)),
    ),
  )

  const bundle = ofCluster('support-bundle', help.supportBundle)
    .option('--file <file>', help.supportFile)
    .action(async (flags: SupportFlags) => ended(await (await import('./support-bundle.ts')).supportBundle(io, flags)))
  return [retry, rollout, doctor, bundle]
}
