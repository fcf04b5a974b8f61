import assert from 'node:assert/strict'
import { test } from 'node:test'
import { findScenario, scenarioNames } from './find.ts'
import { paragraph } from './runner.ts'
import { readScenario } from './scenario.ts'

const head = 'name: x\nabout: y\nsteps:\n'

test('steps are read with their line numbers', () => {
  const { steps } = readScenario(
    `${head}  - say: hello\n  - attach: { vm: worker-1, subnet: storage, as: disk }\n  - fault: slow-nova\n  - expect:\n      port: disk\n      state: Configured\n      within: 1m30s\n  - pause:\n`,
    'a.yaml',
  )
  assert.deepEqual(steps, [
    { kind: 'say', line: 4, value: 'hello' },
    { kind: 'attach', line: 5, value: { vm: 'worker-1', subnet: 'storage', as: 'disk' } },
    { kind: 'fault', line: 6, value: { name: 'slow-nova' } },
    { kind: 'expect', line: 7, value: { port: 'disk', state: 'Configured', within: 90_000 } },
    { kind: 'pause', line: 11, value: null },
  ])
})

const mistakes: Record<string, [source: string, message: string]> = {
  'invalid YAML': ['name: [', 'a.yaml:1: '],
  'a list instead of a map': ['- say: x', 'a.yaml:1: a scenario must be a map with name, about and steps'],
  'a missing name': ['about: y\nsteps:\n  - say: x\n', 'a.yaml:1: name must be a string'],
  'an unknown field': [
    'name: x\nabout: y\nauthor: z\nsteps:\n  - say: x\n',
    'a.yaml:3: author is not a field of a scenario',
  ],
  'no steps': ['name: x\nabout: y\nsteps: []\n', 'a.yaml:3: steps must be a list with at least one step'],
  'an unknown step': [`${head}  - say: x\n  - atach: {}\n`, 'a.yaml:5: steps[1].atach is not a step; steps are say,'],
  'a step with two keys': [`${head}  - say: x\n    reboot: y\n`, 'a.yaml:4: steps[0] must be one of say,'],
  'a missing field': [`${head}  - attach: { vm: worker-1 }\n`, 'a.yaml:4: steps[0].attach.subnet must be string'],
  'an unknown field of a step': [
    `${head}  - attach:\n      vm: worker-1\n      subnet: storage\n      speed: 10\n`,
    'a.yaml:7: steps[0].attach.speed is not a field of this step',
  ],
  'a count that is not a number': [
    `${head}  - attach:\n      vm: worker-1\n      subnet: storage\n      count: many\n`,
    'a.yaml:7: steps[0].attach.count must be number',
  ],
  'an unknown fault': [`${head}  - fault: mayhem\n`, 'a.yaml:4: steps[0].fault is not a fault;'],
  'an unknown fault on a node': [
    `${head}  - fault:\n      node: worker-1\n      name: mayhem\n`,
    'a.yaml:6: steps[0].fault.name is not a fault;',
  ],
  'an invalid duration': [`${head}  - ready: soon\n`, 'a.yaml:4: steps[0].ready must be a duration, such as 30s'],
  'an expectation without a condition': [
    `${head}  - expect: { node: worker-1 }\n`,
    'a.yaml:4: steps[0].expect must have state, reason, nic or gone',
  ],
  'a port that was never attached': [
    `${head}  - say: x\n  - detach: { port: disk }\n`,
    'a.yaml:5: detach.port "disk" is not attached yet',
  ],
}
for (const [name, [source, message]] of Object.entries(mistakes))
  test(`${name} is reported with its line and field`, () => {
    assert.throws(
      () => readScenario(source, 'a.yaml'),
      (error: Error) => error.message.startsWith(message) || assert.equal(error.message, message),
    )
  })

test('all mistakes are reported at once', () => {
  assert.throws(() => readScenario(`${head}  - reboot:\n  - ready: soon\n`, 'a.yaml'), {
    message:
      'a.yaml:4: steps[0].reboot must be string, received null\na.yaml:5: steps[1].ready must be a duration, such as 30s',
  })
})

test('experience Low: texts are wrapped at the width of the terminal, and no word is broken', () => {
  const text = 'You attach a port to an OpenStack VM\n  that is a Kubernetes node.\n'
  assert.equal(paragraph(`▸ ${text}`, 30), '▸ You attach a port to an\n  OpenStack VM that is a\n  Kubernetes node.')
})

test('every scenario of the project can be read, and the error for an unknown one lists them', async () => {
  const names = await scenarioNames()
  assert.ok(names.includes('tour') && names.includes('lost-broker'))
  for (const name of names) assert.ok((await findScenario(name)).steps.length > 0, name)
  await assert.rejects(
    findScenario('nothing'),
    /scenario nothing not found: not a file, and not one of attach, broken-nic/,
  )
})
