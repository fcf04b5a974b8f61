/** The comparison of outputs accepts values that differ from run to run, and nothing else. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { findDifference } from './output-shape.ts'

const table = `NAME      READY   NODES   PORTS   SYNCED   AGE
sandbox   True    3/3     3/3     12s      4d
`
const tree = `provider 6f1c2a10-3b52-4d8e-9a41-7c55e0f2b9d4  1 node, 1 Configured
└─ worker-1  Configured
   └─ ● multinic0  Configured  10.10.0.11/24  mtu 1450  fa:16:3e:00:00:01  observed 12m ago
`
const answer = '{ "version": "1", "items": [{ "node": "worker-1", "ready": true }] }'

const equal: Record<string, [shown: string, actual: string]> = {
  'the same text': [table, table],
  'other ages, and columns of another width': [
    table,
    `NAME         READY   NODES   PORTS   SYNCED   AGE\nsandbox      True    3/3     3/3     3m5s     11h\n`,
  ],
  'other IDs, addresses and MAC addresses': [
    tree,
    tree
      .replace('6f1c2a10-3b52', '00000000-0000')
      .replace('10.10.0.11', '10.10.0.250')
      .replace('fa:16:3e:00:00:01', 'fa:16:3e:aa:bb:cc'),
  ],
  'another time': ['not verified since 2026-01-31T10:00:00Z', 'not verified since 2027-02-01T11:22:33.123Z'],
  'another port of a URL': ['dashboard http://127.0.0.1:18081/', 'dashboard http://127.0.0.1:40123/'],
  'another name of a Pod': ['pod/multinic-agent-worker-1-g1-x7k2p', 'pod/multinic-agent-worker-1-g1-zzb9d'],
  'the hash of a Job that has no letter': [
    'job/multinic-agent-worker-1-g2-3f2a91bc',
    'job/multinic-agent-worker-1-g2-52997997',
  ],
  'the hash of a Job that has no digit': [
    'job/multinic-agent-worker-1-g2-3f2a91bc',
    'job/multinic-agent-worker-1-g2-deadbeef',
  ],
  'the hash of a Job that reads like a duration': [
    'job/multinic-agent-worker-1-g2-3f2a91bc-x7k2p',
    'job/multinic-agent-worker-1-g2-1234567d-2456d',
  ],
  'another hash': ['spec 3f2a91bc04', 'spec 77ab01ff9e'],
  'lines that the page leaves out': [`NAME      READY   NODES   PORTS   SYNCED   AGE\n...\n`, table],
  'lines left out in the middle': ['a\n...\nd\n', 'a\nb\nc\nd\n'],
  'JSON with other values, order, indentation and number of elements': [
    answer,
    '{"items":[{"ready":false,"node":"w2"},{"node":"w3","ready":true}],"version":"22"}',
  ],
  'an object in YAML with other values': [
    'apiVersion: v1\nkind: Secret\nmetadata: { name: a }\n',
    'apiVersion: v1\nkind: Secret\nmetadata:\n  name: b\n',
  ],
  'an observation of this second': ['mtu 1450  observed 3s ago\n', 'mtu 1450  observed now\n'],
}
for (const [name, [shown, actual]] of Object.entries(equal))
  test(`equal: ${name}`, () => assert.equal(findDifference(shown, actual), undefined))

const different: Record<string, [shown: string, actual: string]> = {
  'another heading': [table, table.replace('READY', 'STATE')],
  'a new column': [table, table.replace('AGE', 'AGE   REASON').replace('4d', '4d    Synced')],
  'two columns in another order': [table, table.replace('NODES   PORTS', 'PORTS   NODES')],
  'a column without its value': [table, table.replace('True ', '     ')],
  'another row': [table, `${table}second    True    3/3     3/3     12s      4d\n`],
  'no row': [table, table.split('\n')[0] ?? ''],
  'no output': [table, ''],
  'another state': [tree, tree.replaceAll('Configured', 'Failed')],
  'another word of a message': ['node worker-1 is not ready', 'node worker-1 is unready'],
  'now where nothing was observed': ['starts 3s ago', 'starts now'],
  'another number': ['exit code 1', 'exit code 2'],
  'another indentation': [tree, tree.replace('   └─', '  └─')],
  'another symbol': [tree, tree.replace('●', '✗')],
  'lines in another order': ['a\nb\n', 'b\na\n'],
  'nothing where the page leaves lines out': ['a\n...\nb\n', 'a\nb\n'],
  'a last line after the end of the page': ['a\n...\nc\n', 'a\nb\nc\nd\n'],
  'another name of a key': [answer, answer.replace('"node"', '"nodeName"')],
  'a missing key': [answer, answer.replace(', "ready": true', '')],
  'a new key': [answer, answer.replace('"ready": true', '"ready": true, "x": 1')],
  'another type of a value': [answer, answer.replace('"1"', '1')],
  'a value that became null': [answer, answer.replace('"1"', 'null')],
  'a list in place of an object': ['{ "a": {} }', '{ "a": [] }'],
  'an element with another type': [answer, answer.replace('true }]', 'true }, 1]')],
  'another key of a YAML object': ['apiVersion: v1\nkind: Secret\n', 'apiVersion: v1\nkinds: Secret\n'],
  'an error message in place of JSON': [answer, 'not found'],
}
for (const [name, [shown, actual]] of Object.entries(different))
  test(`different: ${name}`, () => assert.ok(findDifference(shown, actual)))

test('the difference names both outputs, with placeholders', () => {
  assert.equal(
    findDifference('ready after 5s\n', 'failed after 7s\n'),
    'the page shows\nready after DURATION\nbut the output is\nfailed after DURATION',
  )
})
