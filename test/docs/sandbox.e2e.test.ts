/**
 * The commands of the documents that need all parts at work: on a sandbox, with the real kubectl. Those for a node run on a node
 * of it.
 */
import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { after, before, test } from 'node:test'
import type { SandboxStatus } from '../../sandbox/control/status.ts'
import { buildAgent } from '../../scripts/build.ts'
import { environment } from '../../src/runtime/env.ts'
import { currentIsolation } from '../rigs/isolation.ts'
import { binary } from '../rigs/kubernetes/binaries.ts'
import { run } from '../rigs/process.ts'
import { type Block, blocksOf, commandsOf, english, root, spansIn } from './blocks.ts'
import { openStage, type Stage } from './run-block.ts'

let stage: Stage
let status: SandboxStatus
let running = false
let given: Record<string, string> = {}

/** Two clusters: OpenstackConfigs are in the one for management. What watches for ever is looked at for a moment. */
const programs = `
kubectl() {
  case " $* " in
    *' osc '*) local -x KUBECONFIG=$MANAGEMENT ;;
    *) local -x KUBECONFIG=$BIZ ;;
  esac
  case " $* " in *' -w '*) look kubectl "$@" ;; *) command kubectl "$@" ;; esac
}
curl() { case " $* " in *' -sN '*) look curl "$@" ;; *) command curl --fail-with-body "$@" ;; esac; }
`

before(async () => {
  currentIsolation()
  const env: Record<string, string> = {
    PATH: [join(root, 'bin'), dirname(binary('kubectl')), environment()['PATH']].join(':'),
  }
  stage = await openStage({ env, before: `${programs}[ ! -f stage.env ] || source ./stage.env\n`, given: () => given })
  env['MULTINIC_SANDBOX_DIR'] = join(stage.dir, 'sandbox')
  await buildAgent(join(stage.dir, 'agent.cjs'))
})
after(async () => {
  if (!stage) return
  await multinic('down')
  await stage.close()
})

function multinic(...words: string[]): Promise<string> {
  const env = { MULTINIC_SANDBOX_DIR: join(stage.dir, 'sandbox') }
  return run(join(root, 'bin/multinic'), ['sandbox', ...words], { env }).then(({ stdout }) => stdout)
}

/** It is there, and the reader has looked where: addresses, kubeconfigs, a port. */
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
  await writeFile(join(stage.dir, 'stage.env'), lines.join(''))
  const cluster = await clusterId()
  const here = await kubectl('get', 'osc', 'sandbox', '--namespace', 'multinic-system', '--output', 'yaml')
  await writeFile(join(stage.dir, 'openstackconfig.yaml'), here)
  const config = { nodeName: 'worker-9', instanceId: 'worker-9', interfaces: [] }
  await writeFile(join(stage.dir, 'body.json'), JSON.stringify([config]))
  given = {
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
  }
  running = true
}

async function play(block: Block): Promise<void> {
  await stage.play(block)
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

/** What takes the sandbox down comes last, and the quick start begins with nothing. */
const [starts, others] = [/^README/, /guides\/sandbox/]
const sandbox = blocksOf('sandbox')
const blocks = [
  ...sandbox.filter(({ page }) => !starts.test(page) && !others.test(page)),
  ...sandbox.filter(({ page }) => others.test(page)),
]

for (const block of blocks)
  test(`${block.page}:${block.line} does what it says in the sandbox`, async () => {
    await up()
    await play(block)
  })

/** Those that a sentence names in full; of what is in the cluster, not of the cluster itself. */
const spoken = english.flatMap(page =>
  spansIn(page)
    .filter(span => /^kubectl (?!.*…).*\b(osc|mnnc|multinicclusterconfigs)\b/.test(span))
    .map((span): Block => ({ page, line: 0, language: 'sh', stage: 'sandbox', marks: [], text: `${span}\n` })),
)
test('what sentences say to do with kubectl can be done in the sandbox', async () => {
  await up()
  assert.ok(spoken.length > 5)
  for (const block of spoken) await play(block)
})

/** On worker-2: what a person takes away by hand there is of no use to anybody after it. */
function onNode(block: Block): Block {
  const mac = status.nodes.find(({ name }) => name === 'worker-2')?.interfaces[0]?.macAddress ?? ''
  const text = commandsOf(block)
    .replaceAll('…', '')
    .replaceAll('MAC.json', `${mac.replaceAll(':', '')}.json`)
  const script = `multinic sandbox shell worker-2 bash -euo pipefail <<'EOF'\ncd ${stage.dir}\n${text}EOF\n`
  return { ...block, language: 'sh', text: script }
}

for (const block of blocksOf('node'))
  test(`${block.page}:${block.line} does what it says on a node`, async () => {
    await up()
    await play(onNode(block))
  })

for (const block of sandbox.filter(({ page }) => starts.test(page)))
  test(`${block.page}:${block.line} does what it says, from nothing`, async () => {
    if (/make up/.test(block.text)) await multinic('down')
    await play(block)
  })
