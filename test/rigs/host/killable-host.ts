/**
 * A host that kills the agent and its process group with SIGKILL after a number of steps. Every line of a batch, every
 * transaction of nft, every write and every D-Bus call that changes something is a step. Waits are short.
 */
import type { Host } from '../../../src/agent/host/host.ts'

const changingMethods = [
  'Set',
  'ReloadConnections',
  'ActivateConnection',
  'AddAndActivateConnection2',
  'Reload',
  'ReconfigureLink',
]

/** Begins the kinds of D-Bus calls. */
export const busCall = 'call'

/** The kind of a transaction of nft. */
export const tableChange = 'nft'

/** Steps of the same kind differ only in numbers: one for each NIC, for example. */
const kindOf = (text: string) => text.replace(/[0-9a-f]{12}|\d+/g, '#')

/** Adds the kind of every step to `kinds`. */
export function killableHost(host: Host, allowed: number, kinds: string[] = []): Host {
  const step = <Args extends unknown[]>(describe: (...args: Args) => string, act: (...args: Args) => void) => {
    return (...args: Args) => {
      if (kinds.length >= allowed) killGroup()
      kinds.push(kindOf(describe(...args)))
      act(...args)
    }
  }
  const onPath = <Args extends unknown[]>(name: string, act: (path: string, ...args: Args) => void) =>
    step((path: string, ..._: Args) => `${name} ${path}`, act)
  return {
    ...host,
    async ip(args, lines = []) {
      if (!args.includes('-batch') || args.includes('-j')) return host.ip(args, lines)
      const possible = lines.slice(0, allowed - kinds.length)
      kinds.push(...possible.map(kindOf))
      const result = possible.length > 0 ? await host.ip(args, possible) : { code: 0, stdout: '', stderr: '' }
      if (possible.length < lines.length) killGroup()
      return result
    },
    async nft(script) {
      if (script.startsWith('list ')) return host.nft(script)
      if (kinds.length >= allowed) killGroup()
      kinds.push(tableChange)
      return host.nft(script)
    },
    async connect(path) {
      const stream = await host.connect(path)
      if (!stream) return undefined
      const write = stream.write.bind(stream) as (message: Buffer) => boolean
      // A message holds the name of its method.
      const methodOf = (message: Buffer) => changingMethods.find(method => message.includes(`\0${method}\0`))
      const change = step(
        (message: Buffer) => `${busCall} ${methodOf(message)}`,
        message => void write(message),
      )
      stream.write = ((text: Buffer | string) => {
        const message = Buffer.from(text)
        return methodOf(message) === undefined ? write(message) : change(message)
      }) as typeof stream.write
      return stream
    },
    writeFile: onPath('writeFile', host.writeFile),
    rename: onPath('rename', host.rename),
    removeFile: onPath('removeFile', host.removeFile),
    makeDirectory: onPath('makeDirectory', host.makeDirectory),
    removeDirectory: onPath('removeDirectory', host.removeDirectory),
    writeValue: onPath('writeValue', host.writeValue),
    writeReport: onPath('writeReport', host.writeReport),
  }
}

/** More steps than any run needs. */
export const unlimited = 1_000_000

/** Milliseconds. A poll of the kernel must give it some time. */
const maxWait = 10

/** The same host, except that `sleep` returns soon and moves the clock. */
export function withoutWaits(host: Host): Host {
  let skipped = 0
  return {
    ...host,
    monotonic: () => host.monotonic() + skipped,
    async sleep(ms) {
      const waited = Math.min(ms / 5, maxWait)
      skipped += ms - waited
      await host.sleep(waited)
    },
  }
}

const rename = /^link set dev if(\d+) name /

/** The same host with a kernel before 6.2, which does not rename a link that is up. */
export function withoutLiveRename(host: Host): Host {
  const ip: Host['ip'] = async (args, lines = []) => {
    const at = lines.findIndex(line => rename.test(line))
    if (at < 0) return host.ip(args, lines)
    const before = at === 0 ? { code: 0, stdout: '', stderr: '' } : await host.ip(args, lines.slice(0, at))
    if (before.code !== 0) return before
    const [, ifindex] = rename.exec(lines[at] ?? '') ?? []
    const links = await host.ip(['-o', 'link', 'show', 'up'])
    const busy = `RTNETLINK answers: Device or resource busy\nCommand failed -:${at + 1}\n`
    if (new RegExp(`^${ifindex}: `, 'm').test(links.stdout)) return { code: 1, stdout: '', stderr: busy }
    const renamed = await host.ip(args, lines.slice(at, at + 1))
    if (renamed.code !== 0) return atLine(renamed, at)
    return at + 1 === lines.length ? renamed : atLine(await ip(args, lines.slice(at + 1)), at + 1)
  }
  return { ...host, ip }
}

/** The result of the lines of a batch from this one on. */
function atLine<Result extends { stderr: string }>(result: Result, from: number): Result {
  const number = (_: string, line: string) => `Command failed -:${Number(line) + from}`
  return { ...result, stderr: result.stderr.replace(/Command failed -:(\d+)/, number) }
}

/** The process must be the leader of its process group. */
function killGroup(): never {
  process.kill(-process.pid, 'SIGKILL')
  throw new Error('SIGKILL had no effect')
}
