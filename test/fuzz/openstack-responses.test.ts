/** Broken responses of Contrabass, Keystone, Neutron and Nova are used, or refused with the service and the field. */
import assert from 'node:assert/strict'
import { createCipheriv } from 'node:crypto'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, before, test } from 'node:test'
import fc from 'fast-check'
import { createHttp, type Http } from '../../src/http-client/client.ts'
import { parseBusAddresses } from '../../src/openstack/bus-address.ts'
import { createContrabass, loginOf } from '../../src/openstack/contrabass.ts'
import { createNeutron } from '../../src/openstack/neutron.ts'
import { createNova } from '../../src/openstack/nova.ts'
import type { Session } from '../../src/openstack/session.ts'
import { interfaces, ports, projectId, server as vm } from '../openstack/captured-responses.ts'
import { sessionAt } from '../openstack/sessions.ts'
import { brokenBytes } from './broken-inputs.ts'
import { fuzz, refusalOf } from './fuzz.ts'

let server: Server
let url: string
let http: Http
/** Response bodies by the end of the path; every other path returns an empty object. */
let responses: Record<string, Buffer | undefined> = {}

before(async () => {
  server = createServer((request, response) => {
    const path = new URL(request.url ?? '/', 'http://here').pathname
    const [, body] = Object.entries(responses).find(([end]) => path.endsWith(end)) ?? []
    response.writeHead(200, { 'content-type': 'application/json', 'x-subject-token': 'token' }).end(body ?? '{}')
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  http = createHttp({ service: 'cloud', timeoutMs: 60_000, attempts: 1 })
})
after(async () => {
  await http.close()
  server.closeAllConnections()
  server.close()
})

const key = '0123456789abcdef'
const password = 'correct horse battery staple'
const cipher = createCipheriv('aes-128-cbc', key, Buffer.alloc(16, 1))
const adminPw = Buffer.concat([Buffer.alloc(16, 1), cipher.update(password), cipher.final()]).toString('base64')

test('broken responses of Contrabass', async () => {
  const sample = {
    returnCode: '200',
    returnMessage: 'success',
    data: {
      url: 'http://keystone:5000/v3',
      attributes: {
        adminId: 'admin',
        adminPw,
        domain: 'Default',
        rabbitMQUrls: ['amqp://rabbit:5672'],
        rabbitMQId: 'guest',
        rabbitMQPw: adminPw,
      },
    },
  }
  const contrabass = createContrabass({ http, endpoint: url })
  await fuzz(
    brokenBytes([sample]),
    async body => {
      responses = { '/p1': body }
      const message = await refusalOf(async () => {
        const provider = await contrabass.provider('p1')
        loginOf(provider, key, projectId)
        if (provider.rabbit) parseBusAddresses(provider.rabbit.urls)
      })
      if (message === undefined) return 'used'
      assert.match(message, /^cloud: |^adminPw of Contrabass: /)
      assert.ok(!message.includes(password), message)
      return 'refused'
    },
    { atLeast: { used: 200, refused: 2_000 } },
  )
})

const token = (to: string) => ({
  token: {
    expires_at: '2099-01-01T00:00:00.000000Z',
    catalog: [
      { type: 'network', endpoints: [{ interface: 'public', region: 'R1', url: to }] },
      { type: 'compute', endpoints: [{ interface: 'public', region: 'R1', region_id: 'R1', url: `${to}/v2.1` }] },
    ],
  },
})

const aSession = () => sessionAt({ url, http, password })

const subnet = { id: 's', name: 'a', network_id: 'n', cidr: '10.0.0.0/24', gateway_ip: '10.0.0.1', host_routes: [] }

/** Sample response and its reader, by the end of the path. */
const readers: Record<string, [sample: unknown, read: (session: Session) => Promise<unknown>]> = {
  '/ports': [{ ports }, session => createNeutron(session).portsById(['p'])],
  '/subnets': [{ subnets: [subnet] }, session => createNeutron(session).subnets(['s'])],
  '/networks': [
    { networks: [{ id: 'n', mtu: 1500, shared: false }] },
    session => createNeutron(session).networks(['n']),
  ],
  '/detail': [{ servers: [vm] }, session => createNova(session).serversByName('vm0')],
  '/os-interface': [interfaces, session => createNova(session).attachmentsOf('v')],
}

test('broken responses of Neutron and Nova', async () => {
  const broken = fc.oneof(
    ...Object.entries(readers).map(([end, [sample]]) => brokenBytes([sample]).map(body => ({ end, body }))),
  )
  const loggedIn = Buffer.from(JSON.stringify(token(url)))
  const session = aSession()
  await fuzz(
    broken,
    async ({ end, body }) => {
      responses = { '/tokens': loggedIn, [end]: body }
      const message = await refusalOf(async () => readers[end]?.[1](session))
      if (message === undefined) return 'used'
      assert.match(message, /^(cloud|neutron|nova): /)
      assert.ok(!message.includes(password), message)
      return 'refused'
    },
    { atLeast: { used: 500, refused: 2_000 } },
  )
})

test('broken responses of Keystone', async () => {
  await fuzz(
    brokenBytes([token(url)]),
    async body => {
      responses = { '/tokens': body, '/ports': Buffer.from('{"ports": []}') }
      const message = await refusalOf(() => createNeutron(aSession()).portsById(['p']))
      if (message === undefined) return 'used'
      assert.match(message, /^(cloud|neutron): |catalog/)
      assert.ok(!message.includes(password), message)
      return 'refused'
    },
    { atLeast: { used: 500, refused: 2_000 } },
  )
})
