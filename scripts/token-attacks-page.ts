/**
 * The reference page of what the token of each component could do in the last run of test/attacks/tokens.e2e.test.ts
 * (docs/reference/token-attacks.json).
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { attacks, type Component, components } from '../test/attacks/token-attacks.ts'
import { type Language, referencePages, table } from './reference.ts'

const resultsFile = 'docs/reference/token-attacks.json'

const texts: Record<Language, { title: string; text: string; attempt: string; done: string; refused: string }> = {
  en: {
    title: 'What a stolen token can do',
    text: '`make e2e ONLY=tokens` tries each row with the real token of each component, on a real API server with the rights and the admission policies of the chart (all components, `NODE_CONDITION` and `NODE_LABELS` on) and of `make deploy`. An empty cell: the API server refused every attempt of the row.',
    attempt: 'attempt',
    done: 'possible',
    refused: '',
  },
  ko: {
    title: '탈취한 토큰으로 할 수 있는 일',
    text: '`make e2e ONLY=tokens`는 각 행을 구성 요소의 실제 토큰으로 시도합니다. 실제 API 서버에 차트(모든 구성 요소, `NODE_CONDITION`과 `NODE_LABELS` 켬)와 `make deploy`의 권한과 어드미션 정책을 적용합니다. 빈칸은 API 서버가 그 행의 모든 시도를 거부했다는 뜻입니다.',
    attempt: '시도',
    done: '가능',
    refused: '',
  },
}

const names: Record<Component, string> = {
  operator: 'operator',
  operatorDeployed: 'operator (`make deploy`)',
  viola: 'Viola',
  inventory: 'inventory',
  controller: 'controller',
  agent: 'agent',
}

export function tokenAttackPages(): [path: string, text: string][] {
  const results: Record<string, Component[]> = JSON.parse(
    readFileSync(join(import.meta.dirname, '..', resultsFile), 'utf8'),
  )
  return referencePages('token-attacks', resultsFile, texts, (language, { attempt, done, refused }) => {
    const rows = attacks.map(({ id, about }) => [
      about[language],
      ...components.map(component => (results[id]?.includes(component) ? done : refused)),
    ])
    const columns = [attempt, ...components.map(component => names[component])]
    return table(columns, rows)
  })
}
