/**
 * What the commands of the sandbox have in common: which sandbox is meant, how it is spoken to, how arguments are read.
 */
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Command, InvalidArgumentError } from 'commander'
import { parseDuration } from '../../src/contract/duration.ts'
import { environment } from '../../src/runtime/env.ts'
import { type Control, connectControl } from '../control/client.ts'
import { ownerOf, type StateDir, stateDir } from '../lifecycle/state-dir.ts'

export interface Where {
  dir?: string
}

export function command(parent: Command, name: string, description: string): Command {
  const usual = '$MULTINIC_SANDBOX_DIR, or one of yours in the directory for temporary files'
  return parent.command(name).description(description).option('--dir <directory>', `where its state is (${usual})`)
}

export function stateOf({ dir }: Where): StateDir {
  const named = dir ?? environment()['MULTINIC_SANDBOX_DIR']
  return stateDir(named || join(tmpdir(), `multinic-sandbox-${process.getuid?.() ?? 0}`))
}

export async function running<T>(where: Where, act: (control: Control) => Promise<T>): Promise<T> {
  const state = stateOf(where)
  if (!(await ownerOf(state))) throw new Error(`no sandbox runs in ${state.dir}; start one with "multinic sandbox up"`)
  const control = connectControl(state)
  try {
    return await act(control)
  } finally {
    await control.close()
  }
}

export function wholeNumber(text: string): number {
  if (!/^[1-9]\d*$/.test(text)) throw new InvalidArgumentError('must be a whole number above zero')
  return Number(text)
}

export function milliseconds(text: string): number {
  if (/^0(ms|s)?$/.test(text)) return 0
  const ms = parseDuration(text)
  if (ms === undefined) throw new InvalidArgumentError('must be a duration, such as 300ms')
  return ms
}
