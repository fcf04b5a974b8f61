/**
 * The commands of the documents that need a cluster: on a real kube-apiserver, with the real kubectl and helm. Nothing of ours
 * runs in it: test/packaging/deployed.e2e.test.ts has the parts as Pods.
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
import { type Block, blocksOf, root } from './blocks.ts'
import { openStage, type Stage } from './run-block.ts'

const namespace = 'multinic-system'
let cluster: ControlPlane
let stage: Stage
let home: string

/**
 * A watch is looked at for a moment. Where no Pod runs, a port can be forwarded when its Service has it, and the doctor is right to
 * say no.
 */
const programs = `
kubectl() {
  local words=("$@") at
  for at in "\${!words[@]}"; do
    case "\${words[at]}" in
      -w) look kubectl "$@"; return ;;
      port-forward)
        command kubectl "\${words[@]:0:at}" get "\${words[at+1]}" --output 'jsonpath={.spec.ports[*].port}' | grep --word-regexp "\${words[at+2]}"
        return ;;
    esac
  done
  command kubectl "$@"
}
multinic() { command multinic "$@" || [ $? = 1 ]; }
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
  stage = await openStage({ env, before: programs })
  await writeLightArtefacts(stage.dir)
  // What a person has ready before: how Viola gets into the Biz cluster, and the key of Contrabass.
  const routing = 'targets:\n  - { providerId: cluster-a, kubeconfig: a.kubeconfig }\n'
  const files = { 'routing.yaml': routing, 'a.kubeconfig': '{}\n', CONTRABASS_ENCRYPT_KEY: '0123456789abcdef' }
  for (const [name, text] of Object.entries(files)) await writeFile(join(stage.dir, name), text)
})
after(async () => {
  await stage?.close()
  await cluster?.close()
  await rm(home, { recursive: true, force: true })
})

async function kubectl(...args: string[]): Promise<void> {
  await cluster.exec('kubectl', args)
}

const all = blocksOf('cluster')
const [isFirst, isLast] = [/guides\/install/, /guides\/operations/]
/** The installation first, taking it away last. */
const installing = all.filter(({ page }) => isFirst.test(page))
const using = all.filter(({ page }) => !isFirst.test(page) && !isLast.test(page))
const operating = all.filter(({ page }) => isLast.test(page))

/** A block that is meant for a cluster of its own finds none of ours. */
async function emptied(): Promise<void> {
  await stage.play({ ...aside, text: `helm uninstall multinic-agent -n ${namespace} --ignore-not-found\n` })
  await kubectl('delete', 'namespace', namespace, '--ignore-not-found', '--wait')
}
const aside: Block = { page: 'this test', line: 0, language: 'sh', stage: 'cluster', marks: [], text: '' }

const nodeConfig = `
apiVersion: multinic.io/v1
kind: MultiNicNodeConfig
metadata: { name: worker-1, namespace: ${namespace} }
spec: { nodeName: worker-1, interfaces: [] }
`

function plays(blocks: readonly Block[]): void {
  for (const block of blocks)
    test(`${block.page}:${block.line} does what it says on a cluster`, async () => {
      if (block.marks.includes('new')) await emptied()
      if (/mnnc worker-1/.test(block.text))
        await cluster.exec('kubectl', ['apply', '--filename', '-'], { input: nodeConfig })
      const restores = /apply -f delivered/.test(block.text)
      for (const one of restores ? backedUp : []) await kubectl('delete', one, '--namespace', namespace)
      if (/make uninstall/.test(block.text)) await kubectl('delete', 'mnnc', '--all', '--all-namespaces')
      await stage.play(block)
      for (const one of restores ? backedUp : []) await kubectl('get', one, '--namespace', namespace)
    })
}
/** What is lost before it is restored. */
const backedUp = ['osc/openstackconfig-sample', 'mnnc/worker-1', 'secret/viola-routing']

plays(installing)
plays(using)

test('kubectl finds the packaged commands, and they find the cluster', async () => {
  const cli = `multinic-cli-${version}`
  const text = `tar -xzf ${cli}.tgz\nPATH=$PWD/${cli}:$PATH\nkubectl multinic version\nkubectl multinic doctor || [ $? = 1 ]\n`
  const said = await stage.play({ ...aside, text })
  assert.match(said, new RegExp(`^multinic ${version.replaceAll('.', '\\.')}$`, 'm'))
  assert.match(said, /Kubernetes 1\.\d+ answers/)
  assert.match(said, /CRD multinicnodeconfigs\.multinic\.io serves v1, v1alpha1/)
})

plays(operating)

test('in the end nothing of it is left', async () => {
  const { stdout } = await cluster.exec('kubectl', ['get', 'customresourcedefinitions', '--output', 'name'])
  assert.doesNotMatch(stdout, /multinic/, 'make uninstall has taken the definitions away')
})
