/**
 * Branches as lines, the way `tree` draws them. Pure.
 */
export interface Branch {
  text: string
  /** Lines below the branch that belong to it. */
  notes?: readonly string[]
  children?: readonly Branch[]
}

export function treeLines(roots: readonly Branch[]): string[] {
  return roots.flatMap(root => [root.text, ...below(root, '')])
}

function below({ notes = [], children = [] }: Branch, indent: string): string[] {
  const stem = children.length > 0 ? '│' : ' '
  return [
    ...notes.map(note => `${indent}${stem}  ${note}`),
    ...children.flatMap((child, at) => {
      const last = at === children.length - 1
      return [`${indent}${last ? '└─' : '├─'} ${child.text}`, ...below(child, `${indent}${last ? '   ' : '│  '}`)]
    }),
  ]
}
