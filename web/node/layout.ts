/**
 * Where things stand in the pictures: a node with its cables, subnets and nodes with their ribbons. Pure.
 */

import { type Look, type Nic, type Node, slots } from '../model/nodes.ts'
import type { Subnet } from '../model/subnets.ts'
import { subnetKey } from '../model/subnets.ts'

export interface NodeLayout {
  height: number
  primary: { y: number; cable: string; box: number }
  rows: { nic: Nic; y: number; cable: string; middle: { x: number; y: number } }[]
  boxes: { key: string; network: string; subnetId: string; mtu: number | undefined; y: number; height: number }[]
  free: { y: number; from: number; count: number }
}

export const picture = { width: 1130, chassis: 452, socket: 406, plug: 454, boxes: 800, boxWidth: 329 } as const
const [rowHeight, firstRow, boxHeight, boxGap] = [46, 142, 38, 26]

export function layoutNode(nics: readonly Nic[]): NodeLayout {
  const keys = [...new Set(nics.map(subnetKey))]
  const bottom = firstRow + nics.length * rowHeight
  const height = bottom + (nics.length < slots ? 46 : 12)
  const stride = Math.max(boxHeight + 8, Math.min(boxHeight + boxGap, (height - 20) / (keys.length + 1)))
  const used = stride * (keys.length + 1) - (stride - boxHeight)
  const top = Math.max(10, (height - used) / 2)
  const boxes = keys.map((key, index) => {
    const { network, subnetId, mtu } = nics.find(nic => subnetKey(nic) === key) as Nic
    return { key, network, subnetId, mtu, y: top + (index + 1) * stride, height: boxHeight }
  })
  const seen = new Map<string, number>()
  const rows = nics.map((nic, index) => {
    const y = firstRow + index * rowHeight
    const box = boxes.find(({ key }) => key === subnetKey(nic)) as NodeLayout['boxes'][number]
    const sharers = nics.filter(each => subnetKey(each) === box.key).length
    const at = seen.get(box.key) ?? 0
    seen.set(box.key, at + 1)
    const to = box.y + (boxHeight * (at + 1)) / (sharers + 1)
    return { nic, y, cable: cableOf(y, to), middle: { x: (picture.plug + picture.boxes) / 2, y: (y + to) / 2 } }
  })
  return {
    height: Math.max(height, top + used + 10),
    primary: { y: 84, cable: cableOf(84, top + boxHeight / 2), box: top },
    rows,
    boxes,
    free: { y: bottom + 4, from: nics.length, count: Math.max(0, slots - nics.length) },
  }
}

function cableOf(from: number, to: number): string {
  return `M${picture.plug} ${from}C602 ${from} 630 ${to} ${picture.boxes} ${to}`
}

export interface Ribbon {
  id: string
  subnet: string
  node: string
  look: Look
  path: string
}

export interface RibbonLayout {
  height: number
  subnets: { subnet: Subnet; y: number; height: number }[]
  nodes: { node: Node; y: number }[]
  ribbons: Ribbon[]
}

export const ribbonPicture = { width: 800, subnetWidth: 200, left: 206, right: 664, nodeHeight: 18 } as const

/** Subnets on the left as tall as their share of NICs, nodes on the right in rows, and a ribbon for every NIC. */
export function layoutRibbons(subnets: readonly Subnet[], nodes: readonly Node[]): RibbonLayout {
  const { nodeHeight, left, right } = ribbonPicture
  const [gap, least] = [14, 40]
  const shown = new Set(nodes.map(({ key }) => key))
  const linksOf = (subnet: Subnet) => subnet.links.filter(({ node }) => shown.has(node.key))
  const here = subnets.filter(subnet => linksOf(subnet).length > 0)
  const height = Math.max(nodes.length * nodeHeight, here.length * (least + gap) - gap, 220)
  const total = here.reduce((sum, subnet) => sum + linksOf(subnet).length, 0)
  const spare = height - gap * (here.length - 1) - least * here.length
  const nodeTop = (height - nodes.length * nodeHeight) / 2
  const rowOf = new Map(nodes.map((node, index) => [node.key, nodeTop + index * nodeHeight + nodeHeight / 2]))
  const ribbons: Ribbon[] = []
  let y = 0
  const placed = here.map(subnet => {
    const links = linksOf(subnet).toSorted((a, b) => (rowOf.get(a.node.key) ?? 0) - (rowOf.get(b.node.key) ?? 0))
    const tall = least + Math.max(0, (spare * links.length) / Math.max(1, total))
    links.forEach(({ node, nic }, index) => {
      const from = y + ((index + 0.5) * tall) / links.length
      const to = (rowOf.get(node.key) ?? 0) + ((nic.slot + 0.5) / slots - 0.5) * (nodeHeight - 8)
      const thick = Math.min(6, Math.max(1.2, tall / links.length - 1.2))
      const path = ribbonPath([left, from, thick], [right, to, 1.6])
      ribbons.push({ id: `${node.key} ${nic.name}`, subnet: subnet.key, node: node.key, look: nic.look, path })
    })
    const box = { subnet, y, height: tall }
    y += tall + gap
    return box
  })
  return { height, subnets: placed, nodes: nodes.map(node => ({ node, y: rowOf.get(node.key) ?? 0 })), ribbons }
}

type End = [x: number, y: number, thick: number]

function ribbonPath([x1, y1, t1]: End, [x2, y2, t2]: End): string {
  const middle = (x1 + x2) / 2
  const r = (n: number) => Math.round(n * 10) / 10
  const upper = `M${x1} ${r(y1 - t1 / 2)}C${middle} ${r(y1 - t1 / 2)} ${middle} ${r(y2 - t2 / 2)} ${x2} ${r(y2 - t2 / 2)}`
  return `${upper}V${r(y2 + t2 / 2)}C${middle} ${r(y2 + t2 / 2)} ${middle} ${r(y1 + t1 / 2)} ${x1} ${r(y1 + t1 / 2)}Z`
}

/** One path for all cells of a look: ten thousand cells must cost no ten thousand elements. */
export function minimapPaths(nodes: readonly Node[], height: number): { look: Look; path: string }[] {
  const row = height / Math.max(1, nodes.length)
  const parts = new Map<Look, string[]>()
  nodes.forEach((node, index) => {
    for (const { slot, look } of node.nics) {
      const tall = look === 'ok' ? Math.min(row * 0.7, 4) : Math.min(Math.max(row * 0.9, 1.6), 4)
      const cells = parts.get(look) ?? []
      cells.push(`M${(slot * 6.6).toFixed(1)} ${(index * row).toFixed(2)}h5.6v${tall.toFixed(2)}h-5.6z`)
      parts.set(look, cells)
    }
  })
  return [...parts].map(([look, cells]) => ({ look, path: cells.join('') }))
}

const [rowsMore, rowsBlock] = [6, 4]

/** The rows of a long list that are in sight, with some more above and below; in blocks, so that it seldom changes. */
export function windowOf(
  count: number,
  rowHeight: number,
  scrolled: number,
  seen: number,
): { first: number; last: number } {
  const first = Math.floor(scrolled / rowHeight / rowsBlock) * rowsBlock - rowsMore
  const last = Math.ceil((scrolled + seen) / rowHeight / rowsBlock) * rowsBlock + rowsMore
  return { first: Math.max(0, first), last: Math.min(count, last) }
}

/** The most rows that such a window has at once. */
export function poolOf(rowHeight: number, seen: number): number {
  return Math.ceil(seen / rowHeight) + 2 * (rowsMore + rowsBlock)
}
