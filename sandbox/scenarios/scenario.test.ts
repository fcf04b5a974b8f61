import assert from 'node:assert/strict'
import { test } from 'node:test'
import { findScenario, shippedScenarios } from './find.ts'
import { readScenario } from './scenario.ts'

const head = 'name: x\nabout: y\nsteps:\n'

test('steps are read with the lines that they stand on', () => {
  const { steps } = readScenario(
    `${head}  - say: hello\n  - attach: { vm: worker-1, subnet: storage, as: disk }\n  - fault: slow-nova\n  - expect:\n      port: disk\n      state: Configured\n      within: 1m30s\n  - pause:\n`,
    'a.yaml',
  )
  assert.deepEqual(steps, [
    { kind: 'say', line: 4, value: 'hello' },
    { kind: 'attach', line: 5, value: { vm: 'worker-1', subnet: 'storage', as: 'disk' } },
    { kind: 'fault', line: 6, value: { word: 'slow-nova' } },
    { kind: 'expect', line: 7, value: { port: 'disk', state: 'Configured', within: 90_000 } },
    { kind: 'pause', line: 11, value: null },
  ])
})

const mistakes: Record<string, [source: string, said: string]> = {
  'text that is no YAML': ['name: [', 'a.yaml:1: '],
  'a list instead of a map': ['- say: x', 'a.yaml:1: a scenario is a map with name, about and steps'],
  'a name that is missing': ['about: y\nsteps:\n  - say: x\n', 'a.yaml:1: name must be a text'],
  'a field that nobody knows': [
    'name: x\nabout: y\nauthor: z\nsteps:\n  - say: x\n',
    'a.yaml:3: author is no field of a scenario',
  ],
  'no steps': ['name: x\nabout: y\nsteps: []\n', 'a.yaml:3: steps must be a list of at least one step'],
  'a step that nobody knows': [
    `${head}  - say: x\n  - atach: {}\n`,
    'a.yaml:5: steps[1].atach is no step; there are say,',
  ],
  'two things in one step': [`${head}  - say: x\n    reboot: y\n`, 'a.yaml:4: steps[0] must be one of say,'],
  'a field that is missing': [
    `${head}  - attach: { vm: worker-1 }\n`,
    'a.yaml:4: steps[0].attach.subnet must be string',
  ],
  'a field too many': [
    `${head}  - attach:\n      vm: worker-1\n      subnet: storage\n      speed: 10\n`,
    'a.yaml:7: steps[0].attach.speed is no field here',
  ],
  'a wrong number': [
    `${head}  - attach:\n      vm: worker-1\n      subnet: storage\n      count: many\n`,
    'a.yaml:7: steps[0].attach.count must be number',
  ],
  'a word that is no fault': [`${head}  - fault: mayhem\n`, 'a.yaml:4: steps[0].fault is no word of a fault;'],
  'the same, with a node': [
    `${head}  - fault:\n      node: worker-1\n      word: mayhem\n`,
    'a.yaml:6: steps[0].fault.word is no word of a fault;',
  ],
  'a duration that is none': [`${head}  - ready: soon\n`, 'a.yaml:4: steps[0].ready must be a duration, such as 30s'],
  'an expectation of nothing': [
    `${head}  - expect: { node: worker-1 }\n`,
    'a.yaml:4: steps[0].expect needs what is expected: state, reason, nic or gone',
  ],
  'a port that was never attached': [
    `${head}  - say: x\n  - detach: { port: disk }\n`,
    'a.yaml:5: detach.port "disk" was not attached before',
  ],
}
for (const [name, [source, said]] of Object.entries(mistakes))
  test(`${name} is told with its line and field`, () => {
    assert.throws(
      () => readScenario(source, 'a.yaml'),
      (error: Error) => error.message.startsWith(said) || assert.equal(error.message, said),
    )
  })

test('all mistakes are told at once', () => {
  assert.throws(() => readScenario(`${head}  - reboot:\n  - ready: soon\n`, 'a.yaml'), {
    message:
      'a.yaml:4: steps[0].reboot must be string, received null\na.yaml:5: steps[1].ready must be a duration, such as 30s',
  })
})

test('every scenario of the project can be read, and an unknown one names them', async () => {
  const names = await shippedScenarios()
  assert.ok(names.includes('tour') && names.includes('lost-broker'))
  for (const name of names) assert.ok((await findScenario(name)).steps.length > 0, name)
  await assert.rejects(findScenario('nothing'), /there is no file nothing, .* there are attach, broken-nic/)
})
