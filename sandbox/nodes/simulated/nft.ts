/**
 * `nft -f -` for the simulated kernel: keeps the tables as texts and lists them. Knows the commands of the agent; no packet of
 * a simulated node passes a table. A script that fails changes nothing.
 */
import type { CommandResult } from '../../../src/agent/host/host.ts'
import type { Namespace } from './network.ts'

export function runNft(namespace: Pick<Namespace, 'tables'>, script: string): CommandResult {
  const tables = new Map(namespace.tables)
  // A table ends with a brace in the first column.
  const commands = script.match(/^(?:table \S+ \S+ \{[\s\S]*?^\}|[^#\n].*)$/gm) ?? []
  let stdout = ''
  const fail = (error: string) => ({ code: 1, stdout: '', stderr: `/dev/stdin:1:1-5: Error: ${error}\n` })
  for (const command of commands) {
    const [, verb = '', name = ''] = /^(list tables|list table|delete table|table)(?: (\S+ \S+))?/.exec(command) ?? []
    if (verb === 'list tables') for (const each of tables.keys()) stdout += `table ${each}\n`
    else if (verb === 'table')
      tables.set(name, command.includes('{') ? command : (tables.get(name) ?? `table ${name} {\n}`))
    else if (verb === '') return fail(`syntax error: ${command}`)
    else if (!tables.has(name)) return fail('No such file or directory')
    else if (verb === 'list table') stdout += `${tables.get(name)}\n`
    else tables.delete(name)
  }
  namespace.tables = tables
  return { code: 0, stdout, stderr: '' }
}
