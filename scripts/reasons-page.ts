/**
 * docs/reference/reasons.md and reasons.ko.md: the catalogue of reasons, one table per group.
 */
import { type ReasonClass, reasonClasses, reasonGroups } from '../src/contract/reasons/catalogue.ts'
import type { Reasons } from '../src/contract/reasons/reason.ts'
import { type Language, referencePages, table } from './reference.ts'

type Group = keyof typeof reasonGroups

interface Texts {
  title: string
  text: string
  classesTitle: string
  classColumns: readonly string[]
  /** Name and meaning of each class. */
  classes: Record<ReasonClass, readonly [name: string, meaning: string]>
  columns: readonly string[]
  groups: Record<Group, string>
}

const texts: Record<Language, Texts> = {
  en: {
    title: 'Reasons',
    text: 'Conditions, Events, agent reports and the inventory show these reasons. The dashboard and `multinic why` show the same meanings and remedies. A reason that is not listed here comes from another version of a component.',
    classesTitle: 'Severity',
    classColumns: ['severity', 'meaning', 'Event type'],
    classes: {
      normal: ['normal', 'The result is the requested one, or you chose it.'],
      progress: ['progress', 'A step on the way to a result.'],
      warning: [
        'warning',
        'Something is wrong or unusual. The component retries, or only one port or node is affected.',
      ],
      attention: ['needs attention', 'A person has to act.'],
    },
    columns: ['reason', 'severity', 'meaning', 'what to do'],
    groups: {
      sync: 'Conditions of an OpenstackConfig',
      verdict: 'Verdicts on ports and VMs',
      node: 'Conditions of a MultiNicNodeConfig',
      bizConfig: 'Conditions of a MultiNicBizConfig',
      interface: 'Interfaces in the report of the agent',
    },
  },
  ko: {
    title: '사유',
    text: '조건, 이벤트, agent 보고서, 인벤토리에 표시되는 사유입니다. 대시보드와 `multinic why`도 같은 설명과 조치 방법을 보여 줍니다. 여기에 없는 사유는 다른 버전의 구성 요소가 보고한 것입니다.',
    classesTitle: '심각도',
    classColumns: ['심각도', '의미', '이벤트 유형'],
    classes: {
      normal: ['정상', '요청한 결과이거나 사용자가 선택한 상태입니다.'],
      progress: ['진행 중', '결과에 이르는 과정입니다.'],
      warning: [
        '경고',
        '문제가 있거나 평소와 다릅니다. 구성 요소가 다시 시도하거나, 포트 또는 노드 하나만 영향을 받습니다.',
      ],
      attention: ['조치 필요', '사람이 조치해야 합니다.'],
    },
    columns: ['사유', '심각도', '의미', '조치 방법'],
    groups: {
      sync: 'OpenstackConfig의 조건',
      verdict: '포트와 VM의 판정',
      node: 'MultiNicNodeConfig의 조건',
      bizConfig: 'MultiNicBizConfig의 조건',
      interface: 'agent가 보고하는 인터페이스',
    },
  },
}

export const reasonPages = () =>
  referencePages('reasons', 'src/contract/reasons', texts, (language, own) => {
    const { classesTitle, classColumns, classes, columns, groups } = own
    const classRows = Object.entries(classes).map(([name, words]) => [
      ...words,
      reasonClasses[name as ReasonClass].eventType,
    ])
    const tables = Object.entries(groups).map(([group, heading]) => {
      const reasons: Reasons = reasonGroups[group as Group]
      const rows = Object.entries(reasons).map(([name, reason]) => [
        `\`${name}\``,
        classes[reason.class][0],
        ...reason[language],
      ])
      return `## ${heading}\n\n${table(columns, rows)}`
    })
    return [`## ${classesTitle}\n\n${table(classColumns, classRows)}`, ...tables].join('\n')
  })
