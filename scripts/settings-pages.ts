/**
 * The reference pages of all settings, from the tables that the components parse their environment with.
 */
import type { Setting } from '../src/contract/setting.ts'
import { syncSettings } from '../src/contract/settings.ts'
import { componentSettings, helmPath } from './component-settings.ts'
import { type Language, referencePages, table } from './reference.ts'

interface Texts {
  title: string
  text: string
}

const columns: Record<Language, Record<'environment' | 'chart' | 'default' | 'meaning' | 'none', string>> = {
  en: { environment: 'environment', chart: 'chart value', default: 'default', meaning: 'meaning', none: 'none' },
  ko: { environment: '환경 변수', chart: '차트 값', default: '기본값', meaning: '설명', none: '없음' },
}

const startUp: Record<Language, string> = {
  en: 'All settings are environment variables. An empty value counts as unset. At the start the component lists all invalid settings.',
  ko: '모든 설정은 환경 변수입니다. 빈 값은 설정하지 않은 것과 같습니다. 시작할 때 잘못된 설정을 모두 알려 줍니다.',
}

const pages: Record<keyof typeof componentSettings, { source: string; texts: Record<Language, Texts> }> = {
  operator: {
    source: 'src/operator/settings.ts',
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
  viola: {
    source: 'src/viola/config.ts',
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
  inventory: {
    source: 'src/inventory/config.ts',
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
  controller: {
    source: 'src/controller/settings.ts',
    texts: {
      en: {
        title: 'Controller settings',
        text: `${startUp.en} The controller passes the settings of the agent (\`NETWORK_*\`, \`NIC_WAIT\`, \`PREFLIGHT_ALLOW_UP\`) to its Jobs under the same names. The [agent guide](../guides/agent.md) explains them. See the [controller guide](../guides/controller.md) for rollout, pause and retry.`,
      },
      ko: {
        title: 'controller 설정',
        text: `${startUp.ko} controller는 agent의 설정(\`NETWORK_*\`, \`NIC_WAIT\`, \`PREFLIGHT_ALLOW_UP\`)을 같은 이름으로 Job에 전달합니다. 자세한 설명은 [agent 가이드](../guides/agent.ko.md)에 있습니다. 롤아웃, 일시 정지, 다시 시도는 [controller 가이드](../guides/controller.ko.md)를 보십시오.`,
      },
    },
  },
}

const syncTexts: Record<Language, Texts> = {
  en: {
    title: 'Sync settings',
    text: "`spec.settings` of an OpenstackConfig overrides the operator's environment, which overrides the default. In the chart the variables are under `operator.settings`.",
  },
  ko: {
    title: '동기화 설정',
    text: 'OpenstackConfig의 `spec.settings`가 operator의 환경 변수보다 우선하고, 환경 변수가 기본값보다 우선합니다. 차트에서는 환경 변수가 `operator.settings` 아래에 있습니다.',
  },
}

export function settingsPages(): [path: string, text: string][] {
  const components = Object.entries(pages).flatMap(([name, { source, texts }]) =>
    referencePages(`${name}-settings`, source, texts, language => {
      const { environment, chart, default: standard, meaning } = columns[language]
      const component = name as keyof typeof pages
      const rows = Object.entries(componentSettings[component]).map(([variable, setting]) => {
        const path = helmPath(component, variable, setting)
        return [`\`${variable}\``, path === null ? '' : `\`${path}\``, ...cellsOf(setting, language)]
      })
      return table([environment, chart, standard, meaning], rows)
    }),
  )
  return [...referencePages('settings', 'src/contract/settings.ts', syncTexts, syncTable), ...components]
}

function syncTable(language: Language): string {
  const { environment, default: standard, meaning } = columns[language]
  const rows = Object.entries(syncSettings).map(([name, setting]) => [
    `\`${setting.environment}\``,
    `\`${name}\``,
    ...cellsOf(setting, language),
  ])
  return table([environment, 'spec.settings', standard, meaning], rows)
}

/** Default and meaning. */
function cellsOf({ default: standard, unset, about }: Setting, language: Language): [string, string] {
  const described = unset?.[language] ?? columns[language].none
  return [standard === undefined ? described : `\`${standard}\``, about[language]]
}
