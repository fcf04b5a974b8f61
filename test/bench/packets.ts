/**
 * What a packet costs on a node with 10 NICs and 1,000 routes, beside the same node with plain NICs: processor time
 * for each UDP packet, rounds in turn, the minimum of the rounds. The devices discard what they get, so that the rest of
 * the way is as short as it can be.
 */
import { execFileSync, spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buildAgent } from '../../scripts/build.ts'
import { makeDisk } from '../rigs/host/disk.ts'
import { type Bench, figure } from './figure.ts'

const rounds = 9
const packets = 100_000
const nics = Array.from({ length: 10 }, (_, index) => index)

/**
 * Sends packets and prints the nanoseconds of processor time for each, without those of the loop itself: the same calls on a file
 * descriptor that is no socket.
 */
const sender = `
use Socket;
use Time::HiRes qw(clock_gettime CLOCK_PROCESS_CPUTIME_ID);
my ($to, $from, $connected, $count) = @ARGV;
socket(my $s, PF_INET, SOCK_DGRAM, 0) or die;
bind($s, sockaddr_in(0, inet_aton($from))) or die "$from: $!" if $from;
open(my $none, "<", "/dev/null");
my $address = sockaddr_in(9, inet_aton($to));
my $data = "x" x 64;
connect($s, $address) if $connected;
sub took {
  my $out = shift;
  my $before = clock_gettime(CLOCK_PROCESS_CPUTIME_ID);
  if ($connected) { send($out, $data, 0) for 1 .. $count } else { send($out, $data, 0, $address) for 1 .. $count }
  return (clock_gettime(CLOCK_PROCESS_CPUTIME_ID) - $before) * 1e9 / $count;
}
took($none);
my $loop = took($none);
printf "%.1f", took($s) - $loop;
`

interface Case {
  to: string
  from?: string
  connected?: true
  /** Sent in a Pod. */
  pod?: true
  /** Times that of a plain node. */
  goal: number
}

const cases: Record<string, Case> = {
  connected: { to: '8.8.8.8', connected: true, goal: 1.2 },
  unconnected: { to: '8.8.8.8', goal: 1.5 },
  route: { to: '10.201.7.9', goal: 1.5 },
  from_primary: { to: '8.8.8.8', from: '10.0.0.10', goal: 1.5 },
  on_link: { to: '10.109.0.9', goal: 1.5 },
  by_gateway: { to: '8.8.8.8', from: '10.109.0.10', goal: 1.5 },
  pod: { to: '8.8.8.8', pod: true, goal: 1.5 },
  pod_on_link: { to: '10.109.0.9', pod: true, goal: 1.5 },
}

export const bench: Bench = async report => {
  const dir = mkdtempSync(join(tmpdir(), 'multinic-bench-'))
  const names = { plain: `mnp${process.pid}`, ours: `mno${process.pid}` }
  try {
    const bundle = join(dir, 'agent.cjs')
    await buildAgent(bundle)
    for (const namespace of Object.values(names)) createNode(namespace)
    configurePlain(names.plain)
    configureByAgent(names.ours, dir, bundle)
    const times = new Map(Object.keys(cases).map(name => [name, { plain: [] as number[], ours: [] as number[] }]))
    for (let round = 0; round < rounds; round++)
      for (const [name, entry] of Object.entries(cases))
        for (const kind of round % 2 ? (['plain', 'ours'] as const) : (['ours', 'plain'] as const))
          times.get(name)?.[kind].push(nanoseconds(names[kind], entry))
    for (const [name, { goal }] of Object.entries(cases)) {
      const { plain = [], ours = [] } = times.get(name) ?? {}
      const reference = { against: 'plain NICs', reference: Math.min(...plain) }
      report(figure(`packets.${name}`, Math.min(...ours), 'ns', reference, { atMostTimes: goal }))
    }
    const rules = run(names.ours, 'ip', 'rule').trim().split('\n').length - 3
    report(figure('packets.rules', rules, 'rules', { against: 'NICs', reference: nics.length }, { atMost: 80 }))
  } finally {
    for (const namespace of Object.values(names))
      for (const name of [namespace, `${namespace}p`]) spawnSync('ip', ['netns', 'del', name])
    rmSync(dir, { recursive: true, force: true })
  }
}

function createNode(namespace: string): void {
  for (const name of [namespace, `${namespace}p`]) execFileSync('ip', ['netns', 'add', name])
  const sink = (name: string, mac: string) => [`link add ${name} address ${mac} type ifb`]
  batch(namespace, [
    'link set lo up',
    ...sink('ens3', 'fa:16:3e:ff:00:00'),
    'link set ens3 up',
    'address add 10.0.0.10/24 dev ens3',
    'route add default via 10.0.0.1 dev ens3',
    ...nics.flatMap(index => sink(`ens${index + 4}`, macOf(index))),
    ...nics.map(index => `link set ens${index + 4} up`),
    ...Array.from(
      { length: 1_000 },
      (_, at) => `route add 10.${200 + (at >> 8)}.${at & 255}.0/24 via 10.0.0.1 protocol bird`,
    ),
    `link add cni0 type veth peer name eth0 netns ${namespace}p`,
    'link set cni0 up',
    'address add 10.244.0.1/24 dev cni0',
  ])
  batch(`${namespace}p`, ['address add 10.244.0.5/24 dev eth0', 'link set eth0 up', 'route add default via 10.244.0.1'])
  run(namespace, 'sysctl', '-qw', 'net.ipv4.ip_forward=1')
  const masquerade = 'ip saddr 10.244.0.0/24 ip daddr != 10.244.0.0/16 masquerade'
  const chain = `chain post {\ntype nat hook postrouting priority srcnat\n${masquerade}\n}`
  run(namespace, 'nft', `table inet cni {\n${chain}\n}`)
}

function configurePlain(namespace: string): void {
  batch(
    namespace,
    nics.map(index => `address add 10.${100 + index}.0.10/24 dev ens${index + 4} metric ${20_000 + index}`),
  )
}

function configureByAgent(namespace: string, dir: string, bundle: string): void {
  const root = join(dir, 'root')
  makeDisk(root, {}, true)
  const interfaces = nics.map(index => ({
    id: index,
    macAddress: macOf(index),
    address: `10.${100 + index}.0.10`,
    cidr: `10.${100 + index}.0.0/24`,
    gateway: `10.${100 + index}.0.1`,
  }))
  const input = { version: 1, mode: 'apply', nodeName: 'worker-1', generation: 1, specHash: '', interfaces }
  const env = { MULTINIC_INPUT: JSON.stringify(input), MULTINIC_HOST_PREFIX: root, NIC_WAIT: '0s' }
  const settings = { NETWORK_PROBE: 'off', NETWORK_DUPLICATE_CHECK: 'false', PREFLIGHT_ALLOW_UP: 'true' }
  const log = execFileSync('nsenter', [`--net=/run/netns/${namespace}`, process.execPath, bundle], {
    encoding: 'utf8',
    env: { PATH: '/usr/sbin:/usr/bin:/sbin:/bin', ...env, ...settings },
  })
  if (!log.includes('"verdict":"Configured"')) throw new Error(`the agent did not configure the node: ${log}`)
}

function nanoseconds(namespace: string, { to, from = '', connected, pod }: Case): number {
  return Number(
    run(pod ? `${namespace}p` : namespace, 'perl', '-e', sender, to, from, connected ? '1' : '', `${packets}`),
  )
}

function macOf(index: number): string {
  return `fa:16:3e:00:00:${(index + 1).toString(16).padStart(2, '0')}`
}

function batch(namespace: string, lines: readonly string[]): void {
  execFileSync('ip', ['-n', namespace, '-batch', '-'], {
    input: `${lines.join('\n')}\n`,
    stdio: ['pipe', 'pipe', 'pipe'],
  })
}

function run(namespace: string, command: string, ...args: string[]): string {
  return execFileSync('nsenter', [`--net=/run/netns/${namespace}`, command, ...args], { encoding: 'utf8' })
}
