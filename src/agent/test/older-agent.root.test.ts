/**
 * An upgrade in place from an older agent: what commit af7ff50 left on a node, and the input of its controller.
 *
 * `test/golden/older-agent` has its files, its kernel state as `ip` commands, its sysctls and its report, recorded on the rig.
 */
import assert from 'node:assert/strict'
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { after, suite, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import * as z from 'zod'
import { type PingStream, pingStream } from '../../../test/rigs/host/cloud.ts'
import { kernelState } from '../../../test/rigs/host/kernel-state.ts'
import { diskOf, nodeFactory, type RigNode } from '../../../test/rigs/host/node.ts'
import { eventually } from '../../../test/support/eventually.ts'
import type { AgentInput } from '../../contract/agent-input.ts'

interface Recorded {
  input: AgentInput
  files: Record<string, { mode: number; text: string }>
  commands: string[]
  sysctls: Record<string, string>
}

const golden = fileURLToPath(new URL('../../../test/golden/older-agent/', import.meta.url))
const recorded = (name: string) => JSON.parse(readFileSync(join(golden, `${name}.json`), 'utf8')) as Recorded
const node = nodeFactory(after)
const ourFiles = (vm: RigNode) => Object.keys(diskOf(vm, path => /multinic/.test(path) && !/\/backup\//.test(path)))
const rulesOf = (vm: RigNode) => ['-4', '-6'].flatMap(family => vm.ip(family, 'rule').split('\n'))

const olderReport = z.fromJSONSchema(JSON.parse(readFileSync(join(golden, 'agent-report.schema.json'), 'utf8')))
const readByOlderController = (report: unknown) => olderReport.safeParse(report).error?.issues ?? []

function restore(vm: RigNode, { files, commands, sysctls }: Recorded): void {
  for (const [path, { mode, text }] of Object.entries(files)) {
    mkdirSync(dirname(vm.path(path)), { recursive: true })
    writeFileSync(vm.path(path), text.replaceAll('$ROOT', vm.root), { mode })
  }
  for (const line of commands) vm.ip(...line.split(' '))
  for (const [key, value] of Object.entries(sysctls)) vm.exec('sh', '-c', `echo ${value} > /proc/sys/${key}`)
}

/** From and to each NIC, and without a source. */
async function pingEverything(vm: RigNode, interfaces: AgentInput['interfaces']): Promise<PingStream[]> {
  await eventually(() => assert.doesNotMatch(vm.ip('-6', 'address'), /tentative/))
  return Promise.all(
    interfaces.flatMap(({ address = '', gateway = '' }) => [
      pingStream(vm.namespace, gateway),
      pingStream(vm.namespace, gateway, address),
      pingStream(vm.fabric, address),
    ]),
  )
}

suite('upgrade from an older agent', { concurrency: 2 }, () => {
  for (const backend of ['netplan', 'networkmanager', 'ifcfg'])
    test(`${backend}: its NICs are adopted without a rename or a flap, and removed without a trace`, async () => {
      const older = recorded(backend)
      const vm = await node({ nics: older.input.interfaces.length, oneSubnet: backend === 'netplan' })
      if (backend !== 'netplan') rmSync(vm.path('etc/netplan'), { recursive: true })
      const [before, rules] = [kernelState(vm), rulesOf(vm)]
      restore(vm, older)
      const env = { MULTINIC_BACKEND: backend }
      const checked = await vm.agent({ ...older.input, mode: 'check' }, env)
      assert.deepEqual(
        [checked.report?.verdict, checked.report?.reason],
        ['Drifted', 'ConfiguredByOlderAgent'],
        checked.log,
      )
      assert.match(checked.report?.message ?? '', /remove rule to 10\.100\.0\.0\/24 lookup 100 priority 10100/)
      const { mtu = 1500 } = older.input.interfaces[0] ?? {}
      vm.ip('link', 'set', 'multinic0', 'mtu', '1280')
      const edited = await vm.agent({ ...older.input, mode: 'check' }, env)
      assert.deepEqual([edited.report?.verdict, edited.report?.reason], ['Drifted', 'Drifted'], 'an edit is drift')
      vm.ip('link', 'set', 'multinic0', 'mtu', `${mtu}`)
      const streams = await pingEverything(vm, older.input.interfaces)
      const ran = await vm.agent(older.input, env)
      const lost = await Promise.all(streams.map(stream => stream.stop()))
      assert.deepEqual(lost.flat(), [], `no ping is lost: ${ran.log}`)
      assert.equal(ran.report?.verdict, 'Configured', ran.log)
      assert.doesNotMatch(ran.log, /rename|link down/)
      assert.deepEqual(readByOlderController(ran.report), [], 'the report as an older controller reads it')
      const again = await vm.agent(older.input, env)
      assert.deepEqual([again.report?.verdict, again.report?.changed], ['Configured', 0], again.log)
      vm.ip('link', 'set', 'multinic0', 'mtu', '1280')
      const drifted = await vm.agent({ ...older.input, mode: 'check' }, env)
      assert.deepEqual([drifted.report?.verdict, drifted.report?.reason], ['Drifted', 'Drifted'], drifted.log)
      const removed = await vm.agent({ mode: 'cleanup', interfaces: [] }, env)
      assert.equal(removed.report?.verdict, 'Removed', removed.log)
      assert.deepEqual([kernelState(vm), rulesOf(vm), ourFiles(vm)], [before, rules, []], removed.log)
    })

  test('the journal of an older agent that was killed is rolled back, and the NICs are configured', async () => {
    const older = recorded('killed')
    const vm = await node({ nics: older.input.interfaces.length })
    restore(vm, older)
    const ran = await vm.agent(older.input)
    assert.equal(ran.report?.verdict, 'Configured', ran.log)
    assert.match(ran.log, /"interfaces":\["multinic0","multinic1"\]/)
    assert.deepEqual(
      ourFiles(vm).filter(path => path.includes('multinic-new')),
      [],
    )
    const again = await vm.agent(older.input)
    assert.deepEqual([again.report?.verdict, again.report?.changed], ['Configured', 0], again.log)
  })
})
