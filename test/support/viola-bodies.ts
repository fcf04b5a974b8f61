/**
 * Generates bodies for the Viola API.
 */
import fc from 'fast-check'

const junk = fc.jsonValue({ maxDepth: 2 })
const mostly = <T>(good: fc.Arbitrary<T>) => fc.oneof({ weight: 6, arbitrary: good }, { weight: 1, arbitrary: junk })
const hex = fc.integer({ min: 0, max: 255 }).map(byte => byte.toString(16).padStart(2, '0'))
const nic = fc.record(
  {
    id: mostly(fc.integer({ min: 0, max: 11 })),
    name: mostly(fc.constantFrom('multinic0', 'multinic3', 'multinic9', 'eth0', '')),
    macAddress: mostly(fc.tuple(hex, hex).map(([a, b]) => `02:00:00:00:${a}:${b}`)),
    address: mostly(fc.oneof(fc.ipV4(), fc.ipV6(), fc.constant(''))),
    cidr: mostly(fc.tuple(fc.ipV4(), fc.integer({ min: 0, max: 40 })).map(([ip, length]) => `${ip}/${length}`)),
    mtu: mostly(fc.integer({ min: 0, max: 10_000 })),
    portId: mostly(fc.string({ maxLength: 5 })),
    addresses: mostly(fc.array(mostly(fc.ipV6().map(ip => `${ip}/64`)), { maxLength: 3 })),
    routes: mostly(fc.array(mostly(fc.record({ destination: fc.constant('10.0.0.0/8'), nexthop: fc.ipV4() })))),
    allowedAddressPairs: mostly(fc.array(mostly(fc.oneof(fc.ipV4(), fc.constant('fd10::/64'))), { maxLength: 3 })),
    source: mostly(fc.string()),
  },
  { requiredKeys: [] },
)
const validNic = fc
  .tuple(hex, hex, fc.integer({ min: 0, max: 255 }), fc.option(fc.integer({ min: 68, max: 9216 }), { nil: undefined }))
  .map(([a, b, host, mtu]) => ({
    macAddress: `02:00:00:00:${a}:${b}`,
    ...(mtu === undefined ? {} : { mtu, address: `10.0.0.${host}`, cidr: '10.0.0.0/24' }),
  }))
const name = fc.oneof(fc.stringMatching(/^[a-z0-9]{1,6}$/), fc.string({ unit: 'grapheme', maxLength: 40 }))
const validNode = fc.record(
  {
    nodeName: fc.stringMatching(/^[a-z0-9]{1,8}$/),
    instanceId: fc.string({ maxLength: 8 }),
    interfaces: fc.uniqueArray(validNic, { maxLength: 10, selector: ({ macAddress }) => macAddress }),
  },
  { requiredKeys: ['nodeName', 'interfaces'] },
)
const node = fc.record(
  {
    nodeName: mostly(name),
    instanceId: mostly(fc.string({ maxLength: 8 })),
    interfaces: mostly(fc.array(mostly(nic), { maxLength: 11 })),
    expectedSpecHash: mostly(fc.constantFrom('', 'x')),
  },
  { requiredKeys: ['nodeName', 'interfaces'] },
)

/** Bodies of a POST: valid ones, nearly valid ones, and any other JSON. */
export const violaBodies: fc.Arbitrary<unknown> = fc.oneof(
  { weight: 2, arbitrary: fc.array(validNode, { minLength: 1, maxLength: 3 }) },
  { weight: 3, arbitrary: mostly(fc.array(mostly(node), { maxLength: 4 })) },
)
