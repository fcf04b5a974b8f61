/** Ports: filters, fields, pages, errors, and the limit of the request line. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type CloudContext, unknownId } from './context.ts'

export function portCases(context: () => CloudContext): void {
  const ids = async (query: string): Promise<string[]> => {
    const { status, body, text } = await context().ask('neutron', `/v2.0/ports?${query}`)
    assert.equal(status, 200, text)
    return body.ports.map((port: { id: string }) => port.id).sort()
  }
  const all = () => [...context().seeds.ports].sort()

  test('repeated device ids are alternatives; a comma-separated list is one unknown id', async () => {
    const [one, two] = context().seeds.vms
    assert.equal(context().seeds.ports.length, 4)
    assert.deepEqual(await ids(`device_id=${one}&device_id=${two}`), all())
    assert.equal((await ids(`device_id=${one}`)).length, 2)
    assert.deepEqual(await ids(`device_id=${one},${two}`), [])
  })

  test('an empty device id finds unattached ports', async () => {
    assert.deepEqual(await ids('device_id='), [context().seeds.unattached])
  })

  test('all filters must match', async () => {
    const { seeds, cloud } = context()
    const [one] = seeds.vms
    const both = `device_id=${one}&network_id=${seeds.storage.networkId}`
    assert.equal((await ids(both)).length, 1)
    assert.equal((await ids(`${both}&project_id=${cloud.projectId}`)).length, 1)
    assert.deepEqual(await ids(`${both}&project_id=${'0'.repeat(32)}`), [])
    assert.equal((await ids('device_owner=compute:nova')).length, 4)
  })

  test('ports are found by id, MAC address and subnet', async () => {
    const { ask, seeds } = context()
    const { body } = await ask('neutron', '/v2.0/ports?fields=id&fields=mac_address')
    const [first, second] = body.ports
    assert.deepEqual(await ids(`id=${first.id}&id=${second.id}&id=${unknownId}`), [first.id, second.id].sort())
    assert.deepEqual(await ids(`mac_address=${first.mac_address}&mac_address=00:00:00:00:00:01`), [first.id])
    const inSubnets = `fixed_ips=subnet_id%3D${seeds.storage.subnetId}&fixed_ips=subnet_id%3D${seeds.backup.subnetId}`
    assert.deepEqual(await ids(inSubnets), [...all(), seeds.unattached].sort())
    assert.equal((await ids(`fixed_ips=subnet_id%3D${seeds.storage.sixId}`)).length, 2)
  })

  test('only requested fields are returned', async () => {
    const { ask, seeds } = context()
    const { body } = await ask('neutron', `/v2.0/ports?device_id=${seeds.vms[0]}&fields=id&fields=status&fields=bogus`)
    for (const port of body.ports) assert.deepEqual(Object.keys(port).sort(), ['id', 'status'])
  })

  test('pages link to the next one with all filters, and together contain the whole list', async () => {
    const { ask, cloud } = context()
    const seen: string[] = []
    let next: string | undefined = '/v2.0/ports?device_owner=compute%3Anova&limit=3&fields=id'
    let pages = 0
    while (next) {
      const { body }: { body: Page } = await ask('neutron', next)
      seen.push(...body.ports.map(port => port.id))
      const link = body.ports_links?.find(one => one.rel === 'next')?.href
      if (link) {
        assert.ok(link.startsWith(`${cloud.urls.neutron}/v2.0/ports?`), link)
        const query = new URL(link).searchParams
        assert.equal(query.get('device_owner'), 'compute:nova')
        assert.equal(query.get('limit'), '3')
        assert.equal(query.get('fields'), 'id')
      }
      next = link && new URL(link).pathname + new URL(link).search
      pages++
    }
    assert.equal(pages, 2)
    assert.deepEqual(seen.sort(), all())
  })

  test('a full page has a next link even if that page is empty; without a limit there are no links', async () => {
    const { ask, seeds } = context()
    const full = await ask('neutron', `/v2.0/ports?device_id=${seeds.vms[0]}&limit=2`)
    const rels = full.body.ports_links.map((link: Link) => link.rel)
    assert.deepEqual(rels, ['next', 'previous'])
    const href = new URL(full.body.ports_links[0].href)
    const empty = await ask('neutron', href.pathname + href.search)
    assert.deepEqual(empty.body.ports, [])
    assert.ok(!empty.body.ports_links?.some((link: Link) => link.rel === 'next'))
    const plain = await ask('neutron', `/v2.0/ports?device_id=${seeds.vms[0]}`)
    assert.equal(plain.body.ports_links, undefined)
  })

  const errors: Record<string, [path: string, status: number, type: string, message: string]> = {
    'an unknown filter': ['/ports?bogus=1', 400, 'HTTPBadRequest', "['bogus'] is invalid attribute for filtering"],
    'two unknown filters': [
      '/ports?bogus=1&other=2',
      400,
      'HTTPBadRequest',
      "['bogus', 'other'] is invalid attribute for filtering",
    ],
    'a limit that is not a number': [
      '/ports?limit=abc',
      400,
      'BadRequest',
      "Bad limit request: Limit must be an integer 0 or greater and not 'abc'.",
    ],
    'a negative limit': [
      '/ports?limit=-1',
      400,
      'BadRequest',
      "Bad limit request: Limit must be an integer 0 or greater and not '-1'.",
    ],
    'a missing marker': [
      `/ports?limit=1&marker=${unknownId}`,
      404,
      'PortNotFound',
      `Port ${unknownId} could not be found.`,
    ],
    'a missing port': [`/ports/${unknownId}`, 404, 'PortNotFound', `Port ${unknownId} could not be found.`],
    'an unknown collection': ['/bogus', 404, 'HTTPNotFound', 'The resource could not be found.'],
  }
  for (const [name, [path, status, type, message]] of Object.entries(errors))
    test(`Neutron rejects ${name}`, async () => {
      const answer = await context().ask('neutron', `/v2.0${path}`)
      assert.equal(answer.status, status)
      assert.equal(answer.headers['content-type'], 'application/json')
      assert.deepEqual(answer.body, { NeutronError: { type, message, detail: '' } })
    })

  test('a request line of 8,192 bytes is 414 without a body, and the connection closes', async () => {
    const { ask } = context()
    const line = (path: string) => `GET ${path} HTTP/1.1\r\n`.length
    const base = '/v2.0/ports?fields=id&name='
    const pathOf = (bytes: number) => base + 'x'.repeat(bytes - line(base))
    const good = await ask('neutron', pathOf(8191))
    assert.deepEqual([good.status, good.body], [200, { ports: [] }])
    const long = await ask('neutron', pathOf(8192))
    assert.deepEqual([long.status, long.text], [414, ''])
    assert.equal(long.headers['content-type'], undefined)
    assert.equal(long.headers['connection'], 'close')
  })

  test('the client requests the ports of 1,000 servers in short enough URLs, and gets each port once', async () => {
    const { clients, seeds } = context()
    const unknown = Array.from({ length: 998 }, (_, n) => `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`)
    const ports = await clients.neutron.portsOfServers([seeds.vms[0], ...unknown, seeds.vms[1]])
    assert.deepEqual(ports.map(port => port.id).sort(), all())
    const ofProject = await clients.neutron.portsOfProject([seeds.vms[0], ...unknown, seeds.vms[1]], 10)
    assert.deepEqual(ofProject?.map(port => port.id).sort(), all())
  })

  test('the client reads all fields of a port', async () => {
    const { clients, seeds } = context()
    const ports = await clients.neutron.portsOfServers([seeds.vms[0]])
    const port = ports.find(one => one.networkId === seeds.storage.networkId)
    assert.ok(port)
    const { id, macAddress, createdAt, addresses, revision, ...rest } = port
    assert.deepEqual(rest, {
      networkId: seeds.storage.networkId,
      status: 'ACTIVE',
      serverId: seeds.vms[0],
      owner: 'compute:nova',
      portSecurity: { enabled: true, allowedAddressPairs: [] },
    })
    assert.ok(Number.isInteger(revision))
    assert.match(macAddress, /^fa:16:3e(:[0-9a-f]{2}){3}$/)
    assert.match(createdAt ?? '', /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/)
    const families = addresses.map(ip => [ip.subnetId, ip.address.startsWith('10.50.0.') ? 4 : 6])
    assert.deepEqual(
      families.sort((a, b) => Number(a[1]) - Number(b[1])),
      [
        [seeds.storage.subnetId, 4],
        [seeds.storage.sixId, 6],
      ],
    )
    assert.deepEqual(await clients.neutron.portsById([id]), [port])
    assert.deepEqual(await clients.neutron.portsByMac([macAddress]), [port])
  })
}

interface Link {
  rel: string
  href: string
}

interface Page {
  ports: { id: string }[]
  ports_links?: Link[]
}
