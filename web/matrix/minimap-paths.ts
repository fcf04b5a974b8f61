/**
 * The cells of the minimap as SVG paths. Pure.
 */
import type { Node, Severity } from '../model/nodes.ts'

/** One path for all cells of a severity: ten thousand elements would be too slow. */
export function minimapPaths(nodes: readonly Node[], height: number): { severity: Severity; path: string }[] {
  const rowHeight = height / Math.max(1, nodes.length)
  const cellsBySeverity = new Map<Severity, string[]>()
  nodes.forEach((node, row) => {
    for (const { index, severity } of node.nics) {
      const cellHeight =
        severity === 'configured' ? Math.min(rowHeight * 0.7, 4) : Math.min(Math.max(rowHeight * 0.9, 1.6), 4)
      const cells = cellsBySeverity.get(severity) ?? []
      cells.push(`M${(index * 6.6).toFixed(1)} ${(row * rowHeight).toFixed(2)}h5.6v${cellHeight.toFixed(2)}h-5.6z`)
      cellsBySeverity.set(severity, cells)
    }
  })
  return [...cellsBySeverity].map(([severity, cells]) => ({ severity, path: cells.join('') }))
}
