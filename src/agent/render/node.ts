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

/** For `ip -force -batch`. The devices have their names at boot. */
export function primaryFile(
  rules: readonly RuleSpec[],
  routes: readonly { route: RouteSpec; device: string }[],
): string {
  const lines = [
    ...routes.map(({ route, device }) => `route replace ${routeText(route, device)}`),
    ...rules.map(rule => `rule add ${ruleText(rule)} protocol ${rule.protocol}`),
  ]
  return lines.map(line => `${line}\n`).join('')
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
    options: '-f',
  })
}

/** A rule that is there already is no failure. */
export function primaryUnit(path: string): string {
  return unit(path, {
    description: 'Routes of the node to the networks of MultiNIC interfaces',
    order: ['Wants=network-online.target', 'After=network-online.target', `Before=${beforePods}`],
    program: '/usr/sbin/ip',
    options: '-force -batch',
    mayFail: true,
  })
}

interface UnitParts {
  description: string
  order: readonly string[]
  program: string
  options: string
  mayFail?: true
}

function unit(path: string, { description, order, program, options, mayFail }: UnitParts): string {
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
    `ExecStart=${mayFail ? '-' : ''}${program} ${options} ${path}`,
    '',
  ].join('\n')
}
