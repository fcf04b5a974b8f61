/**
 * The files that restore at boot what all NICs share: the tables of nftables, the rules and routes by the primary NIC, and the
 * units of systemd that load them with the host's nft and ip.
 *
 * Pure.
 */
import type { Family } from '../../contract/address.ts'
import type { Paths } from '../paths.ts'
import { type RouteSpec, type RuleSpec, routeText, ruleText } from '../state/change.ts'
import { nftScript } from '../state/nftables.ts'
import { type BootFiles, bootFiles, unitFiles } from '../state/node-files.ts'

export interface SharedAtBoot {
  tables: readonly (readonly [Family, string])[]
  rules: readonly RuleSpec[]
  routes: readonly { route: RouteSpec; device: string }[]
}

const header = '# Written by the multinic agent; changes are lost.\n'
const nft = '/usr/sbin/nft'
const ip = '/usr/sbin/ip'

/** The texts by path. */
export function sharedFiles({ tables, rules, routes }: SharedAtBoot, paths: Paths): Record<string, string> {
  const boot = bootFiles(paths)
  const units = unitFiles(paths)
  const lines = (list: readonly string[]) => list.map(line => `${line}\n`).join('')
  const rulesOf = (family: Family) =>
    lines(
      rules.filter(rule => rule.family === family).map(rule => `rule add ${ruleText(rule)} protocol ${rule.protocol}`),
    )
  return {
    // Interfaces are named in the tables, so they can be loaded before the NICs exist.
    [boot.nft]: [header, ...tables.map(([family, text]) => nftScript(family, text))].join(''),
    [units.nft]: nftUnit(boot),
    [units.wantsNft]: wants('multinic-nft.service'),
    [units.afterFlush]: afterFlush(boot),
    ...(rules.length > 0
      ? {
          [boot.rules]: rulesOf(4),
          // ip reads the family of a rule without addresses from its option alone.
          [boot.rules6]: rulesOf(6),
          [boot.routes]: lines(routes.map(({ route, device }) => `route replace ${routeText(route, device)}`)),
          [units.primary]: primaryUnit(boot),
          [units.wantsPrimary]: wants('multinic-primary.service'),
        }
      : {}),
  }
}

/** Before the first Pod can send. */
function nftUnit(boot: BootFiles): string {
  return unit([
    '[Unit]',
    'Description=Reply routing of MultiNIC interfaces (nftables)',
    'DefaultDependencies=no',
    `ConditionPathExists=${boot.nft}`,
    `ConditionFileIsExecutable=${nft}`,
    'Wants=network-pre.target',
    'After=local-fs.target systemd-modules-load.service nftables.service',
    'Before=network-pre.target sysinit.target',
    'Conflicts=shutdown.target',
    '',
    '[Service]',
    'Type=oneshot',
    'RemainAfterExit=yes',
    `ExecStart=${nft} -f ${boot.nft}`,
  ])
}

/** Every start and reload of nftables.service flushes the tables of all programs. */
function afterFlush(boot: BootFiles): string {
  const command = `-${nft} -f ${boot.nft}`
  return unit(['[Service]', `ExecStartPost=${command}`, `ExecReload=${command}`])
}

/** A rule that is there already is no failure. The routes need the primary NIC, which may come later than its target. */
function primaryUnit(boot: BootFiles): string {
  return unit([
    '[Unit]',
    'Description=Routes of the node to the networks of MultiNIC interfaces',
    `ConditionPathExists=${boot.routes}`,
    `ConditionFileIsExecutable=${ip}`,
    'Wants=network-online.target',
    'After=network-online.target',
    'StartLimitIntervalSec=600',
    'StartLimitBurst=60',
    '',
    '[Service]',
    'Type=simple',
    'RemainAfterExit=yes',
    `ExecStartPre=-${ip} -force -batch ${boot.rules}`,
    `ExecStartPre=-${ip} -6 -force -batch ${boot.rules6}`,
    `ExecStart=${ip} -force -batch ${boot.routes}`,
    'Restart=on-failure',
    'RestartSec=2',
  ])
}

function wants(name: string): string {
  return unit(['[Unit]', `Wants=${name}`])
}

function unit(lines: readonly string[]): string {
  return `${header}${lines.join('\n')}\n`
}
