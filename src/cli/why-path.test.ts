/** `multinic why NODE INTERFACE --to ADDRESS` against a real inventory. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { type Run, runner } from '../../test/support/cli.ts'
import { aWrite } from '../../test/support/inventory.ts'
import { startOpenInventory } from '../../test/support/open-inventory.ts'
import type { InventoryWrite } from '../contract/inventory.ts'
import { onlyBound, unexpectedWay, withoutMarks } from '../contract/routing-messages.ts'
import type { RunningInventory } from '../inventory/main.ts'

let open: RunningInventory
let multinic: Run

const way = unexpectedWay({ from: '10.20.0.11', to: '192.0.2.1' }, 'wg0, table 51820', 'multinic1')

function aNode(nodeName: string, status: 'Configured' | 'Failed', reason: string, message = ''): InventoryWrite {
  const write = aWrite(nodeName, { providerName: 'Seoul', instanceName: `vm of ${nodeName}`, state: status })
  const mac = (id: number) => `02:00:00:00:${nodeName === 'worker-1' ? '01' : '02'}:0${id}`
  const at = { lastChecked: new Date().toISOString(), lastConfigured: new Date().toISOString() }
  const interfaces = [
    { id: 0, name: 'multinic0', macAddress: mac(0), address: '10.10.0.11', cidr: '10.10.0.0/24' },
    {
      ...{ id: 1, name: 'multinic1', macAddress: mac(1), address: '10.20.0.11', cidr: '10.20.0.0/24' },
      gateway: '10.20.0.1',
    },
  ]
  const states = [
    { ...at, id: 0, name: 'multinic0', macAddress: mac(0), status: 'Configured' as const, reason: 'InSync' },
    { ...at, id: 1, name: 'multinic1', macAddress: mac(1), status, reason, ...(message && { message }) },
  ]
  return { ...write, config: { ...write.config, interfaces }, interfaces: states }
}

before(async () => {
  open = await startOpenInventory()
  multinic = runner({ MULTINIC_INVENTORY_URL: open.url })
  await open.recorder.put([
    aNode('worker-1', 'Configured', 'InSync'),
    aNode('worker-2', 'Failed', 'Drifted', `${way}; MTU is 1400, expected 1450`),
  ])
})
after(async () => {
  await open.close()
})

const english = `worker-1 multinic1 → 10.20.0.9  ● Configured
  VM vm of worker-1, provider Seoul

PACKETS                                                                                  LEAVE BY            TABLE  RULE   OVERRIDDEN BY
from 10.20.0.11: bound sockets, replies of the node's own programs                       multinic1, on link  254    10061  a rule with a priority below 10061; a route of length 25 or longer in the main table, by a bridge or tunnel; a route to the same network with a metric below 20001
without a source address, and from Pods                                                  multinic1, on link  254    32766  a rule with a priority below 32766; a route of length 25 or longer in the main table; a route to the same network with a metric below 20001
replies to connections by multinic1: NodePort, LoadBalancer, hostPort, Pods (mark 0x10)  multinic1, on link  101    10001  a rule with a priority below 10001
from the node's own address                                                              the primary NIC     110    10091  a rule with a priority below 10091; a route of length 25 or longer in the main table; no default route by a router: then multinic1, on link, table 254

These are the rules with NETWORK_ROUTING_TABLE_BASE=100 and NETWORK_MARK_MASK=0x78. An interface keeps the mark of its first index. Routes and rules of other programs are not known here.
  Ask the node itself:
    ip route get 10.20.0.9 from 10.20.0.11
    ip route get 10.20.0.9
    ip route get 10.20.0.9 mark 0x10
    ip rule
    nft list table ip multinic
`

const korean = `worker-1 multinic1 → 10.20.0.9  ● Configured
  VM vm of worker-1, 프로바이더 Seoul

패킷                                                                                   경로                  테이블  규칙   우선하는 것
출발지 10.20.0.11: 이 주소에 바인드한 소켓, 노드 프로그램의 응답                       multinic1, 직접 연결  254     10061  우선순위가 10061보다 작은 규칙; main 테이블에 있는 길이 25 이상의 라우트(브리지나 터널만); 같은 네트워크로 가는 메트릭 20001 미만의 라우트
출발지가 없는 패킷과 Pod의 패킷                                                        multinic1, 직접 연결  254     32766  우선순위가 32766보다 작은 규칙; main 테이블에 있는 길이 25 이상의 라우트; 같은 네트워크로 가는 메트릭 20001 미만의 라우트
multinic1(으)로 들어온 연결의 응답: NodePort, LoadBalancer, hostPort, Pod (마크 0x10)  multinic1, 직접 연결  101     10001  우선순위가 10001보다 작은 규칙
출발지가 노드 주소인 패킷                                                              기본 NIC              110     10091  우선순위가 10091보다 작은 규칙; main 테이블에 있는 길이 25 이상의 라우트; 라우터를 거치는 기본 라우트가 없으면 multinic1, 직접 연결, 테이블 254

NETWORK_ROUTING_TABLE_BASE=100, NETWORK_MARK_MASK=0x78일 때의 규칙입니다. 인터페이스의 마크는 처음 번호를 따릅니다. 다른 프로그램의 라우트와 규칙은 여기서 알 수 없습니다.
  노드에서 직접 확인하는 명령:
    ip route get 10.20.0.9 from 10.20.0.11
    ip route get 10.20.0.9
    ip route get 10.20.0.9 mark 0x10
    ip rule
    nft list table ip multinic
`

for (const [lang, text] of Object.entries({ en: english, ko: korean }))
  test(`why --to explains each kind of packets, and how to ask the node, in ${lang}`, async () => {
    const { code, out } = await multinic('why', 'worker-1', 'multinic1', '--to', '10.20.0.9', '--lang', lang)
    assert.equal(out, text)
    assert.equal(code, 0)
  })

for (const what of ['vm-worker-1', 'vm of worker-1'])
  test(`the node is also found by its VM: ${what}`, async () => {
    const { out } = await multinic('why', what, 'multinic1', '--to', '10.20.0.9')
    assert.equal(out, english)
  })

const lines: Record<string, [args: string[], expected: RegExp]> = {
  'what the agent reported about packets, and the state': [
    ['worker-2', 'multinic1', '--to', '198.51.100.7'],
    /✗ Failed\n.*\n {2}Drifted: .*\n {2}→ .*\n {2}The agent has not reported .* Configured.*\n {2}Reported by the agent:\n {4}packets from 10\.20\.0\.11 to 192\.0\.2\.1 leave by wg0, table 51820, expected by multinic1\n\n/,
  ],
  'the same in Korean': [
    ['worker-2', 'multinic1', '--to', '198.51.100.7', '--lang', 'ko'],
    /Configured로 보고하지 않았습니다.*\n {2}agent가 보고한 내용:\n {4}packets from /,
  ],
  'a NIC that replies cannot leave by': [
    ['worker-1', 'multinic0', '--to', '198.51.100.7'],
    /\nmultinic0 has no gateway or route to 198\.51\.100\.7: replies do not leave by it/,
  ],
  'a family without an address': [
    ['worker-1', 'multinic1', '--to', '2001:db8::1'],
    /\nmultinic1 has no IPv6 address: no rule selects packets by this NIC\n(.*\n)*.*ip -6 rule\n/,
  ],
}
for (const [name, [args, expected]] of Object.entries(lines))
  test(`why --to shows ${name}`, async () => assert.match((await multinic('why', ...args)).out, expected))

test('networks that the main table does not have, and a node without nftables, are read from the message', async () => {
  const reserved = onlyBound('10.20.0.0/24', 'contains 10.20.0.2, the address of the node')
  const marks = withoutMarks('Operation not supported')
  await open.recorder.put([
    { ...aNode('worker-3', 'Configured', 'InSync', `${reserved}; ${marks}`), instanceId: 'vm-worker-3' },
  ])
  const { out } = await multinic('why', 'worker-3', 'multinic1', '--to', '10.20.0.9', '-o', 'json')
  const [answer] = JSON.parse(out).nodes
  assert.deepEqual(answer.obstacles, [reserved, marks])
  const [bound, unbound] = answer.paths
  assert.deepEqual([bound.device, bound.table, bound.priority], ['multinic1', 101, 10_031])
  assert.deepEqual([unbound.by, unbound.table], ['primary', 254])
})

test('json has what the text says, and csv a row for each kind of packets', async () => {
  const args = ['why', 'worker-2', 'multinic1', '--to', '10.20.0.9', '-o']
  const [answer] = JSON.parse((await multinic(...args, 'json')).out).nodes
  const { nodeName, interface: nic, status, reason, to, obstacles } = answer
  assert.deepEqual([nodeName, nic, status, reason, to], ['worker-2', 'multinic1', 'Failed', 'Drifted', '10.20.0.9'])
  assert.deepEqual(obstacles, [way])
  assert.deepEqual(answer.paths[2], {
    ...{ packets: 'reply', mark: '0x10', by: 'interface', device: 'multinic1', table: 101, priority: 10_001 },
    overriddenBy: { priorityBelow: 10_001 },
  })
  const csv = (await multinic(...args, 'csv')).out.trimEnd().split('\r\n')
  assert.match(csv[0] ?? '', /^providerId,nodeName,instanceId,interface,status,to,packets,from,mark,device/)
  assert.equal(csv.length, 5)
})

const refused: Record<string, [args: string[], code: number, message: RegExp]> = {
  'a name as address': [['worker-1', 'multinic1', '--to', 'db.local'], 2, /^--to: "db.local" is not an IPv4 or IPv6/],
  'a network as address': [['worker-1', 'multinic1', '--to', '10.0.0.0/8'], 2, /^--to: "10.0.0.0\/8" is not an IPv4/],
  multicast: [['worker-1', 'multinic1', '--to', '224.0.0.1'], 2, /^--to: 224.0.0.1 is for multicast/],
  loopback: [['worker-1', 'multinic1', '--to', '::1'], 2, /^--to: ::1 is for loopback/],
  'a link-local address': [['worker-1', 'multinic1', '--to', 'fe80::1'], 2, /^--to: fe80::1 is on every link/],
  'another device': [['worker-1', 'eth0', '--to', '10.0.0.1'], 2, /^interface: "eth0" is not one of multinic0 to/],
  'no interface': [['worker-1', '--to', '10.0.0.1'], 2, /^--to needs an interface: multinic why worker-1 multinic0/],
  'no address': [['worker-1', 'multinic1'], 2, /^interface: "multinic1" needs an address: .* --to ADDRESS/],
  'an interface that the node lacks': [
    ['worker-1', 'multinic7', '--to', '10.0.0.1'],
    1,
    /^not found: worker-1 has no multinic7; it has multinic0, multinic1$/,
  ],
  'a node that is not there': [['worker', 'multinic1', '--to', '10.0.0.1'], 1, /^not found: no node or VM is "worker"/],
}
for (const [name, [args, code, message]] of Object.entries(refused))
  test(`why --to refuses ${name}`, async () => {
    const result = await multinic('why', ...args)
    assert.equal(result.code, code)
    assert.match([result.error, ...result.notes].join(''), message)
  })

test('check names packets that take another way, and the command that explains them', async () => {
  const { code, out } = await multinic('check')
  assert.equal(code, 1)
  assert.ok(out.includes(`worker-2 multinic1: ${way}\n  → Run multinic why worker-2 multinic1 --to 192.0.2.1\n`), out)
  const wrong = JSON.parse((await multinic('check', '-o', 'json')).out)
  assert.deepEqual(
    wrong.map(({ ways }: { ways: unknown }) => ways),
    [[{ text: way, to: '192.0.2.1' }]],
  )
  assert.match(
    (await multinic('check', '--lang', 'ko')).out,
    /→ multinic why worker-2 multinic1 --to 192\.0\.2\.1 명령/,
  )
})
