/**
 * The blocks of the documents that hold commands. What stands behind the language of a fence says where they are run:
 * "```sh sandbox". In a "console" block the lines that begin with `$ ` are commands, the others what they answer.
 */
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

export const root = join(import.meta.dirname, '../..')

/** Where commands of the documents are run, and by which file. */
export const stages = {
  sandbox: 'test/docs/sandbox.e2e.test.ts: a sandbox, with the real kubectl',
  cluster: 'test/docs/cluster.e2e.test.ts: a real kube-apiserver, with the real kubectl and helm',
  node: 'test/docs/sandbox.e2e.test.ts: a node of the sandbox',
  shell: 'test/docs/blocks.test.ts: any machine',
  ci: '.ci/run itself, or the workflow that calls it',
  elsewhere: 'nowhere here; test/docs/not-run.ts says why, and what is checked instead',
} as const
export type Stage = keyof typeof stages

export interface Block {
  page: string
  line: number
  language: string
  stage: string
  /** Further words of the fence. */
  marks: string[]
  text: string
}

/** Pages that people read to do something. */
export const pages = globSync(
  ['README*.md', 'CONTRIBUTING.md', 'docs/*.md', 'docs/guides/*.md', 'docs/examples/*.md', 'docs/reference/cli.md'],
  { cwd: root },
).sort()

export function blocksIn(page: string, markdown = readFileSync(join(root, page), 'utf8')): Block[] {
  return [...markdown.matchAll(/^( *)```(.*)\n([\s\S]*?)^ *```$/gm)].map(
    ({ 1: indent = '', 2: info = '', 3: text = '', index }) => {
      const [language = '', stage = '', ...marks] = info.trim().split(/\s+/)
      const line = markdown.slice(0, index).split('\n').length
      return { page, line, language, stage, marks, text: text.replaceAll(new RegExp(`^${indent}`, 'gm'), '') }
    },
  )
}

export const isShell = ({ language }: Block) => language === 'sh' || language === 'console'

/** What is typed; without the answers that a console block shows. */
export function commandsOf({ language, text }: Block): string {
  if (language === 'sh') return text
  return text.replaceAll(/^(?!\$ ).*\n/gm, '').replaceAll(/^\$ /gm, '')
}

/** The same in every language: without remarks and the blanks before them. */
export function bare(block: Block): string {
  return commandsOf(block)
    .split('\n')
    .map(line => line.replace(/(^|\s+)# .*$/, '').trimEnd())
    .filter(line => line !== '')
    .join('\n')
}

export const english = pages.filter(page => !page.endsWith('.ko.md'))

export function blocksOf(stage: Stage): Block[] {
  return english.flatMap(page => blocksIn(page)).filter(block => isShell(block) && block.stage === stage)
}

/** What stands between backticks in the sentences of a page. */
export function spansIn(page: string): string[] {
  const prose = readFileSync(join(root, page), 'utf8').replaceAll(/^ *```[\s\S]*?^ *```$/gm, '')
  return [...prose.matchAll(/`([^`\n]+)`/g)].map(([, span = '']) => span)
}
