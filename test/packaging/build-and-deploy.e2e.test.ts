/**
 * scripts/build-and-deploy.sh on a node: builds the images, loads them into its containerd and installs the chart for one
 * cluster. Then a port becomes a NIC.
 */
import assert from 'node:assert/strict'
import { dirname, join } from 'node:path'
import { after, before, test } from 'node:test'
import { environment } from '../../src/runtime/env.ts'
import { helmHomes, helmProgram } from '../rigs/helm/rig.ts'
import { binary } from '../rigs/kubernetes/binaries.ts'
import { type Deployed, root, startDeployed } from './deployed.fixture.ts'

let deployed: Deployed

before(async () => {
  deployed = await startDeployed({ ownImages: false })
})
after(() => deployed?.close())

test('the script builds, loads and installs, and the release configures a NIC', async () => {
  const { cp, node, rigValues, configureNic } = deployed
  const path = [dirname(await helmProgram()), dirname(binary('kubectl')), environment()['PATH']].join(':')
  const args = ['--type', 'single', '--tag', 'built', '--values', rigValues]
  const env = { ...helmHomes(dirname(rigValues)), KUBECONFIG: cp.kubeconfig, PATH: path }
  const { stdout } = await node.exec(join(root, 'scripts/build-and-deploy.sh'), args, { env })
  assert.match(stdout, /loading multinic-services-\S+ into ctr/)
  assert.match(stdout, /viola-api-\S+ +1\/1 +Running/)
  await configureNic()
})
