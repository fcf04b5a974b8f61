/**
 * The reference pages of all settings, from the schemas that the components parse their environment with.
 */
import type { ZodType } from 'zod'
import { settingDefaults, settingEnvironment, settings } from '../src/contract/settings.ts'
import { controllerSettings } from '../src/controller/config.ts'
import { inventorySettings } from '../src/inventory/config.ts'
import { processSettings } from '../src/operator/config.ts'
import { violaSettings } from '../src/viola/config.ts'
import { type Language, referencePages, table } from './reference.ts'

interface Texts {
  title: string
  text: string
}

const columns: Record<Language, Record<'environment' | 'default' | 'meaning' | 'none', string>> = {
  en: { environment: 'environment', default: 'default', meaning: 'meaning', none: 'none' },
  ko: { environment: '환경 변수', default: '기본값', meaning: '설명', none: '없음' },
}

const startUp: Record<Language, string> = {
  en: 'All settings are environment variables. An empty value counts as unset. At the start the component lists all invalid settings.',
  ko: '모든 설정은 환경 변수입니다. 빈 값은 설정하지 않은 것과 같습니다. 시작할 때 잘못된 설정을 모두 알려 줍니다.',
}

const pages: Record<string, { source: string; shape: Record<string, ZodType>; texts: Record<Language, Texts> }> = {
  'operator-settings': {
    source: 'src/operator/config.ts',
    shape: processSettings.shape,
    texts: {
      en: {
        title: 'Operator settings',
        text: `${startUp.en} An object can override the settings in [settings.md](settings.md). See the [operator guide](../guides/operator.md) for permissions and behavior.`,
      },
      ko: {
        title: 'operator 설정',
        text: `${startUp.ko} 오브젝트에서 바꿀 수 있는 설정은 [settings.ko.md](settings.ko.md)에 있습니다. 권한과 동작은 [operator 가이드](../guides/operator.ko.md)를 보십시오.`,
      },
    },
  },
  'viola-settings': {
    source: 'src/viola/config.ts',
    shape: violaSettings.shape,
    texts: {
      en: {
        title: 'Viola settings',
        text: `${startUp.en} See the [Viola guide](../guides/viola.md) for routing and authentication.`,
      },
      ko: {
        title: 'Viola 설정',
        text: `${startUp.ko} 라우팅과 인증은 [Viola 가이드](../guides/viola.ko.md)를 보십시오.`,
      },
    },
  },
  'inventory-settings': {
    source: 'src/inventory/config.ts',
    shape: inventorySettings.shape,
    texts: {
      en: {
        title: 'Inventory settings',
        text: `${startUp.en} Set them on \`multinic inventory\`, or on the operator if it contains the inventory. See the [inventory guide](../guides/inventory.md).`,
      },
      ko: {
        title: '인벤토리 설정',
        text: `${startUp.ko} \`multinic inventory\`에, 또는 인벤토리를 포함한 operator에 설정하십시오. [인벤토리 가이드](../guides/inventory.ko.md)도 보십시오.`,
      },
    },
  },
  'controller-settings': {
    source: 'src/controller/config.ts',
    shape: controllerSettings.shape,
    texts: {
      en: {
        title: 'Controller settings',
        text: `${startUp.en} The controller passes the settings of the agent (\`NETWORK_*\`, \`NIC_WAIT\`, \`PREFLIGHT_ALLOW_UP\`) to its Jobs under the same names; if unset, the default in the [agent guide](../guides/agent.md) applies. See the [controller guide](../guides/controller.md) for rollout, pause and retry.`,
      },
      ko: {
        title: 'controller 설정',
        text: `${startUp.ko} controller는 agent의 설정(\`NETWORK_*\`, \`NIC_WAIT\`, \`PREFLIGHT_ALLOW_UP\`)을 같은 이름으로 Job에 전달합니다. 설정하지 않으면 [agent 가이드](../guides/agent.ko.md)의 기본값이 적용됩니다. 롤아웃, 일시 정지, 다시 시도는 [controller 가이드](../guides/controller.ko.md)를 보십시오.`,
      },
    },
  },
}

const syncTexts: Record<Language, Texts> = {
  en: {
    title: 'Sync settings',
    text: "`spec.settings` of an OpenstackConfig overrides the operator's environment, which overrides the default.",
  },
  ko: {
    title: '동기화 설정',
    text: 'OpenstackConfig의 `spec.settings`가 operator의 환경 변수보다 우선하고, 환경 변수가 기본값보다 우선합니다.',
  },
}

export function settingsPages(): [path: string, text: string][] {
  const components = Object.entries(pages).flatMap(([name, { source, shape, texts }]) =>
    referencePages(name, source, texts, language => {
      const { environment, default: standard, meaning } = columns[language]
      const rows = Object.entries(shape).map(([variable, setting]) => [
        `\`${variable}\``,
        ...cellsOf(setting, language),
      ])
      return table([environment, standard, meaning], rows)
    }),
  )
  return [...referencePages('settings', 'src/contract/settings.ts', syncTexts, syncTable), ...components]
}

function syncTable(language: Language): string {
  const { environment, default: standard, meaning } = columns[language]
  const rows = Object.entries(settingEnvironment).map(([name, variable]) => {
    const value = (settingDefaults as Record<string, unknown>)[name]
    const text = Array.isArray(value) ? value.join(',') : String(value ?? '')
    const description = settings.shape[name as keyof typeof settings.shape].description ?? ''
    return [`\`${variable}\``, `\`${name}\``, literal(text, language), description]
  })
  return table([environment, 'spec.settings', standard, meaning], rows)
}

/** Default and meaning. A default that is no value is a sentence of the description. */
function cellsOf(setting: ZodType, language: Language): [string, string] {
  const { description = '' } = setting
  const value = defaultOf(setting)
  const described = value === '' ? / ?Default: ([^.]+)\./.exec(description) : null
  return described
    ? [described[1] ?? '', description.replace(described[0], '')]
    : [literal(value, language), description]
}

const literal = (text: string, language: Language) => (text === '' ? columns[language].none : `\`${text}\``)

function defaultOf(setting: ZodType): string {
  // A transformed setting has its default on the schema before the transformation.
  const { defaultValue, in: input } = setting.def as {
    defaultValue?: unknown
    in?: { def: { defaultValue?: unknown } }
  }
  return String(defaultValue ?? input?.def.defaultValue ?? setting.meta()?.['default'] ?? '')
}
