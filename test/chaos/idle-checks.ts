/**
 * Checks of an idle system: no component writes anything (G5), and no log or status contains a secret (G9).
 */
import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { sandboxNamespace as namespace } from '../../sandbox/lifecycle/components.ts'
import type { Sandbox } from '../../sandbox/sandbox.ts'
import { nodeConfigs } from '../../src/contract/node-config.ts'
import { openstackConfigs } from '../../src/contract/openstack-config.ts'
import { events, jobs } from '../../src/kube/resources.ts'
import type { Resource } from '../../src/kube/types.ts'
import { messageOf } from '../../src/runtime/errors.ts'
import { eventually } from '../support/eventually.ts'
import type { TestSandbox } from '../system/sandbox.fixture.ts'

/** Longer than any wait between our components, and than the polling of the operator during configuration. */
const idleMs = 3_000
const idleWithin = 90_000

export async function idleViolations(system: TestSandbox): Promise<string[]> {
  return [...(await writesWhileIdle(system)), ...(await leakedSecrets(system))]
}

async function writesWhileIdle(system: TestSandbox): Promise<string[]> {
  try {
    await eventually(
      async () => {
        const before = await versionsOf(system)
        await sleep(idleMs)
        assert.deepEqual(await versionsOf(system), before)
      },
      { within: idleWithin },
    )
    return []
  } catch (error) {
    return [`G5: a component keeps writing: ${messageOf(error)}`]
  }
}

/** Changes with every write to an object, a file or the kernel. */
async function versionsOf(system: TestSandbox): Promise<Record<string, string>> {
  const { biz, nodes } = system.sandbox
  const versions: Record<string, string> = {}
  for (const resource of [nodeConfigs, jobs] as Resource[])
    for (const { metadata } of (await biz.kube.list(resource, { namespace })).items)
      versions[`${resource.plural} ${metadata.name}`] = metadata.resourceVersion ?? ''
  for (const name of nodes.keys()) versions[name] = JSON.stringify(await system.nodeState(name))
  return versions
}

async function leakedSecrets({ sandbox }: TestSandbox): Promise<string[]> {
  const { management, biz, state } = sandbox
  const logs = readdirSync(state.path('logs'))
  const texts = new Map(logs.map(name => [name, readFileSync(join(state.path('logs'), name), 'utf8')]))
  for (const [cluster, { kube }] of Object.entries({ management, biz }))
    for (const resource of [openstackConfigs, nodeConfigs, events] as Resource[])
      texts.set(`${cluster} ${resource.plural}`, JSON.stringify((await kube.list(resource, { namespace })).items))
  return [...texts].flatMap(([where, text]) => secretsIn(text, sandbox).map(what => `G9: ${where} contains ${what}`))
}

/** Names of the secrets that a text contains. */
export function secretsIn(text: string, { cloudState: { user, provider } }: Pick<Sandbox, 'cloudState'>): string[] {
  const secrets = {
    'the password of the cloud': user.password,
    'the encryption key of Contrabass': provider.encryptKey,
  }
  return Object.entries(secrets).flatMap(([what, secret]) => (text.includes(secret) ? [what] : []))
}
