/**
 * The command blocks of the documents. The word after the language of a fence names the environment that runs them:
 * "```sh sandbox". In a "console" block lines that begin with `$ ` are commands, the others their output.
 */
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

export const root = join(import.meta.dirname, '../..')

/** Environments that run commands of the documents, and the file that runs them. */
export const environments = {
  sandbox: 'test/docs/sandbox.e2e.test.ts: a sandbox and the real kubectl',
  cluster: 'test/docs/cluster.e2e.test.ts: a real kube-apiserver, the real kubectl and helm',
  'quick-start':
    'test/docs/quick-start.e2e.test.ts: a real kubelet, a real OpenStack, the real kubectl, helm and openstack',
  node: 'test/docs/sandbox.e2e.test.ts: a node of the sandbox',
  shell: 'test/docs/blocks.test.ts: any machine',
  ci: '.ci/run',
  elsewhere: 'none; test/docs/not-run.ts gives the reason and the substitute',
} as const
export type Environment = keyof typeof environments

export interface Block {
  page: string
  line: number
  language: string
  environment: string
  /** Remaining words of the fence. */
  options: string[]
  text: string
}

export const pages = globSync(['*.md', 'docs/**/*.md'], { cwd: root }).sort()

export function blocksIn(page: string, markdown = readFileSync(join(root, page), 'utf8')): Block[] {
  return [...markdown.matchAll(/^( *)```(.*)\n([\s\S]*?)^ *```$/gm)].map(
    ({ 1: indent = '', 2: info = '', 3: text = '', index }) => {
      const [language = '', environment = '', ...options] = info.trim().split(/\s+/)
      const line = markdown.slice(0, index).split('\n').length
      return { page, line, language, environment, options, text: text.replaceAll(new RegExp(`^${indent}`, 'gm'), '') }
    },
  )
}

export const isShell = ({ language }: Block) => language === 'sh' || language === 'console'

/** Commands, and the output that the page shows after them. */
export interface Step {
  commands: string
  output: string
}

/** A console block has one step per command, another block one step without output. */
export function stepsOf({ language, text }: Block): Step[] {
  if (language === 'sh') return [{ commands: text, output: '' }]
  return [...text.matchAll(/^\$ ((?:.*\\\n)*.*\n)((?:(?!\$ ).*\n)*)/gm)].map(
    ({ 1: commands = '', 2: output = '' }) => ({
      commands,
      output,
    }),
  )
}

/** The commands, without the output that a console block shows. */
export function commandsOf(block: Block): string {
  return stepsOf(block)
    .map(({ commands }) => commands)
    .join('')
}

/** The exit code of a command that fails on purpose: the page says it in the comment at the end of the line. */
export const exitCode = /\S\s+# .*?(?:exit code|종료 코드) (?<code>\d+)/

/** Equal in every language: commands without comments and empty lines. */
export function withoutComments(block: Block): string {
  return commandsOf(block)
    .split('\n')
    .map(line => line.replace(/(^|\s+)# .*$/, '').trimEnd())
    .filter(line => line !== '')
    .join('\n')
}

export const english = pages.filter(page => !page.endsWith('.ko.md'))

export function blocksOf(environment: Environment): Block[] {
  return english.flatMap(page => blocksIn(page)).filter(block => isShell(block) && block.environment === environment)
}

/** Inline code of a page, outside of blocks. */
export function spansIn(page: string): string[] {
  const prose = readFileSync(join(root, page), 'utf8').replaceAll(/^ *```[\s\S]*?^ *```$/gm, '')
  return [...prose.matchAll(/`([^`\n]+)`/g)].map(([, span = '']) => span)
}
