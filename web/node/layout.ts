/**
 * Positions in the picture of a node: its NICs, the subnets, and the cables between them. Pure.
 */
import { maxInterfaces } from '../../src/contract/interface-fields.ts'
import type { Nic } from '../model/nodes.ts'
import { subnetKey } from '../model/subnets.ts'

export interface NodeLayout {
  height: number
  primary: { y: number; cable: string; box: number }
  rows: { nic: Nic; y: number; cable: string; middle: { x: number; y: number } }[]
  boxes: { key: string; nic: Nic; y: number; height: number }[]
  free: { y: number; from: number; count: number }
}

export const picture = { width: 1130, chassis: 452, socket: 406, plug: 454, boxes: 800, boxWidth: 329 } as const
const [rowHeight, firstRow, boxHeight, boxGap] = [46, 142, 38, 26]

export function layoutNode(nics: readonly Nic[]): NodeLayout {
  const keys = [...new Set(nics.map(subnetKey))]
  const bottom = firstRow + nics.length * rowHeight
  const height = bottom + (nics.length < maxInterfaces ? 46 : 12)
  const stride = Math.max(boxHeight + 8, Math.min(boxHeight + boxGap, (height - 20) / (keys.length + 1)))
  const used = stride * (keys.length + 1) - (stride - boxHeight)
  const top = Math.max(10, (height - used) / 2)
  const boxes = keys.map((key, index) => {
    const nic = nics.find(nic => subnetKey(nic) === key) as Nic
    return { key, nic, y: top + (index + 1) * stride, height: boxHeight }
  })
  const placed = new Map<string, number>()
  const rows = nics.map((nic, index) => {
    const y = firstRow + index * rowHeight
    const box = boxes.find(({ key }) => key === subnetKey(nic)) as NodeLayout['boxes'][number]
    const total = nics.filter(each => subnetKey(each) === box.key).length
    const before = placed.get(box.key) ?? 0
    placed.set(box.key, before + 1)
    const to = box.y + (boxHeight * (before + 1)) / (total + 1)
    return { nic, y, cable: cableOf(y, to), middle: { x: (picture.plug + picture.boxes) / 2, y: (y + to) / 2 } }
  })
  return {
    height: Math.max(height, top + used + 10),
    primary: { y: 84, cable: cableOf(84, top + boxHeight / 2), box: top },
    rows,
    boxes,
    free: { y: bottom + 4, from: nics.length, count: Math.max(0, maxInterfaces - nics.length) },
  }
}

function cableOf(from: number, to: number): string {
  return `M${picture.plug} ${from}C602 ${from} 630 ${to} ${picture.boxes} ${to}`
}
