/**
 * Positions in the topology: subnets on the left, nodes on the right, one ribbon for each NIC. Pure.
 */
import { maxInterfaces } from '../../src/contract/interface-fields.ts'
import type { Node, Severity } from '../model/nodes.ts'
import type { Subnet } from '../model/subnets.ts'

export interface Ribbon {
  id: string
  subnet: string
  node: string
  severity: Severity
  path: string
}

export interface RibbonLayout {
  height: number
  subnets: { subnet: Subnet; y: number; height: number }[]
  nodes: { node: Node; y: number }[]
  ribbons: Ribbon[]
}

export const ribbonPicture = { width: 800, subnetWidth: 200, left: 206, right: 664, nodeHeight: 18 } as const

/** A subnet is as tall as its share of the NICs, but at least `minHeight`. */
export function layoutRibbons(subnets: readonly Subnet[], nodes: readonly Node[]): RibbonLayout {
  const { nodeHeight, left, right } = ribbonPicture
  const [gap, minHeight] = [14, 40]
  const shown = new Set(nodes.map(({ key }) => key))
  const attachmentsOf = (subnet: Subnet) => subnet.attachments.filter(({ node }) => shown.has(node.key))
  const used = subnets.filter(subnet => attachmentsOf(subnet).length > 0)
  const height = Math.max(nodes.length * nodeHeight, used.length * (minHeight + gap) - gap, 220)
  const total = used.reduce((sum, subnet) => sum + attachmentsOf(subnet).length, 0)
  const spare = height - gap * (used.length - 1) - minHeight * used.length
  const nodeTop = (height - nodes.length * nodeHeight) / 2
  const yByNode = new Map(nodes.map((node, index) => [node.key, nodeTop + index * nodeHeight + nodeHeight / 2]))
  const yOf = (node: Node) => yByNode.get(node.key) ?? 0
  const ribbons: Ribbon[] = []
  let y = 0
  const boxes = used.map(subnet => {
    const attachments = attachmentsOf(subnet).toSorted((a, b) => yOf(a.node) - yOf(b.node))
    const boxHeight = minHeight + Math.max(0, (spare * attachments.length) / Math.max(1, total))
    attachments.forEach(({ node, nic }, position) => {
      const from = y + ((position + 0.5) * boxHeight) / attachments.length
      const to = yOf(node) + ((nic.index + 0.5) / maxInterfaces - 0.5) * (nodeHeight - 8)
      const thickness = Math.min(6, Math.max(1.2, boxHeight / attachments.length - 1.2))
      const path = ribbonPath([left, from, thickness], [right, to, 1.6])
      ribbons.push({ id: `${node.key} ${nic.name}`, subnet: subnet.key, node: node.key, severity: nic.severity, path })
    })
    const box = { subnet, y, height: boxHeight }
    y += boxHeight + gap
    return box
  })
  return { height, subnets: boxes, nodes: nodes.map(node => ({ node, y: yOf(node) })), ribbons }
}

type End = [x: number, y: number, thickness: number]

function ribbonPath([x1, y1, t1]: End, [x2, y2, t2]: End): string {
  const middle = (x1 + x2) / 2
  const r = (n: number) => Math.round(n * 10) / 10
  const upper = `M${x1} ${r(y1 - t1 / 2)}C${middle} ${r(y1 - t1 / 2)} ${middle} ${r(y2 - t2 / 2)} ${x2} ${r(y2 - t2 / 2)}`
  return `${upper}V${r(y2 + t2 / 2)}C${middle} ${r(y2 + t2 / 2)} ${middle} ${r(y1 + t1 / 2)} ${x1} ${r(y1 + t1 / 2)}Z`
}
