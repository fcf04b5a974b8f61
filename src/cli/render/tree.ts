/**
 * Branches as lines, drawn like `tree`. Pure.
 */
export interface Branch {
  text: string
  /** Lines below the branch. */
  notes?: readonly string[]
  children?: readonly Branch[]
}

export function treeLines(roots: readonly Branch[]): string[] {
  return roots.flatMap(root => [root.text, ...linesBelow(root, '')])
}

function linesBelow({ notes = [], children = [] }: Branch, indent: string): string[] {
  const stem = children.length > 0 ? '│' : ' '
  return [
    ...notes.map(note => `${indent}${stem}  ${note}`),
    ...children.flatMap((child, at) => {
      const last = at === children.length - 1
      return [`${indent}${last ? '└─' : '├─'} ${child.text}`, ...linesBelow(child, `${indent}${last ? '   ' : '│  '}`)]
    }),
  ]
}
