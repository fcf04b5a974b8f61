/** The CLI finds again what the agent writes about the way of packets. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  notSent,
  onlyBound,
  onlyBoundIn,
  pastMarks,
  unexpectedWay,
  waysIn,
  withoutMarks,
  withoutMarksIn,
} from './routing-messages.ts'

const rule = 'eth0, table 51820 (rule from 0.0.0.0/0 lookup 51820 priority 5000)'
const ways: Record<string, [text: string, to: string]> = {
  'another device': [unexpectedWay({ from: '10.1.0.5', to: '192.0.2.1' }, rule, 'multinic1'), '192.0.2.1'],
  'no route': [unexpectedWay({ to: 'fd00::1' }, undefined, 'multinic1'), 'fd00::1'],
  'a mark': [unexpectedWay({ mark: '0x10', to: '192.0.2.1' }, 'eth0, table 254', 'multinic1'), '192.0.2.1'],
  'the NIC instead of another device': [
    unexpectedWay({ from: '192.168.0.2', to: '10.1.0.9' }, 'multinic1', 'another device'),
    '10.1.0.9',
  ],
  'a filter of IPv4': [notSent({ from: '10.1.0.5', to: '10.1.0.1' }, 'Operation not permitted'), '10.1.0.1'],
  'a filter of IPv6': [notSent({ from: 'fd00::5', to: 'fd00::1' }, 'Permission denied'), 'fd00::1'],
}
for (const [name, [text, to]] of Object.entries(ways))
  test(`a way by ${name} is found in a message`, () => {
    assert.deepEqual(waysIn(`multinic1: link is down; ${text}; ipv4.rp_filter is 1, expected 2`), [{ text, to }])
  })

test('the end of a long message may be cut off', () => {
  const [text] = ways['another device'] ?? []
  assert.deepEqual(waysIn(`${text?.slice(0, 60)}…`), [{ text: `${text?.slice(0, 60)}…`, to: '192.0.2.1' }])
})

test('other differences are no ways', () => {
  for (const text of ['', 'route 10.1.0.0/24 is missing', 'packets from x to y leave by z', 'gateway does not reply'])
    assert.deepEqual(waysIn(text), [])
})

test('networks that only the address of the NIC reaches, and a node without nftables, are found in a message', () => {
  const reserved = onlyBound('10.1.0.0/24', 'contains 10.1.0.2, the address of the node')
  const marks = withoutMarks('Operation not supported')
  assert.deepEqual(onlyBoundIn(`${reserved}; ${marks}`), [{ text: reserved, network: '10.1.0.0/24' }])
  const past = pastMarks('Cilium')
  assert.deepEqual(withoutMarksIn(`${reserved}; ${marks}; ${past}`), [marks, past])
  assert.deepEqual(withoutMarksIn(reserved), [])
})
