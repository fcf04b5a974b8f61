/**
 * Runs the sandbox commands of the documents in a sandbox with the real kubectl, and the node commands on one of its nodes.
 */
import assert from 'node:assert/strict'
import { readFile, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { after, before, test } from 'node:test'
import type { SandboxStatus } from '../../sandbox/control/status.ts'
import { buildAgent } from '../../scripts/build.ts'
import { capture, picture, plainText, textOfSvg } from '../../scripts/terminal-picture.ts'
import { environment } from '../../src/runtime/env.ts'
import { currentIsolation } from '../rigs/isolation.ts'
import { binary } from '../rigs/kubernetes/binaries.ts'
import { run } from '../rigs/process.ts'
import { type Block, blocksOf, commandsOf, english, root, spansIn } from './blocks.ts'
import type { replacedInSandbox } from './not-run.ts'
import { findDifference } from './output-shape.ts'
import { openShell, type Shell } from './run-block.ts'

let shell: Shell
let status: SandboxStatus
let running = false
let replacements: Partial<Record<keyof typeof replacedInSandbox, string>> = {}

/**
 * OpenstackConfigs are in the management cluster, everything else in the Biz cluster. Watches end after a moment. A reader looks
 * at the status when the agents have ended.
 */
const functions = `
settle() { for _ in {1..150}; do ./bin/multinic sandbox status | grep -q '^sandbox ready' && return; sleep 0.2; done; }
sudo() { case "$*" in *' sandbox status') settle ;; esac; "$@"; }
kubectl() {
  case " $* " in
    *' osc '* | *' config/samples/ '*) local -x KUBECONFIG=$MANAGEMENT ;;
    *) local -x KUBECONFIG=$BIZ ;;
  esac
  case " $* " in *' -w '*) briefly kubectl "$@" ;; *) command kubectl "$@" ;; esac
}
curl() { case " $* " in *' -sN '*) briefly curl "$@" ;; *) command curl --fail-with-body "$@" ;; esac; }
`

before(async () => {
  currentIsolation()
  const env: Record<string, string> = {
    PATH: [join(root, 'bin'), dirname(binary('kubectl')), environment()['PATH']].join(':'),
  }
  shell = await openShell({
    env,
    functions: `${functions}[ ! -f shell.env ] || source ./shell.env\n`,
    replacements: () => replacements,
  })
  env['MULTINIC_SANDBOX_DIR'] = join(shell.dir, 'sandbox')
  await buildAgent(join(shell.dir, 'agent.cjs'))
})
after(async () => {
  if (!shell) return
  await multinic('down')
  await shell.close()
})

function multinic(...words: string[]): Promise<string> {
  const env = { MULTINIC_SANDBOX_DIR: join(shell.dir, 'sandbox') }
  return run(join(root, 'bin/multinic'), ['sandbox', ...words], { env }).then(({ stdout }) => stdout)
}

/** Starts the sandbox and learns what a reader would see: addresses, kubeconfigs, a port. */
async function up(): Promise<void> {
  if (running) return
  await multinic('up')
  status = JSON.parse(await multinic('status', '-o', 'json')) as SandboxStatus
  const { urls, kubeconfigs, tokenFile, nodes } = status
  const nic = nodes.flatMap(({ interfaces }) => interfaces).find(({ portId }) => portId)
  const variables = {
    BIZ: kubeconfigs.biz,
    MANAGEMENT: kubeconfigs.management,
    OPERATOR: urls['inventory'],
    MULTINIC_INVENTORY_URL: urls['inventory'],
    MULTINIC_TOKEN_FILE: tokenFile,
    PORT: nic?.portId,
  }
  const lines = Object.entries(variables).map(([name, value]) => `export ${name}='${value}'\n`)
  await writeFile(join(shell.dir, 'shell.env'), lines.join(''))
  const cluster = await clusterId()
  const here = await kubectl('get', 'osc', 'sandbox', '--namespace', 'multinic-system', '--output', 'yaml')
  await writeFile(join(shell.dir, 'openstackconfig.yaml'), here)
  const config = { nodeName: 'worker-9', instanceId: 'worker-9', interfaces: [] }
  await writeFile(join(shell.dir, 'body.json'), JSON.stringify([config]))
  replacements = {
    NAME: 'sandbox',
    NODE: 'worker-1',
    'osc storage': 'osc sandbox',
    'multinic-system/storage': 'multinic-system/sandbox',
    '10.10.0.7': nic?.address ?? '',
    '--at 24h': '--at 1s',
    '--at 2026-01-31T10:00:00Z': `--at ${new Date().toISOString()}`,
    'http://127.0.0.1:18081': urls['inventory'] ?? '',
    'http://viola-api': urls['viola'] ?? '',
    'node-configs/worker-1 ': 'node-configs/worker-9 ',
    'cluster-a': cluster,
  } satisfies Record<keyof typeof replacedInSandbox, string>
  running = true
}

async function runBlock(block: Block): Promise<void> {
  await shell.run(block)
  if (/make down/.test(block.text)) running = false
}

async function clusterId(): Promise<string> {
  const path = '{.spec.credentials.k8sProviderID}'
  return kubectl('get', 'osc', 'sandbox', '--namespace', 'multinic-system', '--output', `jsonpath=${path}`)
}

async function kubectl(...args: string[]): Promise<string> {
  const env = { KUBECONFIG: status.kubeconfigs.management }
  return (await run(binary('kubectl'), args, { env })).stdout
}

/** The sandbox guide stops the sandbox, so it runs last; the README starts from nothing after it. */
const [starts, others] = [/^README/, /guides\/sandbox/]
const sandbox = blocksOf('sandbox')
const blocks = [
  ...sandbox.filter(({ page }) => !starts.test(page) && !others.test(page)),
  ...sandbox.filter(({ page }) => others.test(page)),
]

for (const block of blocks)
  test(`${block.page}:${block.line} runs in the sandbox`, async () => {
    await up()
    await runBlock(block)
  })

/** Complete kubectl commands in inline code that name our objects. */
const inline = english.flatMap(page =>
  spansIn(page)
    .filter(span => /^kubectl (?!.*…).*\b(osc|mnnc|multinicclusterconfigs)\b/.test(span))
    .map((span): Block => ({ page, line: 0, language: 'sh', environment: 'sandbox', options: [], text: `${span}\n` })),
)
test('kubectl commands in inline code run in the sandbox', async () => {
  await up()
  assert.ok(inline.length > 5)
  for (const block of inline) await runBlock(block)
})

test('docs/images/terminal.svg, drawn by make pictures, shows the output of this version', async () => {
  await up()
  const output = plainText(await capture(multinic)).replaceAll(/\n{2,}/g, '\n')
  assert.equal(findDifference(textOfSvg(await readFile(picture, 'utf8')), output), undefined)
})

/** Runs on worker-2: blocks remove rules and a NIC by hand, and no later block uses that node. */
function onNode(block: Block): Block {
  if (block.language === 'console')
    return { ...block, text: block.text.replaceAll(/^\$ /gm, '$ multinic sandbox shell worker-2 ') }
  const mac = status.nodes.find(({ name }) => name === 'worker-2')?.interfaces[0]?.macAddress ?? ''
  const text = commandsOf(block)
    .replaceAll('…', '')
    .replaceAll('MAC.json', `${mac.replaceAll(':', '')}.json`)
  const script = `multinic sandbox shell worker-2 bash -euo pipefail <<'EOF'\ncd ${shell.dir}\n${text}EOF\n`
  return { ...block, language: 'sh', text: script }
}

for (const block of blocksOf('node'))
  test(`${block.page}:${block.line} runs on a node`, async () => {
    await up()
    await runBlock(onNode(block))
  })

for (const block of sandbox.filter(({ page }) => starts.test(page)))
  test(`${block.page}:${block.line} runs without a sandbox`, async () => {
    if (/make up/.test(block.text)) await multinic('down')
    await runBlock(block)
  })
