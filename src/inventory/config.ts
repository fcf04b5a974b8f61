/**
 * Settings of the inventory.
 */
import {
  flag,
  integer,
  matching,
  readSettings,
  type Settings,
  settingsFrom,
  text,
  type Values,
} from '../contract/setting.ts'
import type { Environment } from '../runtime/env.ts'
import { accessSettings } from '../server/access-settings.ts'
import { completeTls, tlsSettings } from '../server/tls-settings.ts'

/** The message never shows the value: it contains a password. */
const databaseUrl = matching(
  value => /^postgres(ql)?:$/.test(URL.parse(value)?.protocol ?? ''),
  'must have the form postgresql://user:password@host:5432/name; percent-encode special characters of the password',
)

export const inventorySettings = {
  INVENTORY_ENABLED: {
    read: flag,
    default: 'true',
    about: {
      en: '`false`: the operator runs without an inventory.',
      ko: '`false`: operator가 인벤토리 없이 실행됩니다.',
    },
    helm: null,
  },
  INVENTORY_ADDR: {
    read: text,
    default: ':18081',
    about: { en: 'Listen address.', ko: '수신 주소입니다.' },
    helm: 'inventory.port',
  },
  INVENTORY_DB_PATH: {
    read: text,
    default: '/var/lib/multinic-operator/inventory.db',
    about: {
      en: 'File of the embedded SQLite database. For a path that ends in `.json`, the database is the `.db` file next to it, and the legacy JSON file is imported once.',
      ko: '내장 SQLite 데이터베이스의 파일입니다. 경로가 `.json`으로 끝나면 옆의 `.db` 파일이 데이터베이스이고, 기존 JSON 파일은 한 번 가져옵니다.',
    },
    helm: 'inventory.persistence',
  },
  INVENTORY_DATABASE_URL: {
    read: databaseUrl,
    about: {
      en: 'PostgreSQL database, required for several replicas: `postgresql://user:password@host:5432/name`. Keep it in a Secret.',
      ko: 'PostgreSQL 데이터베이스입니다. 레플리카가 여러 개이면 필요합니다: `postgresql://user:password@host:5432/name`. Secret에 보관하십시오.',
    },
    helm: 'inventory.databaseSecret',
  },
  INVENTORY_HISTORY_DAYS: {
    read: integer(1, 36_500),
    default: '365',
    about: {
      en: 'Days to keep history. A change of a node with 10 interfaces takes about 10 KiB.',
      ko: '이력을 보관하는 일수입니다. 인터페이스가 10개인 노드의 변경 하나는 약 10KiB입니다.',
    },
  },
  ...accessSettings('INVENTORY', 'inventory.tokensSecret'),
  ...tlsSettings('INVENTORY'),
  INVENTORY_RATE_LIMIT: {
    read: integer(0, 1_000_000),
    default: '100',
    about: {
      en: 'Maximum requests per second from one address, with bursts of four times as many. Further requests get a 429. `0`: no limit.',
      ko: '주소 하나에서 초당 받는 최대 요청 수입니다. 순간적으로는 네 배까지 받습니다. 초과한 요청은 429로 응답합니다. `0`: 제한이 없습니다.',
    },
  },
} satisfies Settings

export type InventorySettings = Readonly<Values<typeof inventorySettings>>

/** Of an operator that contains the inventory. */
export function isInventoryEnabled(env: Environment): boolean {
  return readSettings(inventorySettings, env).values.INVENTORY_ENABLED
}

export function inventorySettingsFrom(env: Environment): InventorySettings {
  return settingsFrom(inventorySettings, env, completeTls('INVENTORY'))
}
