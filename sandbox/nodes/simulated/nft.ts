/**
 * `nft -f -` for the simulated kernel: keeps the tables as texts and lists them. Knows the commands of the agent; no packet of
 * a simulated node passes a table.
 */
import type { CommandResult } from '../../../src/agent/host.ts'
import type { Namespace } from './network.ts'

export function runNft({ tables }: Namespace, script: string): CommandResult {
  // A table ends with a brace in the first column.
  const commands = script.match(/^(?:table \S+ \S+ \{[\s\S]*?^\}|.+)$/gm) ?? []
  let stdout = ''
  for (const command of commands) {
    const [, verb = '', name = ''] = /^(list table|delete table|table) (\S+ \S+)/.exec(command) ?? []
    if (verb === 'list table') {
      const table = tables.get(name)
      if (table === undefined) return { code: 1, stdout: '', stderr: 'Error: No such file or directory' }
      stdout += `${table}\n`
    } else if (verb === 'delete table') tables.delete(name)
    else if (verb === 'table') tables.set(name, command.includes('{') ? command : `table ${name} {\n}`)
    else return { code: 1, stdout: '', stderr: `Error: syntax error: ${command}` }
  }
  return { code: 0, stdout, stderr: '' }
}
