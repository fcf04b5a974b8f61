/**
 * `multinic sandbox fault`: lists faults, starts them and stops them.
 */
import type { Command } from 'commander'
import { CliError } from '../../src/cli/io.ts'
import { addCommand, parseMilliseconds, type SandboxLocation, withControl } from '../commands/cli-options.ts'
import type { ActiveFault } from './active-faults.ts'
import { catalogue, catalogueText, type FaultName, isFaultName } from './catalogue.ts'

interface Flags extends SandboxLocation {
  for?: number
  node?: string
}

export function addFaultCommand(sandbox: Command): void {
  addCommand(sandbox, 'fault', 'inject a fault by name; without a name, list all faults')
    .argument('[name]', 'fault to start, such as slow-neutron; or off')
    .argument('[which]', 'after off: fault to stop (default: all)')
    .option('--for <duration>', 'stop the fault after this time, such as 30s', parseMilliseconds)
    .option('--node <name>', 'affect this node only (for faults of nodes)')
    .action(async (name: string | undefined, which: string | undefined, flags: Flags) => {
      const { for: forMs, node, ...location } = flags
      if (name === undefined) return console.log(catalogueText())
      if (name === 'off')
        return console.log(activeText(await withControl(location, control => control.stopFault(which))))
      if (which !== undefined)
        throw new CliError(`unexpected argument "${which}"; name one fault at a time, such as ${name}`)
      await withControl(location, control => control.startFault({ name, node, forMs }))
      if (isFaultName(name)) console.log(startedText(name, forMs))
    })
}

function startedText(name: FaultName, forMs: number | undefined): string {
  const { component, effect, recovery, oneShot } = catalogue[name]
  const end = oneShot ? '' : forMs ? ` after ${forMs / 1000} s` : ` with "fault off ${name}"`
  return `${component} ${effect}\nrecovery${end}: ${recovery}`
}

function activeText(active: ActiveFault[]): string {
  return active.length === 0 ? 'no active faults' : `still active: ${active.map(({ name }) => name).join(', ')}`
}
