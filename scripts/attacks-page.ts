/**
 * The reference page of the attacks on the components (test/attacks/published): what the first attempt did, what is expected,
 * and the command that repeats it.
 */
import { attackSections } from '../test/attacks/published/attacks.ts'
import type { PublishedAttack } from '../test/attacks/published/section.ts'
import { type Language, referencePages, table } from './reference.ts'

const texts: Record<
  Language,
  { title: string; text: string; columns: readonly string[]; passed: string; recorded: string }
> = {
  en: {
    title: 'Attacks and their results',
    text: 'Each row is an attack that was made on the components, and the test that repeats it. The third column says what the first attempt did: `as expected`, or a failure, which was fixed. The name of the test says what is expected; `…` stands for several values.',
    columns: ['attack', 'test and command', 'first attempt'],
    passed: 'as expected',
    recorded: 'failed, see [track record](../guides/track-record.md)',
  },
  ko: {
    title: '공격과 결과',
    text: '각 행은 구성 요소에 한 공격과 그것을 반복하는 테스트입니다. 셋째 열은 첫 시도의 결과입니다. `기대한 대로`이거나 실패이며, 실패는 고쳤습니다. 테스트 이름이 기대하는 결과입니다. `…`는 여러 값을 뜻합니다.',
    columns: ['공격', '테스트와 명령', '첫 시도'],
    passed: '기대한 대로',
    recorded: '실패, [발견 기록](../guides/track-record.ko.md) 참고',
  },
}

export function attackPages(): [path: string, text: string][] {
  return referencePages('attacks', 'test/attacks/published', texts, (language, { columns, passed, recorded }) => {
    const parts = attackSections.map(section => {
      const rows = section.attacks.map(attack => [
        attack.about[language],
        `[${attack.test}](../../${attack.file}): \`${commandOf(attack)}\``,
        attack.failed?.[language] ??
          (isFinding(attack) ? recorded : [passed, attack.measured?.[language]].filter(Boolean).join(': ')),
      ])
      return `## ${section.title[language]}\n\n${table(columns, rows)}`
    })
    return parts.join('\n')
  })
}

/** The name of the test begins with a finding of the track record. */
function isFinding({ test }: PublishedAttack): boolean {
  return /^(operator|controller|experience) /.test(test)
}

function commandOf({ file, runBy = file }: PublishedAttack): string {
  const target = runBy.endsWith('.e2e.test.ts') ? 'e2e' : 'test'
  const word = runBy.replace(/^(src|test)\//, '').replace(/(\.(e2e|root))?\.test\.ts$/, '')
  return `make ${target} ONLY=${word}`
}
