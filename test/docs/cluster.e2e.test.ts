/**
 * Runs the cluster commands of the documents with a real kube-apiserver, kubectl and helm. No component runs in this
 * cluster; test/packaging/deployed.e2e.test.ts runs them as Pods.
 */
import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { after, before, test } from 'node:test'
import { writeLightArtefacts } from '../../scripts/release.ts'
import { version } from '../../src/runtime/version.ts'
import { helmHomes, helmProgram } from '../rigs/helm/rig.ts'
import { type ControlPlane, startControlPlane } from '../rigs/kubernetes/rig.ts'
import { type Block, blocksIn, blocksOf, english, root } from './blocks.ts'
import { openShell, type Shell } from './run-block.ts'

const namespace = 'multinic-system'
let cluster: ControlPlane
let shell: Shell
let home: string

/** Watches end after a moment. No Pod runs here, so a port-forward only checks that the Service has the port. */
const functions = `
kubectl() {
  local words=("$@") at
  for at in "\${!words[@]}"; do
    case "\${words[at]}" in
      -w) briefly kubectl "$@"; return ;;
      port-forward)
        command kubectl "\${words[@]:0:at}" get "\${words[at+1]}" --output 'jsonpath={.spec.ports[*].port}' | grep --word-regexp "\${words[at+2]}"
        return ;;
    esac
  done
  command kubectl "$@"
}
`

before(async () => {
  cluster = await startControlPlane()
  home = await mkdtemp(join(tmpdir(), 'multinic-docs-helm-'))
  const path = (await cluster.exec('sh', ['-c', 'echo "$PATH"'])).stdout.trim()
  const env = {
    ...helmHomes(home),
    KUBECONFIG: cluster.kubeconfig,
    PATH: [join(root, 'bin'), dirname(await helmProgram()), path].join(':'),
  }
  shell = await openShell({ env, functions })
  await writeLightArtefacts(shell.dir)
  // Files that the reader has: routing and certificate of Viola, account of the cloud, URL of the database, encryption key of Contrabass.
  const routing = 'targets:\n  - { providerId: cluster-a, kubeconfig: a.kubeconfig }\n'
  const files = {
    ...{ 'routing.yaml': routing, 'a.kubeconfig': '{}\n', CONTRABASS_ENCRYPT_KEY: '0123456789abcdef' },
    ...{ 'clouds.yaml': 'clouds: {}\n', 'tls.crt': 'certificate', 'tls.key': 'key', 'ca.crt': 'certificate' },
    ...{ 'inventory.crt': 'certificate', 'inventory.key': 'key' },
    INVENTORY_DATABASE_URL: 'postgresql://multinic:password@db.example:5432/multinic',
  }
  for (const [name, text] of Object.entries(files)) await writeFile(join(shell.dir, name), text)
})
after(async () => {
  await shell?.close()
  await cluster?.close()
  await rm(home, { recursive: true, force: true })
})

async function kubectl(...args: string[]): Promise<void> {
  await cluster.exec('kubectl', args)
}

const all = blocksOf('cluster')
const [isFirst, isLast] = [/guides\/install/, /guides\/operations/]
/** The installation runs first, the removal last. */
const installing = all.filter(({ page }) => isFirst.test(page))
const using = all.filter(({ page }) => !isFirst.test(page) && !isLast.test(page))
const operating = all.filter(({ page }) => isLast.test(page))

/** Blocks tagged `new` start in a cluster without MultiNIC. */
async function emptyCluster(): Promise<void> {
  await shell.run({ ...extraBlock, text: `helm uninstall multinic-agent -n ${namespace} --ignore-not-found\n` })
  await kubectl('delete', 'namespace', namespace, '--ignore-not-found', '--wait')
}
const extraBlock: Block = { page: 'this test', line: 0, language: 'sh', environment: 'cluster', options: [], text: '' }

const nodeConfig = `
apiVersion: multinic.io/v1
kind: MultiNicNodeConfig
metadata: { name: worker-1, namespace: ${namespace} }
spec: { nodeName: worker-1, interfaces: [] }
`

function testBlocks(blocks: readonly Block[]): void {
  for (const block of blocks)
    test(`${block.page}:${block.line} runs on a cluster`, async () => {
      if (block.options.includes('new')) await emptyCluster()
      if (/mnnc worker-1/.test(block.text))
        await cluster.exec('kubectl', ['apply', '--filename', '-'], { input: nodeConfig })
      const restores = /apply -f delivered/.test(block.text)
      for (const object of restores ? backedUp : []) await kubectl('delete', object, '--namespace', namespace)
      if (/make uninstall/.test(block.text)) await kubectl('delete', 'mnnc', '--all', '--all-namespaces')
      await shell.run(block)
      for (const object of restores ? backedUp : []) await kubectl('get', object, '--namespace', namespace)
    })
}
/** Deleted before the restore. */
const backedUp = ['osc/openstackconfig-sample', 'mnnc/worker-1', 'secret/viola-routing']

testBlocks(installing)
testBlocks(using)

const objects = english.flatMap(page => blocksIn(page)).filter(({ environment }) => environment === 'object')
for (const { page, line, text } of objects)
  test(`${page}:${line} is an object that the API server accepts`, async () => {
    await cluster.exec('kubectl', ['apply', '--dry-run=server', '--validate=strict', '--filename', '-'], {
      input: text,
    })
  })

test('kubectl finds the packaged commands, and they reach the cluster', async () => {
  const cli = `multinic-cli-${version}`
  const text = `tar -xzf ${cli}.tgz\nPATH=$PWD/${cli}:$PATH\nkubectl multinic version\nkubectl multinic doctor # exit code 1\n`
  const output = await shell.run({ ...extraBlock, text })
  assert.match(output, new RegExp(`^multinic ${version.replaceAll('.', '\\.')}$`, 'm'))
  assert.match(output, /Kubernetes 1\.\d+ responds/)
  assert.match(output, /CRD multinicnodeconfigs\.multinic\.io serves v1, v1alpha1/)
})

testBlocks(operating)

test('make uninstall removes the CRDs', async () => {
  const { stdout } = await cluster.exec('kubectl', ['get', 'customresourcedefinitions', '--output', 'name'])
  assert.doesNotMatch(stdout, /multinic/, 'CRDs are left')
})
