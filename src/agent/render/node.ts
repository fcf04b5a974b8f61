/**
 * The files that restore at boot what all NICs share: the tables of nftables, the rules and routes by the primary NIC, and the
 * units of systemd that load them with the host's nft and ip. The udev rule of each NIC starts the units.
 *
 * Pure.
 */
import type { Family } from '../../contract/address.ts'
import { type RouteSpec, type RuleSpec, routeText, ruleText } from '../change.ts'
import { nftScript } from '../nftables.ts'

const header = '# Written by the multinic agent; changes are lost.\n'
const beforePods =
  'containerd.service crio.service docker.service kubelet.service k3s.service k3s-agent.service rke2-agent.service'

/** Interfaces are named in the tables, so they can be loaded before the NICs exist. */
export function nftFile(tables: readonly (readonly [Family, string])[]): string {
  return [header, ...tables.map(([family, text]) => nftScript(family, text))].join('')
}

/** For `ip -force -batch`, and for `ip -6 -force -batch`: ip reads the family of a rule from the option alone. */
export function primaryFiles(
  rules: readonly RuleSpec[],
  routes: readonly { route: RouteSpec; device: string }[],
): Record<Family, string> {
  const linesOf = (family: Family) => [
    ...routes
      .filter(({ route }) => route.family === family)
      .map(({ route, device }) => `route replace ${routeText(route, device)}`),
    ...rules.filter(rule => rule.family === family).map(rule => `rule add ${ruleText(rule)} protocol ${rule.protocol}`),
  ]
  const textOf = (family: Family) =>
    linesOf(family)
      .map(line => `${line}\n`)
      .join('')
  return { 4: textOf(4), 6: textOf(6) }
}

/** A restart of nftables.service flushes all tables: the unit then loads its own again. */
export function nftUnit(path: string): string {
  return unit(path, {
    description: 'Reply routing of MultiNIC interfaces (nftables)',
    order: [
      'DefaultDependencies=no',
      'Wants=network-pre.target',
      'After=local-fs.target systemd-modules-load.service nftables.service',
      `Before=network-pre.target ${beforePods}`,
      'PartOf=nftables.service',
      'Conflicts=shutdown.target',
    ],
    program: '/usr/sbin/nft',
    commands: [`/usr/sbin/nft -f ${path}`],
  })
}

/** A rule that is there already is no failure. */
export function primaryUnit(paths: Record<Family, string>): string {
  return unit(paths[4], {
    description: 'Routes of the node to the networks of MultiNIC interfaces',
    order: ['Wants=network-online.target', 'After=network-online.target', `Before=${beforePods}`],
    program: '/usr/sbin/ip',
    commands: [`-/usr/sbin/ip -force -batch ${paths[4]}`, `-/usr/sbin/ip -6 -force -batch ${paths[6]}`],
  })
}

interface UnitParts {
  description: string
  order: readonly string[]
  program: string
  commands: readonly string[]
}

function unit(path: string, { description, order, program, commands }: UnitParts): string {
  return [
    `${header}[Unit]`,
    `Description=${description}`,
    `ConditionPathExists=${path}`,
    `ConditionFileIsExecutable=${program}`,
    ...order,
    '',
    '[Service]',
    'Type=oneshot',
    'RemainAfterExit=yes',
    ...commands.map(command => `ExecStart=${command}`),
    '',
  ].join('\n')
}
