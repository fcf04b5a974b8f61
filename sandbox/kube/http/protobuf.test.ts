import assert from 'node:assert/strict'
import { test } from 'node:test'
import { rejectionOf } from '../cluster.fixture.ts'
import { decodeBody } from './protobuf.ts'

const bytesField = (number: number, ...parts: Buffer[]) => {
  const content = Buffer.concat(parts)
  return Buffer.concat([Buffer.from([...tagOf(number, 2), content.length]), content])
}
const tagOf = (number: number, type: number) =>
  number < 16 ? [number * 8 + type] : [(number * 8 + type) | 0x80, number >> 4]
const textField = (number: number, text: string) => bytesField(number, Buffer.from(text))
const boolField = (number: number, value: boolean) => Buffer.from([...tagOf(number, 0), value ? 1 : 0])
const body = (kind: string, ...fields: Buffer[]) =>
  Buffer.concat([Buffer.from('k8s\0'), bytesField(1, textField(1, 'v1'), textField(2, kind)), bytesField(2, ...fields)])

const metadata = bytesField(
  1,
  textField(1, 'n'),
  textField(2, ''),
  bytesField(8),
  bytesField(11, textField(1, 'a'), textField(2, 'b')),
)

test('a Secret is decoded with its bytes in base64', () => {
  const data = bytesField(2, textField(1, 'key'), bytesField(2, Buffer.from([0, 1, 2])))
  assert.deepEqual(decodeBody(body('Secret', metadata, data, textField(3, 'Opaque'), boolField(5, false))), {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: 'n', labels: { a: 'b' } },
    data: { key: 'AAEC' },
    type: 'Opaque',
    immutable: false,
  })
})

test('lists and nested messages are decoded', () => {
  const rule = bytesField(2, textField(1, 'get'), textField(1, 'list'), textField(3, 'pods'))
  assert.deepEqual(decodeBody(body('Role', metadata, rule))['rules'], [{ verbs: ['get', 'list'], resources: ['pods'] }])
})

test('unknown fields and kinds are rejected, not dropped', () => {
  const unknown = rejectionOf(() => decodeBody(body('Secret', metadata, textField(99, 'x'))))
  assert.match(unknown.message ?? '', /protobuf field 99 of Secret is not supported; send application\/json/)
  assert.equal(rejectionOf(() => decodeBody(body('Deployment'))).code, 415)
  assert.equal(rejectionOf(() => decodeBody(Buffer.from('{}  '))).code, 415)
})

test('a truncated message is an error', () => {
  for (const cut of [1, 2])
    assert.throws(() => decodeBody(body('Secret', metadata).subarray(0, -cut)), /truncated protobuf message/)
})
