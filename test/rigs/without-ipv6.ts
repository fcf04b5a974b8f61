/**
 * Runs a program as on a kernel without IPv6 (ipv6.disable=1): a seccomp filter answers socket(AF_INET6) with EAFNOSUPPORT.
 */
import { existsSync } from 'node:fs'

/** System call numbers of prctl and socket. */
const calls: Partial<Record<string, [prctl: number, socket: number]>> = { x64: [157, 41], arm64: [167, 198] }
const perl = '/usr/bin/perl'

export const canDisableIPv6 = existsSync(perl) && calls[process.arch] !== undefined

/** Installs the filter and runs the program in its arguments: load the call, compare, load the family, compare, answer. */
const script = `
my ($prctl, $socket) = (shift, shift);
my $filter = join "", map { pack "SCCL", @$_ }
  [0x20, 0, 0, 0], [0x15, 0, 3, $socket], [0x20, 0, 0, 16], [0x15, 0, 1, 10], [0x06, 0, 0, 0x50061], [0x06, 0, 0, 0x7fff0000];
my $program = pack "Sx6P", length($filter) / 8, $filter;
syscall($prctl, 38, 1, 0, 0, 0) == 0 or die "no new privileges: $!";
syscall($prctl, 22, 2, $program) == 0 or die "seccomp: $!";
exec @ARGV or die "$ARGV[0]: $!";
`

/** The command line of the program without IPv6. */
export function withoutIPv6(command: readonly string[]): [program: string, args: string[]] {
  const [prctl = 0, socket = 0] = calls[process.arch] ?? []
  return [perl, ['-e', script, `${prctl}`, `${socket}`, ...command]]
}
