/**
 * Wraps lines at the width of the terminal. Pure.
 */

/** Korean letters take two columns of a terminal. */
const wide = /[\u1100-\u115f\u3130-\u318f\uac00-\ud7a3\uff01-\uff60]/

// biome-ignore lint/suspicious/noControlCharactersInRegex: the expression matches the colours of paint.ts
const colours = /\u001b\[\d+m/g

export function widthOf(text: string): number {
  return [...text.replace(colours, '')].reduce((width, letter) => width + (wide.test(letter) ? 2 : 1), 0)
}

/**
 * Breaks a line at spaces. The rest is indented, and a tree keeps its branches. A word is never broken: it may be a URL. Some
 * terminals report no width: 0 columns.
 */
export function wrapped(line: string, columns: number, hanging = '  '): string[] {
  if (columns === 0 || widthOf(line) <= columns) return [line]
  const branches = /^[\s│├└─]*/.exec(line)?.[0] ?? ''
  const indent = `${branches.replaceAll('├', '│').replaceAll(/[└─]/g, ' ')}${hanging}`
  const lines: string[] = []
  let current = branches
  for (const word of line
    .slice(branches.length)
    .trimEnd()
    .split(/(?<=\S)(?=\s)/)) {
    if (current === branches || widthOf(current + word) <= columns) current += word
    else {
      lines.push(current)
      current = indent + word.trimStart()
    }
  }
  return [...lines, current]
}
