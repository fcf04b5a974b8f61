/**
 * The part of the protobuf wire format that kubectl bodies and OpenAPI v2 documents use.
 */
import { Buffer } from 'node:buffer'

export interface WireField {
  number: number
  /** A varint, or the bytes of a length-delimited field. */
  value: bigint | Buffer
}

/** The fields of a message, in order. Throws on invalid input. */
export function readMessage(bytes: Buffer): WireField[] {
  const fields: WireField[] = []
  let at = 0
  const varint = () => {
    let value = 0n
    for (let shift = 0n; ; shift += 7n) {
      const byte = bytes[at++]
      if (byte === undefined) throw new Error('truncated protobuf message')
      value |= BigInt(byte & 0x7f) << shift
      if (byte < 0x80) return value
    }
  }
  while (at < bytes.length) {
    const tag = varint()
    const number = Number(tag >> 3n)
    const type = Number(tag & 7n)
    if (type === 0) fields.push({ number, value: varint() })
    else if (type === 2) {
      const length = Number(varint())
      if (at + length > bytes.length) throw new Error('truncated protobuf message')
      fields.push({ number, value: bytes.subarray(at, at + length) })
      at += length
    } else throw new Error(`unsupported protobuf wire type ${type}`)
  }
  return fields
}

function varintBytes(value: number): Buffer {
  const bytes: number[] = []
  let left = value
  while (left >= 0x80) {
    bytes.push((left % 0x80) | 0x80)
    left = Math.floor(left / 0x80)
  }
  return Buffer.from([...bytes, left])
}

export function textField(number: number, text: string): Buffer {
  return bytesField(number, Buffer.from(text))
}

export function bytesField(number: number, ...parts: Buffer[]): Buffer {
  const content = Buffer.concat(parts)
  return Buffer.concat([varintBytes(number * 8 + 2), varintBytes(content.length), content])
}

export function boolField(number: number, value: boolean): Buffer {
  return Buffer.concat([varintBytes(number * 8), varintBytes(value ? 1 : 0)])
}
