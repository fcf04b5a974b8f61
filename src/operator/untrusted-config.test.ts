/** Somebody who may write OpenstackConfigs tries to get what is the operator's (G9), over real HTTP. */
import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, afterEach, before, beforeEach, test } from 'node:test'
import { encrypted } from '../../sandbox/cloud/contrabass.ts'
import { addPort, addServer, addSubnet, setPortStatus } from '../../sandbox/cloud/state.ts'
import { sandboxNamespace as namespace } from '../../sandbox/lifecycle/components.ts'
import { type Answering, answering } from '../../test/openstack/stub-server.ts'
import { type Stage, startStage } from '../../test/operator/environment.ts'
import { eventually } from '../../test/support/eventually.ts'
import { openstackConfigs } from '../contract/openstack-config.ts'
import type { Settings } from '../contract/settings.ts'
import { secrets } from '../kube/resources.ts'
import { wellKnownSecret } from './credentials.ts'

const ownToken = 'the-token-of-the-operator-itself'
let dir: string
let stage: Stage
let attacker: Answering

before(async () => {
  dir = await mkdtemp(join(tmpdir(), 'multinic-attacker-'))
  await writeFile(join(dir, 'viola-token'), ownToken)
})
after(() => rm(dir, { recursive: true }))

/** The operator has a key and a token of its own, and the namespace of the objects has none. */
beforeEach(async () => {
  stage = await startStage()
  const subnet = addSubnet(stage.world, { name: 'storage', cidr: '10.10.0.0/24', mtu: 9000 })
  setPortStatus(stage.world, addPort(stage.world, { server: addServer(stage.world, 'worker-1'), subnet }).id, 'ACTIVE')
  await stage.kube.delete(secrets, { namespace, name: wellKnownSecret.name })
  await stage.startOperator({
    CONTRABASS_ENCRYPT_KEY: stage.world.provider.encryptKey,
    VIOLA_TOKEN_FILE: join(dir, 'viola-token'),
  })
  attacker = await answering(() => ({ status: 500, body: 'thank you' }))
})
afterEach(async () => {
  await stage.close()
  await attacker[Symbol.asyncDispose]()
})

async function ready(): Promise<string> {
  const found = (await stage.config()).status?.conditions?.find(one => one.type === 'Ready')
  return `${found?.status} ${found?.reason}: ${found?.message}`
}

async function becomes(expected: RegExp): Promise<void> {
  await eventually(async () => assert.match(await ready(), expected), { within: 30_000 })
}

test('without mischief the operator’s own key and token do their work', async () => {
  await stage.create({})
  await becomes(/^True/)
})

test('a metadata key that every object has names no node', async () => {
  await stage.create({ settings: { openstackNodeNameMetadataKey: 'constructor' } })
  await becomes(/^True/)
  assert.match((await stage.told())[0] ?? '', /^worker-1: /)
})

const redirections: Record<string, keyof Settings> = {
  Contrabass: 'contrabassEndpoint',
  Neutron: 'openstackNeutronEndpoint',
  Nova: 'openstackNovaEndpoint',
}
for (const [service, setting] of Object.entries(redirections))
  test(`${service} is pointed elsewhere: nobody there is asked anything`, async () => {
    await stage.create({ settings: { [setting]: attacker.url } })
    await becomes(new RegExp(`^False ConfigError: spec\\.settings\\.${setting}: the operator’s own encryption key`))
    assert.equal(attacker.asked.length, 0)
  })

test('Viola is pointed elsewhere: the token of the operator is not shown there', async () => {
  await stage.create({ settings: { violaEndpoint: attacker.url } })
  await becomes(/^False ViolaPostError/)
  assert.ok(attacker.asked.length > 0)
  assert.ok(!JSON.stringify(attacker.asked).includes(ownToken))
  assert.deepEqual([...new Set(attacker.asked.map(({ headers }) => headers.authorization))], [undefined])
})

test('a key of one’s own and a Contrabass of one’s own get the password that is in it, and no other', async () => {
  const key = 'attackers-key-16'
  const adminPw = encrypted('own-password', key)
  await using contrabass = await answering(() => ({
    status: 200,
    body: { data: { url: attacker.url, attributes: { adminId: 'admin', adminPw, domain: 'Default' } } },
  }))
  await stage.create({ settings: { contrabassEndpoint: contrabass.url, contrabassEncryptKey: key } })
  await becomes(/^False KeystoneError/)
  const seen = JSON.stringify([attacker.asked, contrabass.asked])
  assert.ok(seen.includes('own-password'))
  for (const secret of [stage.world.user.password, stage.world.provider.encryptKey, ownToken])
    assert.ok(!seen.includes(secret))
})

test('a Secret of another namespace cannot be named', async () => {
  await stage.kube.create(secrets, {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: 'theirs', namespace: 'other-cluster' },
    data: { k: Buffer.from('hush').toString('base64') },
  })
  const names = ['theirs', '../../other-cluster/secrets/theirs', 'x,metadata.namespace=other-cluster']
  for (const [n, name] of names.entries())
    await stage.create({ name: `try-${n}`, secrets: { contrabassEncryptKeySecretRef: { name, key: 'k' } } })
  await eventually(
    async () => {
      const { items } = await stage.kube.list(openstackConfigs, { namespace })
      const said = items.map(({ status }) => status?.conditions?.find(one => one.type === 'Ready')?.message ?? '')
      assert.equal(said.filter(text => /there is no Secret .* in this namespace$/.test(text)).length, 3)
    },
    { within: 30_000 },
  )
})
