import assert from 'node:assert/strict'
import { test } from 'node:test'
import { coreCases } from './core-cases.ts'
import { testFiles } from './test-files.ts'

const { e2e, vm } = testFiles()

test('CI runs all files against real servers but some that take long, and of others a part', () => {
  const { files, selections } = coreCases('e2e', e2e)
  const leftOut = e2e.filter(file => !files.includes(file)).sort()
  assert.deepEqual(
    leftOut.map(file => file.replace('.e2e.test.ts', '')),
    [
      'src/agent/test/take-over-killed',
      'src/controller/many-checks',
      'test/chaos/chaos',
      'test/chaos/truth',
      'test/conformance/cloud.real',
      'test/hostile/hostile-kube',
      'test/hostile/hostile',
      'test/packaging/build-and-deploy',
      'test/packaging/node-loss',
      'test/rigs/kubernetes/pod-network',
      'test/system/arm64-images',
      'test/system/cloud-secret',
      'test/system/event-faults',
      'test/system/pod-errors',
      'test/system/real-servers',
      'test/system/sandbox-kubelets',
    ],
  )
  assert.ok(Object.keys(selections).every(file => files.includes(file)))
  assert.match(JSON.stringify(selections['test/packaging/replicas.e2e.test.ts']), /kill -9/)
})

test('on virtual machines, CI runs the named files only', () => {
  const { files, selections } = coreCases('vm', vm)
  assert.ok(files.length > 0 && files.length < vm.length)
  assert.deepEqual(Object.keys(selections).sort(), files.toSorted())
})
