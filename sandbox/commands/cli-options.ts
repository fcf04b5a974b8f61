/**
 * Options shared by the sandbox commands: the state directory, the connection to the running sandbox, and argument parsers.
 */
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Command, InvalidArgumentError } from 'commander'
import { CliError } from '../../src/cli/io.ts'
import { parseDuration } from '../../src/contract/duration.ts'
import { environment } from '../../src/runtime/env.ts'
import { type ControlClient, connectControl } from '../control/client.ts'
import { findOwner, type StateDir, stateDir } from '../lifecycle/state-dir.ts'

export interface SandboxLocation {
  dir?: string
}

export function addCommand(parent: Command, name: string, description: string): Command {
  const fallback = '$MULTINIC_SANDBOX_DIR, or a directory per user below the temporary directory'
  return parent
    .command(name)
    .description(description)
    .option('--dir <directory>', `state directory of the sandbox (default: ${fallback})`)
}

export function stateDirOf({ dir }: SandboxLocation): StateDir {
  const chosen = dir ?? environment()['MULTINIC_SANDBOX_DIR']
  return stateDir(chosen || join(tmpdir(), `multinic-sandbox-${process.getuid?.() ?? 0}`))
}

/** Runs an action on the running sandbox. */
export async function withControl<T>(
  location: SandboxLocation,
  action: (control: ControlClient) => Promise<T>,
): Promise<T> {
  const state = stateDirOf(location)
  if (!(await findOwner(state)))
    throw new CliError(`no sandbox is running in ${state.dir}; start one with "multinic sandbox up"`)
  const control = connectControl(state)
  try {
    return await action(control)
  } finally {
    await control.close()
  }
}

export function positiveInteger(text: string): number {
  if (!/^[1-9]\d*$/.test(text)) throw new InvalidArgumentError('must be a positive integer')
  return Number(text)
}

export function parseMilliseconds(text: string): number {
  if (/^0(ms|s)?$/.test(text)) return 0
  const ms = parseDuration(text)
  if (ms === undefined) throw new InvalidArgumentError('must be a duration, such as 300ms')
  return ms
}
