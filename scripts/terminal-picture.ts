/**
 * `make pictures`: draws docs/images/terminal.svg, the terminal of a user when one NIC fails. Starts a sandbox, runs the
 * commands and draws their real output.
 */
import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { status } from '../src/cli/actions.ts'
import { terminalIo } from '../src/cli/terminal.ts'
import { environment } from '../src/runtime/env.ts'

const root = join(import.meta.dirname, '..')
const [charWidth, lineHeight, margin] = [8.4, 20, 18]

/** SGR codes that the commands use, as classes of the style sheet. */
const classes: Record<string, string> = { 1: 'strong', 2: 'dim', 31: 'bad', 32: 'good', 33: 'busy' }
const style = [
  'text{font:14px ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace;fill:#d4d4d8;white-space:pre}',
  '.strong{fill:#fafafa;font-weight:700}.dim{fill:#8b8b95}.bad{fill:#f87171}.good{fill:#4ade80}.busy{fill:#fbbf24}',
].join('')

/** Terminal output with SGR codes as an SVG. */
export function terminalSvg(output: string, title: string): string {
  const lines = output.trimEnd().split('\n')
  const columns = Math.max(...lines.map(line => [...plainText(line)].length))
  const [width, height] = [Math.ceil(columns * charWidth) + 2 * margin, lines.length * lineHeight + 2 * margin]
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" role="img" aria-label="${escaped(title)}">`,
    `<style>${style}</style>`,
    `<rect width="${width}" height="${height}" rx="8" fill="#18181b"/>`,
    ...lines.flatMap((line, index) => (line === '' ? [] : [textOf(line, margin + (index + 0.75) * lineHeight)])),
    '</svg>',
    '',
  ].join('\n')
}

/** `textLength` keeps columns aligned whichever monospace font the reader has. */
function textOf(line: string, y: number): string {
  const length = ([...plainText(line)].length * charWidth).toFixed(1)
  const spans = [...line.matchAll(sgrSpans)].map(([, code = '', coloured = '', plain = '']) =>
    code ? `<tspan class="${classes[code] ?? ''}">${escaped(coloured)}</tspan>` : escaped(plain),
  )
  return `<text x="${margin}" y="${y}" textLength="${length}" xml:space="preserve">${spans.join('')}</text>`
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: SGR codes begin with ESC
const sgrSpans = /\u001b\[(\d+)m(.*?)\u001b\[0m|([^\u001b]+)/g
export const plainText = (line: string) => line.replaceAll(sgrSpans, '$2$3')

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;')
}

/** Lines of a picture without their colours. Empty lines are not in it. */
export function textOfSvg(svg: string): string {
  const lines = [...svg.matchAll(/<text .*?>(.*)<\/text>/g)].map(([, line = '']) =>
    line.replaceAll(/<\/?tspan.*?>/g, ''),
  )
  return lines.join('\n').replaceAll('&quot;', '"').replaceAll('&lt;', '<').replaceAll('&amp;', '&')
}

export const picture = join(root, 'docs/images/terminal.svg')

/** Runs a command of `multinic sandbox`, and returns its output. */
type Sandbox = (...args: string[]) => Promise<string>

/** What a user types into a new sandbox in which a NIC fails, and sees. */
export async function capture(sandbox: Sandbox): Promise<string> {
  // Another machine has the address of the port that is attached next.
  await sandbox('fault', 'duplicate-address', '--node', 'worker-3')
  const attach = ['attach', '--vm', 'worker-3', '--subnet', 'storage']
  const attached = await sandbox(...attach)
  const shown = JSON.parse(await sandbox('status', '-o', 'json')) as {
    urls: { inventory: string }
    tokenFile: string
  }
  const tree = await failedTree(shown.urls.inventory, shown.tokenFile)
  return `$ multinic sandbox ${attach.join(' ')}\n${attached}\n$ multinic status\n${tree}`
}

async function inNewSandbox<T>(work: (sandbox: Sandbox) => Promise<T>): Promise<T> {
  const dir = await mkdtemp(join(tmpdir(), 'multinic-picture-'))
  const env = { ...environment(), MULTINIC_SANDBOX_DIR: join(dir, 'sandbox') }
  const sandbox = async (...args: string[]) =>
    (await promisify(execFile)(join(root, 'bin/multinic'), ['sandbox', ...args], { env })).stdout
  try {
    await sandbox('up')
    return await work(sandbox)
  } finally {
    await sandbox('down')
    await rm(dir, { recursive: true, force: true })
  }
}

/** The output of `multinic status` in a terminal, once the inventory knows the failed NIC. */
async function failedTree(inventory: string, tokenFile: string): Promise<string> {
  for (let attempt = 0; attempt < 60; attempt++) {
    const shown: string[] = []
    const io = { ...terminalIo({ TERM: 'xterm' }, 'en'), terminal: true, out: (text: string) => void shown.push(text) }
    await status(io, { inventory, tokenFile })
    if (shown.join('').includes('✗')) return shown.join('')
    await sleep(1_000)
  }
  throw new Error('no NIC failed within a minute')
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const title = 'multinic status: a tree of nodes and NICs; one NIC failed, with its reason and remedy'
  await writeFile(picture, terminalSvg(await inNewSandbox(capture), title))
}
