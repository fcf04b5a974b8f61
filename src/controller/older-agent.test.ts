/**
 * A controller with an agent of another version, in both directions. `test/golden/older-agent` has the documents and schemas of
 * commit af7ff50.
 */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { after, before, test } from 'node:test'
import * as z from 'zod'
import { type ControllerCluster, startControllerCluster } from '../../test/support/controller-cluster.ts'
import { eventually } from '../../test/support/eventually.ts'
import { parseInput } from '../agent/input.ts'
import { events } from '../kube/resources.ts'
import { controllerConfig } from './config.ts'
import { aConfig, aNic, aNode } from './controller.fixture.ts'
import { agentJob } from './job.ts'
import { requestedOf } from './plan/requested.ts'
import { readReport } from './report.ts'

const golden = (name: string) =>
  JSON.parse(readFileSync(new URL(`../../test/golden/older-agent/${name}.json`, import.meta.url), 'utf8'))

let cluster: ControllerCluster

before(async () => {
  cluster = await startControllerCluster()
})
after(() => cluster.close())

test('an unknown reason of an interface is in the status and in the Event as the agent reported it', async () => {
  const controller = await cluster.startController()
  try {
    await cluster.addConfig('old', await cluster.addNode('old'), { nics: 2 })
    const interfaces = [aNic(0), aNic(1, { status: 'Failed', reason: 'SomethingOld', message: 'eth9 has the name' })]
    await cluster.endAgent('old', { verdict: 'Failed', reason: 'SomethingOld', interfaces })
    const config = await eventually(async () => {
      const found = await cluster.configOf('old')
      assert.equal(found?.status?.state, 'Failed')
      return found
    })
    const reported = config?.status?.interfaceStatuses?.map(({ status, reason }) => `${status} ${reason}`)
    assert.deepEqual(reported, ['Configured Configured', 'Failed SomethingOld'])
    const ready = config?.status?.conditions?.find(({ type }) => type === 'Ready')
    assert.match(ready?.message ?? '', /^multinic1: SomethingOld: eth9 has the name/)
    await eventually(async () => {
      const { items } = await cluster.kube.list(events, { namespace: cluster.namespace })
      const event = items.find(
        ({ involvedObject, reason }) => involvedObject.name === 'old' && reason === 'ApplyFailed',
      )
      assert.equal(event?.type, 'Warning')
      assert.match(event?.message ?? '', /multinic1: SomethingOld: eth9 has the name/)
    })
  } finally {
    await controller.stop()
  }
})

test('an unknown reason of a run is in the status if the agent reports nothing else', async () => {
  const controller = await cluster.startController()
  try {
    await cluster.addConfig('whole', await cluster.addNode('whole'))
    await cluster.endAgent('whole', { verdict: 'Failed', reason: 'SomethingOld', interfaces: [] })
    await eventually(async () => {
      const { conditions } = (await cluster.configOf('whole'))?.status ?? {}
      assert.match(conditions?.find(({ type }) => type === 'Ready')?.message ?? '', /^SomethingOld$/)
    })
  } finally {
    await controller.stop()
  }
})

for (const backend of ['netplan', 'networkmanager', 'ifcfg'])
  test(`${backend}: the report of an older agent is read, and the input of an older controller is accepted`, () => {
    const { input, report } = golden(backend)
    const { nodeName, mode, generation, specHash } = input
    const result = readReport(
      { exitCode: 0, message: JSON.stringify(report) },
      { node: nodeName, mode, generation, specHash },
    )
    assert.deepEqual('report' in result && result.report.interfaces.map(({ status }) => status), [
      ...['Configured', 'Configured', 'Configured'],
    ])
    const { request, errors } = parseInput(JSON.stringify(input))
    assert.deepEqual([errors, request?.interfaces.length, request?.podCIDRs], [[], 3, []])
  })

test('an older agent accepts the input of this controller', () => {
  const config = aConfig({ nics: 10 })
  const { interfaces, specHash } = requestedOf(config)
  const addresses = ['10.0.0.11', '192.168.0.10', '203.0.113.7', 'fd00::1']
  for (const action of ['apply', 'check', 'cleanup'] as const) {
    const request = { config, node: aNode({ addresses }), interfaces, specHash, action, attempt: 0, takesSlot: false }
    const job = agentJob(request, controllerConfig({}).agent)
    const input: unknown = JSON.parse(job.spec.template.spec.containers[0]?.env?.[0]?.value ?? '')
    assert.deepEqual(z.fromJSONSchema(golden('agent-input.schema')).safeParse(input).error, undefined)
  }
})
