/** The catalogue of reasons: texts in both languages, and classes that decide Event types and the Degraded condition. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { classOf, eventTypeOf, isRefusal, needsAttention, reasonGroups, reasonText } from './catalogue.ts'
import type { Reason, RunReason } from './reason.ts'

const all = Object.values(reasonGroups).flatMap(group => Object.entries<Reason>(group))

const namesIn = (group: keyof typeof reasonGroups, holds: (reason: string) => boolean) =>
  Object.keys(reasonGroups[group]).filter(holds).sort()

test('every reason has a meaning and a remedy in English and in Korean', () => {
  for (const [name, { en, ko }] of all) {
    for (const text of en) assert.match(text, /^[ -~]+\.$/, name)
    for (const text of ko) assert.match(text, /[가-힣](니다|십시오)\.$/, name)
    assert.deepEqual(reasonText(name), { meaning: en[0], remedy: en[1] })
    const [meaning, remedy] = ko.map(text => text.replaceAll('십시오', '세요'))
    assert.deepEqual(reasonText(name, 'ko'), { meaning, remedy })
  }
})

test('English sentences are short', () => {
  const sentences = all.flatMap(([, { en }]) => en.flatMap(text => text.split(/(?<=[.:]) /)))
  assert.deepEqual(
    sentences.filter(sentence => sentence.split(' ').length >= 25),
    [],
  )
})

test('a reason of two groups has one class and one text', () => {
  for (const [name, reason] of all)
    for (const [other, twin] of all) if (name === other) assert.deepEqual(reason, twin, name)
})

test('a controller announces results and steps by Normal Events, everything else by Warnings', () => {
  assert.deepEqual(
    namesIn('node', reason => classOf(reason) === 'normal'),
    ['AllInterfacesConfigured', 'ConfiguredByOlderAgent', 'Paused'],
  )
  assert.deepEqual(
    namesIn('node', reason => classOf(reason) === 'progress'),
    ['Applying', 'PreviousJobRunning', 'Removing', 'RolloutWaiting'],
  )
  assert.deepEqual(['Removed', 'Drifted'].map(eventTypeOf), ['Normal', 'Warning'])
})

test('an operator announces a selected port, a port on its way and a connected bus by Normal Events', () => {
  const isNormal = (reason: string) => eventTypeOf(reason) === 'Normal'
  assert.deepEqual(namesIn('verdict', isNormal), [
    'NodeNotSelected',
    'NotSelected',
    'PortNotBound',
    'PrimaryPort',
    'Selected',
    'SelectedByOther',
  ])
  assert.deepEqual(namesIn('sync', isNormal), [
    'EventBusConnected',
    'EventBusConnecting',
    'EventBusNotConfigured',
    'Healthy',
    'NoChange',
    'NodesPending',
    'RenumberInProgress',
    'Renumbered',
    'Synced',
  ])
})

test('verdicts that need attention are those that degrade an OpenstackConfig', () => {
  assert.deepEqual(namesIn('verdict', needsAttention), [
    'AddressNotUnique',
    'IndexConflict',
    'IndexInUse',
    'LimitReached',
    'MacNotUnique',
    'PortInvalid',
    'SubnetNameReused',
    'VmNameInvalid',
    'VmNameNotUnique',
    'VmNotFound',
    'VmNotUnique',
  ])
})

test('a reason that this version does not know has no text and no class, and warns', () => {
  for (const reason of ['SomethingOld', '', 'constructor', '__proto__']) {
    assert.equal(reasonText(reason), undefined)
    assert.equal(classOf(reason), undefined)
    assert.equal(eventTypeOf(reason), 'Warning')
    assert.equal(needsAttention(reason), false)
  }
})

test('every failure of a run says whether the same attempt would fail again', () => {
  for (const [name, reason] of Object.entries<Reason>({ ...reasonGroups.node, ...reasonGroups.interface })) {
    const isFailure = reason.class === 'warning' || reason.class === 'attention'
    assert.equal(typeof reason.refusal, isFailure ? 'boolean' : 'undefined', name)
    assert.equal(isRefusal(name), reason.refusal === true)
  }
  // @ts-expect-error Without `refusal`.
  ;({ class: 'warning', en: ['', ''], ko: ['', ''] }) satisfies RunReason
})
