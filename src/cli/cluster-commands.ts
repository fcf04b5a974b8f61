/**
 * `multinic doctor` and `multinic support-bundle`: what they are called and take. What they do is loaded when one of them
 * runs.
 */
import { Command, Option } from 'commander'
import type { DoctorFlags } from './doctor/doctor.ts'
import type { Ending, Io } from './io.ts'
import type { SupportFlags } from './support-bundle.ts'

export function clusterCommands(io: Io, ended: (ending: Ending) => void): Command[] {
  const doctor = ofCluster(
    'doctor',
    'say what is wrong with an installation, and what to do; ends with 1 when something is',
  )
    .option('--url <address...>', 'also ask this part whether it is ready')
    .addOption(new Option('-o, --output <format>', 'another form than words').choices(['json', 'yaml']))
    .action(async (flags: DoctorFlags) => ended(await (await import('./doctor/doctor.ts')).doctor(io, flags)))

  const bundle = ofCluster(
    'support-bundle',
    'write what others need to see a problem into a directory; no secrets in it',
  )
    .requiredOption('-d, --directory <name>', 'a directory that does not exist yet')
    .action(async (flags: SupportFlags) => ended(await (await import('./support-bundle.ts')).supportBundle(io, flags)))
  return [doctor, bundle]
}

function ofCluster(name: string, description: string): Command {
  return new Command(name)
    .description(description)
    .option('--kubeconfig <file>', 'of the cluster ($KUBECONFIG)')
    .option('--context <name>', 'context of the kubeconfig')
    .option('-n, --namespace <name>', 'of our parts (multinic-system)')
    .showHelpAfterError(`(multinic ${name} --help tells more)`)
    .exitOverride()
}
