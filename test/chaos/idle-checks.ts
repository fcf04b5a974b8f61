/**
 * What must hold once the world has come to rest: nothing is written any more (G5), and no log or status tells a secret (G9).
 */
import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { sandboxNamespace as namespace } from '../../sandbox/lifecycle/components.ts'
import { nodeConfigs } from '../../src/contract/node-config.ts'
import { openstackConfigs } from '../../src/contract/openstack-config.ts'
import { events, jobs } from '../../src/kube/resources.ts'
import type { Resource } from '../../src/kube/types.ts'
import { messageOf } from '../../src/runtime/errors.ts'
import { eventually } from '../support/eventually.ts'
import type { TestSandbox } from '../system/sandbox.fixture.ts'

/** Longer than our parts wait for each other, and than the operator waits while nodes are being configured. */
const stillMs = 3_000
const stillWithin = 90_000

export async function wrongAtRest(walk: TestSandbox): Promise<string[]> {
  return [...(await unrest(walk)), ...(await secretsTold(walk))]
}

async function unrest(walk: TestSandbox): Promise<string[]> {
  try {
    await eventually(
      async () => {
        const before = await marksOf(walk)
        await sleep(stillMs)
        assert.deepEqual(await marksOf(walk), before)
      },
      { within: stillWithin },
    )
    return []
  } catch (error) {
    return [`G5: something is written all the time: ${messageOf(error)}`]
  }
}

/** Equal as long as nobody writes an object, a file or the kernel's state. */
async function marksOf(walk: TestSandbox): Promise<Record<string, string>> {
  const { biz, nodes } = walk.sandbox
  const marks: Record<string, string> = {}
  for (const resource of [nodeConfigs, jobs] as Resource[])
    for (const { metadata } of (await biz.kube.list(resource, { namespace })).items)
      marks[`${resource.plural} ${metadata.name}`] = metadata.resourceVersion ?? ''
  for (const name of nodes.keys()) marks[name] = JSON.stringify(await walk.nodeState(name))
  return marks
}

async function secretsTold({ sandbox }: TestSandbox): Promise<string[]> {
  const { cloudState, management, biz, state } = sandbox
  const logs = readdirSync(state.path('logs'))
  const told = new Map(logs.map(name => [name, readFileSync(join(state.path('logs'), name), 'utf8')]))
  for (const [cluster, { kube }] of Object.entries({ management, biz }))
    for (const resource of [openstackConfigs, nodeConfigs, events] as Resource[])
      told.set(`${cluster} ${resource.plural}`, JSON.stringify((await kube.list(resource, { namespace })).items))
  const secrets = {
    'the password of the cloud': cloudState.user.password,
    'the key of Contrabass': cloudState.provider.encryptKey,
  }
  return [...told].flatMap(([where, text]) =>
    Object.entries(secrets).flatMap(([what, secret]) => (text.includes(secret) ? [`G9: ${where} tells ${what}`] : [])),
  )
}
