/**
 * Every scenario of the project and the tour, run by their commands in one sandbox with a broker (the package of
 * ../rigs/rabbitmq/rig.ts), and the faults of that broker.
 */
import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { type ControlClient, connectControl } from '../../sandbox/control/client.ts'
import { stateDir } from '../../sandbox/lifecycle/state-dir.ts'
import { findScenario, scenarioNames } from '../../sandbox/scenarios/find.ts'
import { eventually } from '../support/eventually.ts'
import { commandRunner, inOneLine } from './run-command.ts'

let parent: string
let dir: string
let control: ControlClient
let sandbox: ReturnType<typeof commandRunner>

before(
  async () => {
    parent = await mkdtemp(join(tmpdir(), 'multinic-scenarios-'))
    dir = join(parent, 'sandbox')
    sandbox = commandRunner(dir)
    const { code, out } = await sandbox('up', '--rabbitmq', 'local')
    assert.equal(code, 0, out)
    control = connectControl(stateDir(dir))
  },
  { timeout: 300_000 },
)
after(async () => {
  await control?.close()
  await sandbox('down')
  await rm(parent, { recursive: true })
})

for (const name of (await scenarioNames()).filter(scenario => scenario !== 'tour'))
  test(`scenario ${name} finishes and leaves no fault active`, { timeout: 300_000 }, async () => {
    const { code, out } = await sandbox('play', name)
    assert.equal(code, 0, out)
    assert.match(out, /finished: /)
    assert.deepEqual(await control.faults(), [])
  })

test('without a terminal the tour runs without pauses, and it keeps a sandbox that was running before', async () => {
  const { code, out } = await sandbox('tour')
  assert.equal(code, 0, out)
  const { steps } = await findScenario('tour')
  for (const { kind, value } of steps)
    if (kind === 'say') assert.ok(inOneLine(out).includes(inOneLine(value.trimEnd())), value)
  assert.equal((await control.status()).ready, true)
})

test('a step that fails ends the scenario with its line number, and its faults end', async () => {
  const file = join(parent, 'wrong.yaml')
  const steps = ['fault: lost-role', 'expect: { node: worker-1, state: Failed, within: 300ms }', 'say: never']
  await writeFile(file, `name: x\nabout: y\nsteps:\n${steps.map(step => `  - ${step}\n`).join('')}`)
  const { code, out } = await sandbox('play', file)
  assert.equal(code, 1)
  assert.match(out, /wrong\.yaml:5: expect: not met within 0\.3 s; observed:\nConfigured/)
  assert.doesNotMatch(out, /never/)
  assert.deepEqual(await control.faults(), [])
})

/** Polling finds what a lost notification would have reported, and a duplicate changes nothing. */
for (const name of ['lost-notifications', 'duplicated-notifications', 'reordered-notifications'])
  test(`${name}: a port still becomes a NIC`, { timeout: 120_000 }, async () => {
    await control.startFault({ name })
    const [port] = await control.attach({ vm: 'worker-1', subnet: 'storage' })
    await waitForStatus(port?.id, 'Configured')
    assert.deepEqual(await control.stopFault(name), [])
    await control.detach({ vm: 'worker-1', port: port?.id ?? '' })
    await waitForStatus(port?.id, undefined)
  })

test('restarted-broker: the broker runs when the command returns, and the operator reconnects', async () => {
  await control.startFault({ name: 'restarted-broker' })
  const [port] = await control.attach({ vm: 'worker-1', subnet: 'storage' })
  await waitForStatus(port?.id, 'Configured')
})

async function waitForStatus(portId: string | undefined, status: string | undefined): Promise<void> {
  await eventually(
    async () => {
      const nics = (await control.status()).nodes.flatMap(node => node.interfaces)
      assert.equal(nics.find(nic => nic.portId === portId)?.status, status)
    },
    { within: 90_000, every: 100 },
  )
}
