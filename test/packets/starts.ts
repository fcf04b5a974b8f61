/** What a node has before the agent runs: nothing, NICs that DHCP configured, or the rules of an older agent. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { AgentInput } from '../../src/contract/agent-input.ts'
import type { NamespaceTestbed } from './namespace-testbed.ts'

/** Addresses with a lifetime, and default routes with a worse metric than the primary's. */
export function startWithDhcp({ node }: NamespaceTestbed): void {
  for (const [index, { name, address, address6, gateway, gateway6 }] of node.nics.entries()) {
    const lifetime = 'valid_lft 86400 preferred_lft 86400'
    const metric = `metric ${1024 + index}`
    for (const line of [
      `link set ${name} up`,
      `address add ${address}/24 dev ${name} ${lifetime}`,
      `address add ${address6} dev ${name} ${lifetime} nodad`,
      `-4 route add default via ${gateway} dev ${name} ${metric} proto dhcp`,
      `-6 route add default via ${gateway6} dev ${name} ${metric} proto ra`,
    ])
      node.ip(...line.split(' '))
  }
}

interface Recorded {
  input: AgentInput
  files: Record<string, { mode: number; text: string }>
  commands: string[]
  sysctls: Record<string, string>
}

const recorded = join(import.meta.dirname, '../golden/older-agent/source-rules.json')

/**
 * The rules of decision 0055, and the files and records of the agent that set them (commit 9044d4d7), recorded in the layout with
 * two NICs in one subnet. Returns the request of its controller.
 */
export function startWithSourceRules({ node }: NamespaceTestbed): AgentInput {
  const { input, files, commands, sysctls } = JSON.parse(readFileSync(recorded, 'utf8')) as Recorded
  for (const [path, { mode, text }] of Object.entries(files)) {
    mkdirSync(dirname(node.path(path)), { recursive: true })
    writeFileSync(node.path(path), text.replaceAll('$ROOT', node.root), { mode })
  }
  for (const line of commands) node.ip('-N', ...line.split(' '))
  for (const [key, value] of Object.entries(sysctls)) node.exec('sysctl', '-qw', `${key.replaceAll('/', '.')}=${value}`)
  return input
}
