/** Who created, changed, approved and deleted what, as the operator records it, with a real API and Viola. */
import assert from 'node:assert/strict'
import { afterEach, beforeEach, test } from 'node:test'
import { addPort, addServer, addSubnet, setPortStatus } from '../../../sandbox/cloud/state.ts'
import { sandboxNamespace as namespace } from '../../../sandbox/lifecycle/components.ts'
import { type OperatorEnvironment, startOperatorEnvironment } from '../../../test/operator/environment.ts'
import { eventually } from '../../../test/support/eventually.ts'
import { withRequester } from '../../cli/requested-by.ts'
import { nodeConfigs } from '../../contract/node-config.ts'
import { openstackConfigAnnotations, openstackConfigs } from '../../contract/openstack-config.ts'
import { createLog } from '../../telemetry/log.ts'

let environment: OperatorEnvironment
let lines: string[]

const key = { namespace, name: 'main' }
const { approveRemovals, renumber } = openstackConfigAnnotations

beforeEach(async () => {
  lines = []
  environment = await startOperatorEnvironment(createLog({}, { write: line => lines.push(line) }))
  const { cloudState } = environment
  const subnet = addSubnet(cloudState, { name: 'storage', cidr: '10.10.0.0/24', mtu: 9000 })
  const server = addServer(cloudState, 'worker-1')
  setPortStatus(cloudState, addPort(cloudState, { server, subnet, address: '10.10.0.10' }).id, 'ACTIVE')
  await environment.startOperator()
  await environment.create({})
  await eventually(async () => assert.equal((await environment.config()).status?.nodes?.total, 1))
})
afterEach(() => environment.close())

function recorded(): string[] {
  return environment.audit.map(({ action, object, caller, proof, outcome }) =>
    [action, object, `${caller || 'nobody'} (${proof})`, outcome].join(' '),
  )
}

async function annotate(annotations: Record<string, string | null>): Promise<void> {
  await environment.kube.patch(openstackConfigs, key, { metadata: { annotations } })
}

async function nextEntry(expected: RegExp): Promise<void> {
  await eventually(() => assert.match(recorded().at(-1) ?? '', expected))
}

test('creation, change and deletion of an object: each once, with the program that wrote it', async () => {
  await nextEntry(/^config\.create multinic-system\/main \S+ \(fieldManager\) synced$/)
  await environment.kube.patch(openstackConfigs, key, {
    spec: { settings: { openstackPortAllowedStatuses: ['ACTIVE'] } },
  })
  await nextEntry(/^config\.change multinic-system\/main \S+ \(fieldManager\) synced$/)
  await environment.kube.delete(openstackConfigs, key)
  await nextEntry(/^config\.delete multinic-system\/main nobody \(unknown\) interfaces removed$/)
  assert.equal(environment.audit.length, 3)
})

test('an approval has the name that the CLI claims, and a later one by another program does not', async () => {
  await annotate(await withRequester(environment.kube, { [approveRemovals]: 'first' }))
  await nextEntry(/^removals\.approve multinic-system\/main \S+ \(claimed\) applied$/)
  const annotations = { [approveRemovals]: 'second', [renumber]: 'no request' }
  const manager = { fieldManager: 'kubectl-annotate', force: true }
  await environment.kube.apply(openstackConfigs, { metadata: { ...key, annotations } }, manager)
  await nextEntry(/^renumber\.request multinic-system\/main kubectl-annotate \(fieldManager\) Stopped$/)
  assert.equal(recorded().at(-2), 'removals.approve multinic-system/main kubectl-annotate (fieldManager) applied')
})

test('an edit of a node config by hand has its field manager', async () => {
  const [node] = await environment.nodes()
  const interfaces = node?.spec.interfaces.map(nic => ({ ...nic, mtu: 1400 }))
  const edit = { metadata: { name: 'worker-1', namespace }, spec: { interfaces } }
  await environment.kube.apply(nodeConfigs, edit, { fieldManager: 'kubectl-edit', force: true })
  await nextEntry(/^node-config\.edit worker-1 kubectl-edit \(fieldManager\) overwritten$/)
})

test('the log has every entry too, Viola names its authenticated caller, and no line has a secret', async () => {
  await annotate({ [approveRemovals]: environment.caller.token })
  await nextEntry(/^removals\.approve/)
  const audits = lines.filter(line => line.includes('"audit"'))
  const facts = audits.map(line => JSON.parse(line) as Record<string, unknown>)
  const texts = facts.map(({ action, caller, proof }) => `${action} ${caller} ${proof}`)
  assert.ok(texts.includes('node-config.write test authenticated'), texts.join('\n'))
  for (const entry of environment.audit)
    assert.ok(facts.some(({ action, caller }) => action === entry.action && caller === entry.caller))
  const secrets = [environment.caller.token, environment.cloudState.provider.encryptKey]
  for (const secret of secrets) {
    assert.ok(!audits.some(line => line.includes(secret)))
    assert.ok(!JSON.stringify(environment.audit).includes(secret))
  }
})
