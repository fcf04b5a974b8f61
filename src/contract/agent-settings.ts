/**
 * The settings of the agent for the whole cluster. The controller checks them and passes them to its Jobs under the same names.
 * Free of dependencies: the agent parses its environment with this table.
 */
import { parseIp } from './address.ts'
import { interfaceIndex } from './interfaces.ts'
import { defaultMarkMask, defaultTableBase, hex } from './routing-scheme.ts'
import { duration, flag, integer, list, oneOf, quoted, type Read, type Settings, text, type Values } from './setting.ts'

/** A missing reply from a NIC's gateway or peer fails the NIC, is reported, or is not probed for. */
const probeModes = ['required', 'reported', 'off'] as const
export type ProbeMode = (typeof probeModes)[number]

export interface ProbeSettings {
  mode: ProbeMode
  /** By index of the interface, where it differs from `mode`. */
  perInterface: Readonly<Record<number, ProbeMode>>
}

/** Table numbers have 32 bits; the last NIC has the base + 9, the primary NIC the base + 10. */
const maxTableBase = 0xffff_ffff - 10

const tableBase: Read<number> = (value, fail) => {
  const base = integer(1, maxTableBase)(value, fail)
  if (base === undefined || base > 255 || base + 10 < 253) return base
  return void fail(`${base} overlaps the kernel tables 253 to 255`)
}

/** `0x78`: the bits 3 to 6. */
const markMask: Read<number> = (value, fail) => {
  const mask = /^0x[0-9a-f]{1,8}$/i.test(value) ? Number(value) : 0
  if (mask !== 0 && mask / (mask & -mask) === 0xf) return mask
  return void fail(`${quoted(value)} must be a hexadecimal number with four adjacent bits, such as 0x78`)
}

/** `reported`, or `reported,multinic2=required,multinic3=off`. */
const probe: Read<ProbeSettings> = (value, fail) => {
  const modeOf = oneOf(...probeModes)
  const [first = '', ...more] = value.split(',')
  const perInterface: Record<number, ProbeMode> = {}
  for (const entry of more) {
    const [name = '', mode = ''] = entry.split('=')
    const index = interfaceIndex(name)
    const found = modeOf(mode, fail)
    if (index === undefined) fail(`${quoted(name)} must be one of multinic0 to multinic9`)
    else if (found) perInterface[index] = found
  }
  const mode = modeOf(first, fail)
  return mode && { mode, perInterface }
}

const addresses: Read<string[]> = (value, fail) => {
  const items = list(value, fail)
  for (const item of items ?? []) if (!parseIp(item)) fail(`${quoted(item)} must be an IPv4 or IPv6 address`)
  return items
}

/** Zero is allowed. */
const wait: Read<number> = (value, fail) => (/^0m?s?$/.test(value) ? 0 : duration(value, fail))

export const agentSettings = {
  NETWORK_POLICY_ROUTING_ENABLED: {
    read: flag,
    default: 'true',
    about: {
      en: 'Use a routing table and rules for each NIC.',
      ko: 'NIC마다 라우팅 테이블과 규칙을 사용합니다.',
    },
  },
  NETWORK_ROUTING_TABLE_BASE: {
    read: tableBase,
    default: `${defaultTableBase}`,
    about: {
      en: 'Number of the first of these routing tables.',
      ko: '이 라우팅 테이블 중 첫 번째의 번호입니다.',
    },
  },
  NETWORK_ROUTE_METRIC: {
    read: integer(0, 0x7fff_ffff),
    default: '100',
    about: { en: 'Metric of the routes of the managed NICs.', ko: '관리하는 NIC의 경로에 쓰는 메트릭입니다.' },
  },
  NETWORK_MARK_MASK: {
    read: markMask,
    default: hex(defaultMarkMask),
    about: {
      en: 'Four adjacent bits of the packet mark for the managed NICs, such as 0x78. No other program of the node may use them in its rules.',
      ko: '관리하는 NIC에 쓰는 패킷 마크의 연속한 4비트입니다(예: 0x78). 노드의 다른 프로그램이 규칙에서 이 비트를 쓰면 안 됩니다.',
    },
  },
  NETWORK_ACCEPT_RA: {
    read: flag,
    default: 'false',
    about: {
      en: 'Accept router advertisements on the managed NICs, but never a default route from them.',
      ko: '관리하는 NIC에서 라우터 광고를 받습니다. 라우터 광고의 기본 경로는 추가하지 않습니다.',
    },
  },
  NIC_WAIT: {
    read: wait,
    default: '15s',
    about: {
      en: 'How long an agent waits for a NIC that is not in the guest yet.',
      ko: '게스트에 아직 없는 NIC를 agent가 기다리는 시간입니다.',
    },
  },
  NETWORK_PROBE: {
    read: probe,
    default: 'reported',
    about: {
      en: 'Whether the gateway of a NIC must answer: required, reported or off. Per NIC: reported,multinic2=required.',
      ko: 'NIC의 게이트웨이가 응답해야 하는지 여부입니다: required, reported, off. NIC별로 지정하려면 reported,multinic2=required.',
    },
  },
  NETWORK_PROBE_PEERS: {
    read: addresses,
    about: {
      en: 'Addresses to probe instead of the gateway, separated by commas.',
      ko: '게이트웨이 대신 프로브할 주소입니다. 쉼표로 구분합니다.',
    },
  },
  NETWORK_PROBE_TIMEOUT: {
    read: wait,
    default: '800ms',
    about: { en: 'Timeout of a probe.', ko: '프로브의 타임아웃입니다.' },
  },
  NETWORK_DUPLICATE_CHECK: {
    read: flag,
    default: 'true',
    about: {
      en: 'Probe the network for another machine with the same address before using it.',
      ko: '주소를 사용하기 전에 같은 주소를 쓰는 다른 머신이 있는지 네트워크에서 확인합니다.',
    },
  },
  NETWORK_TAKEOVER: {
    read: oneOf('dynamic', 'refuse'),
    default: 'dynamic',
    about: {
      en: 'With dynamic, the agent takes over a NIC that DHCP or router advertisements configured. With refuse, it refuses the NIC. The label multinic.io/takeover on a Node overrides it.',
      ko: 'dynamic이면 DHCP나 라우터 광고가 구성한 NIC를 agent가 가져와서 구성합니다. refuse이면 그 NIC를 거부합니다. Node의 레이블 multinic.io/takeover가 우선합니다.',
    },
  },
  PREFLIGHT_ALLOW_UP: {
    read: flag,
    default: 'false',
    about: {
      en: 'Also configure NICs that are up and have addresses that MultiNIC did not set.',
      ko: 'MultiNIC가 설정하지 않은 주소가 있는 up 상태의 NIC도 구성합니다.',
    },
  },
} as const satisfies Settings

export type AgentValues = Values<typeof agentSettings>

const noEffect = {
  read: text,
  about: {
    en: 'Has no effect. It is accepted because values of the Go agent set it.',
    ko: '효과가 없습니다. Go agent의 값 파일에 있으므로 허용합니다.',
  },
}

/** Of the Go agent. The NICs always have what these switched on, and the kernel has what a reload would apply. */
export const ignoredAgentSettings = {
  NETWORK_NOPREFIXROUTE: noEffect,
  NETWORK_SET_ARP_SYSCTLS: noEffect,
  NETWORK_SET_RP_FILTER_LOOSE: noEffect,
  NETWORK_RELOAD: noEffect,
} satisfies Settings
