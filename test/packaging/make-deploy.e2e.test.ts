/**
 * `make install` and `make deploy`, as docs/guides/install.md describes them: the operator by kustomize, Viola and the controller
 * by the chart. Then a port becomes a NIC.
 */
import assert from 'node:assert/strict'
import { cp as copy, readFile, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { after, before, test } from 'node:test'
import { sandboxNamespace } from '../../sandbox/lifecycle/components.ts'
import { chart, type Deployed, release, root, startDeployed, tag } from './deployed.fixture.ts'

const operatorNamespace = 'multinic-operator-system'

let deployed: Deployed

before(async () => {
  deployed = await startDeployed({ hasNetwork: true })
})
after(() => deployed?.close())

test('make deploy installs an operator that configures a NIC and writes the Secret of the message bus', async () => {
  const { cp, helm, network, values, bindPodsOf, soon, configureNic, cloudState } = deployed
  cloudState.bus = { urls: ['amqp://127.0.0.1:9'], user: 'openstack', password: 'bus-password' }
  const dir = await editedTree()
  const make = (...args: string[]) => cp.exec('make', ['-C', dir, ...args])
  await make('install')
  await make('deploy', `IMG=multinic-operator:${tag}`)
  bindPodsOf(operatorNamespace)
  const example = ['--values', join(root, 'docs/examples/kustomize-operator.yaml'), '--set', 'operator.enabled=false']
  const { code, stderr } = await helm(
    ['install', release, chart, '-n', sandboxNamespace, ...values(tag), ...example],
    cp.kubeconfig,
  )
  assert.equal(code, 0, stderr)
  await network?.nameServices()
  await configureNic()
  const secret = ['get', 'secret', 'rabbitmq-main', '-n', sandboxNamespace, '-o', 'jsonpath={.data.RABBITMQ_USER}']
  assert.equal((await cp.exec('kubectl', secret)).stdout, Buffer.from('openstack').toString('base64'))
  // A second run changes nothing.
  await make('deploy', `IMG=multinic-operator:${tag}`)
  await soon(async () => {
    const state = 'jsonpath={.items[*].metadata.generation} {.items[*].status.readyReplicas}'
    const { stdout } = await cp.exec('kubectl', ['get', 'deployments', '-n', operatorNamespace, '-o', state])
    assert.equal(stdout, '1 1')
  })
})

/** What make deploy reads, with the address of the cloud. */
async function editedTree(): Promise<string> {
  const dir = join(dirname(deployed.rigValues), 'tree')
  await copy(join(root, 'config'), join(dir, 'config'), { recursive: true })
  await copy(join(root, 'Makefile'), join(dir, 'Makefile'))
  const file = join(dir, 'config/manager/operator-config.yaml')
  const text = await readFile(file, 'utf8')
  const edited = text.replace('http://contrabass.example.com', deployed.cloud.urls.contrabass)
  assert.notEqual(edited, text)
  await writeFile(file, edited)
  return dir
}
