/**
 * The reference page and the curves of the last soak (docs/reference/soak.json). `node scripts/soak-page.ts` stores that of
 * dist/soak.jsonl, which `make soak` wrote.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { replicaNames } from '../test/soak/names.ts'
import type { Sample, Verdict } from '../test/soak/verdict.ts'
import { type Language, referencePages, table } from './reference.ts'
import { root } from './test-files.ts'
import { type Panel, timePlotOf } from './time-plot.ts'

const soakFile = 'docs/reference/soak.json'
const picture = 'soak.svg'

export interface SoakRun {
  seed: number
  nodes: number
  minutes: number
  /** Date of the run. */
  on: string
  commit: string
}

export interface StoredSoak {
  run: SoakRun
  verdicts: Verdict[]
  faults: { at: number; name: string }[]
  /** Only the values of the curves. */
  samples: Sample[]
}

/** Values of a sample by panel, with the name in the picture. */
const curves: readonly (Omit<Panel, 'lines'> & { lines: Readonly<Record<string, string>> })[] = [
  {
    title: 'Memory by replica',
    unit: 'MiB',
    lines: Object.fromEntries(replicaNames.map(name => [`${name}.mib`, name])),
  },
  {
    title: 'Queue of the controller',
    unit: 'node configs',
    lines: {
      'controller.queue_depth': 'waiting',
      'controller.rollout_waiting': 'in a rollout',
      'controller.jobs_active': 'Jobs',
    },
  },
  {
    title: 'Served requests',
    unit: 'each second',
    lines: { 'viola.requests_per_s': 'viola', 'inventory.requests_per_s': 'inventory' },
  },
  { title: 'From a port to a ready NIC, mean', unit: 's', lines: { 'port.ready_s': 'ready' } },
  {
    title: 'Database',
    unit: 'connections and MiB',
    lines: { 'database.connections': 'connections', 'database.mib': 'MiB' },
  },
]
const drawn = curves.flatMap(({ lines }) => Object.keys(lines))

interface Texts {
  title: string
  text: string
  run: (run: SoakRun, faults: number) => string
  picture: string
  columns: readonly string[]
  met: string
  failed: string
}

const texts: Record<Language, Texts> = {
  en: {
    title: 'Last soak',
    text: 'Curves and results of the last recorded `make soak`. [Soak test](../guides/measured.md#soak-test) explains what it does.',
    run: ({ seed, nodes, minutes, on, commit }, faults) =>
      `${on}, commit \`${commit}\`: ${minutes} minutes with ${nodes.toLocaleString('en-US')} nodes and ${faults} faults, seed ${seed}. Dashed lines are faults.`,
    picture: 'Memory, queue, requests, ready times and database during the soak',
    columns: ['check', 'result', 'figures'],
    met: 'passed',
    failed: '**failed**',
  },
  ko: {
    title: '마지막 소크 테스트',
    text: '마지막으로 기록한 `make soak`의 곡선과 결과입니다. 테스트의 내용은 [소크 테스트](../guides/measured.ko.md#소크-테스트)를 보십시오.',
    run: ({ seed, nodes, minutes, on, commit }, faults) =>
      `${on}, 커밋 \`${commit}\`: 노드 ${nodes.toLocaleString('en-US')}개, ${minutes}분, 장애 ${faults}번, 시드 ${seed}. 점선은 장애입니다.`,
    picture: '소크 테스트 동안의 메모리, 큐, 요청, 준비 시간, 데이터베이스',
    columns: ['확인 항목', '결과', '수치'],
    met: '통과',
    failed: '**실패**',
  },
}

/** Texts by path. */
export function soakFiles({ run, verdicts, faults, samples }: StoredSoak): [path: string, text: string][] {
  const pages = referencePages('soak', soakFile, texts, (_, { columns, met, failed, ...words }) => {
    const rows = verdicts.map(verdict => [verdict.check, verdict.met ? met : failed, verdict.text])
    const image = `![${words.picture}](../images/${picture})`
    return `${words.run(run, faults.length)}\n\n${image}\n\n${table(columns, rows)}`
  })
  const panels = curves.map(({ lines, ...panel }) => ({
    ...panel,
    lines: Object.entries(lines).map(([value, name]) => ({
      name,
      points: samples.flatMap(({ at, values }) =>
        values[value] === undefined ? [] : [[at / 60, values[value]] as const],
      ),
    })),
  }))
  const svg = timePlotOf({
    title: `Soak of ${run.minutes} minutes with ${run.nodes.toLocaleString('en-US')} nodes`,
    ...{ minutes: run.minutes, faults: faults.map(({ at }) => at / 60), panels },
  })
  return [...pages, [`docs/images/${picture}`, svg]]
}

type Line =
  | ({ kind: 'run' } & SoakRun)
  | ({ kind: 'verdict' } & Verdict)
  | ({ kind: 'fault' } & StoredSoak['faults'][number])
  | ({ kind: 'sample' } & Sample)
  | { kind: 'warning' }

/** What the page needs of the lines that `make soak` writes. */
export function soakOf(lines: readonly Line[]): StoredSoak {
  const of = <K extends Line['kind']>(kind: K) =>
    lines.flatMap(line => (line.kind === kind ? [line as Extract<Line, { kind: K }>] : []))
  const [run] = of('run').map(({ seed, nodes, minutes, on, commit }) => ({ seed, nodes, minutes, on, commit }))
  if (!run) throw new Error('dist/soak.jsonl has no run')
  return {
    run,
    verdicts: of('verdict').map(({ check, met, text }) => ({ check, met, text })),
    faults: of('fault').map(({ at, name }) => ({ at, name })),
    samples: of('sample')
      .filter(({ at }) => at <= run.minutes * 60)
      .map(({ at, values }) => ({ at, values: drawnValues(values) })),
  }
}

function drawnValues(values: Sample['values']): Sample['values'] {
  const kib = values['database.kib']
  const all: Sample['values'] = { ...values, ...(kib !== undefined && { 'database.mib': kib / 1_024 }) }
  return Object.fromEntries(
    drawn.flatMap(name => (all[name] === undefined ? [] : [[name, Number(all[name].toPrecision(4))]])),
  )
}

/** Undefined if none is stored. */
export function readSoak(): StoredSoak | undefined {
  try {
    return JSON.parse(readFileSync(join(root, soakFile), 'utf8')) as StoredSoak
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined
    throw error
  }
}

if (import.meta.main) {
  const lines = readFileSync(join(root, 'dist/soak.jsonl'), 'utf8').trim().split('\n')
  const { run, verdicts, faults, samples } = soakOf(lines.map(line => JSON.parse(line) as Line))
  const list = (items: readonly object[]) => `[\n${items.map(item => `    ${JSON.stringify(item)}`).join(',\n')}\n  ]`
  const parts = { run: JSON.stringify(run), verdicts: list(verdicts), faults: list(faults), samples: list(samples) }
  const text = Object.entries(parts).map(([name, part]) => `  "${name}": ${part}`)
  writeFileSync(join(root, soakFile), `{\n${text.join(',\n')}\n}\n`)
  console.log(`${soakFile} has ${samples.length} samples; run make generate to write the page`)
}
