/**
 * No input can inject anything into a command of `ip` or a file: every field in turn gets values that look like a command,
 * an option, a line or a key.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { backendNames } from '../contract/backend.ts'
import { toWireInterface, type WireInterface } from '../contract/interfaces.ts'
import { filesOfIndex } from './backends/owned.ts'
import { parseInput } from './input.ts'
import { hostPaths } from './paths.ts'
import { planRun } from './plan/plan.ts'
import { type Change, ipCommand, isKernelChange } from './state/change.ts'
import { nodeFiles, nodeRecordPath } from './state/node-files.ts'
import { recordPath } from './state/ownership.ts'
import { aNode, anInterface, macOf, settingsFrom } from './test/agent.fixture.ts'

const ip = '[0-9a-f.:]+'
const cidr = `${ip}/\\d+`
const mark = '(0|0x[0-9a-f]+)/0x[0-9a-f]+'
/** All commands that `ip` may get. */
const allowedCommands = [
  'link set dev if3 (name multinic\\d|mtu \\d+|up)',
  `address add ${cidr}( brd \\+)? dev if3 noprefixroute`,
  `route (add|replace) ${cidr}( via ${ip})? dev if3 table \\d+( src ${ip})?( metric \\d+)?( onlink)? protocol [24]`,
  `rule add from ${cidr}( to ${cidr})?( iif lo| fwmark ${mark}| iif multinic\\d fwmark ${mark})? lookup \\d+( suppress_prefixlength \\d+)? priority \\d+ protocol [24]`,
  // What NICs share: which rules packets skip.
  `rule add (not )?from ${cidr}( iif lo)?( fwmark ${mark})? (goto \\d+|nop) priority \\d+ protocol 2`,
  'link property add dev if3 altname [A-Za-z0-9][A-Za-z0-9._-]*',
].map(line => new RegExp(`^${line}$`))

const poison = fc.oneof(
  fc.constantFrom(
    '; rm -rf /',
    '$(id)',
    '`id`',
    ' dev lo',
    '\nlink del dev lo',
    '\r\n[Link]',
    '\0',
    '-batch',
    '"',
    "'",
  ),
  fc.constantFrom('\\', '%s', '../../etc/passwd', '# ', ': {}', '=', '\u2028', '한글', '__proto__', 'constructor'),
  fc.string({ maxLength: 30 }),
)
const good = {
  ...toWireInterface(anInterface(0, { addresses: ['fd00::10/64'] })),
  ...{ networkId: 'network-0', subnetId: 'subnet-0', source: 'default/cr' },
}
const route = { destination: '172.16.0.0/12', nexthop: '10.100.0.254' }
const texts = ['name', 'macAddress', 'portId', 'address', 'cidr', 'gateway', 'networkId', 'subnetId', 'source'] as const
const poisoned = (text: string) =>
  fc.oneof(
    poison,
    poison.map(bad => `${text}${bad}`),
    poison.map(bad => `${bad}${text}`),
  )
const hostile = fc.oneof(
  ...texts.map(key => poisoned(good[key] ?? '').map(bad => ({ ...good, routes: [route], [key]: bad }))),
  poisoned('fd00::10/64').map(bad => ({ ...good, routes: [route], addresses: [bad] })),
  poisoned(route.destination).map(bad => ({ ...good, routes: [{ ...route, destination: bad }] })),
  poisoned(route.nexthop).map(bad => ({ ...good, routes: [{ ...route, nexthop: bad }] })),
)

/** The changes that one input causes with each backend; undefined when it is refused. */
function changesOf(nic: object): Change[] | undefined {
  const input = { version: 1, mode: 'apply', nodeName: 'worker-1', generation: 1, specHash: '', interfaces: [nic] }
  const { request, errors } = parseInput(JSON.stringify(input))
  if (!request) {
    assert.ok(errors.length > 0 && errors.every(({ path }) => path !== ''))
    return undefined
  }
  const observed = aNode(1, { directories: Object.values(hostPaths) })
  return backendNames.flatMap(backend =>
    planRun({
      interfaces: request.interfaces,
      nodeAddresses: [],
      settings: settingsFrom({ MULTINIC_BACKEND: backend }),
      paths: hostPaths,
      observed,
    }).units.flatMap(unit => unit.changes),
  )
}

const ours = new Set([...filesOfIndex(hostPaths, 0), recordPath(hostPaths, macOf(0)), ...nodeFiles(hostPaths)])
const recordKeys = ['routes', 'rules', 'version']
/** Only a comment and the altname contain free text. */
const fixedLines = (text: string) => text.split('\n').filter(line => !/^(#|AlternativeName=)/.test(line))
const filesIn = (changes: readonly Change[]) =>
  changes.flatMap(change => (change.kind === 'file' && change.to ? [[change.path, change.to.text] as const] : []))

const nftElement = `"(multinic\\d|ens3)"( : goto enter\\d)?|${ip}(/\\d+)? : goto (from|mark)\\d`
const nftElements = new RegExp(`^\\t\\telements = \\{ (${nftElement})(, (${nftElement}))* \\}$`)
const nftLines = (changes: readonly Change[]) =>
  changes.flatMap(change => (change.kind === 'nft' ? (change.to ?? '').split('\n') : []))

test('no value of any field becomes a command, an option or a line', () => {
  const usual = changesOf({ ...good, routes: [route] }) ?? []
  const harmless = new Map(filesIn(usual))
  assert.equal(harmless.size, 12 + nodeFiles(hostPaths).length)
  const knownLines = new Set(nftLines(usual))
  assert.ok(knownLines.size > 40)
  let accepted = 0
  fc.assert(
    fc.property(hostile, nic => {
      const changes = changesOf(nic) ?? []
      if (changes.length > 0) accepted++
      for (const change of changes.filter(isKernelChange)) {
        const line = ipCommand(change, 3)
        assert.ok(
          allowedCommands.some(shape => shape.test(line)),
          line,
        )
      }
      for (const line of nftLines(changes)) assert.ok(knownLines.has(line) || nftElements.test(line), line)
      for (const [path, text] of filesIn(changes)) {
        assert.ok(ours.has(path), path)
        if (path === nodeRecordPath(hostPaths)) assert.deepEqual(Object.keys(JSON.parse(text)).sort(), recordKeys)
        else if (path.endsWith('.json')) assert.equal(JSON.parse(text).portId, (nic as WireInterface).portId)
        else if (nic.portId !== good.portId) assert.deepEqual(fixedLines(text), fixedLines(harmless.get(path) ?? ''))
        for (const line of text.split('\n').filter(each => each.startsWith('AlternativeName=')))
          assert.match(line, /^AlternativeName=[A-Za-z0-9][A-Za-z0-9._-]*$/)
      }
    }),
    { numRuns: 1_500 },
  )
  assert.ok(accepted > 100, `${accepted} were accepted`)
})
