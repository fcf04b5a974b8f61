/**
 * The parts of `make nightly`: what `.ci/run` does not run because it takes hours.
 */
import { globSync } from 'node:fs'
import { basename, join } from 'node:path'
import { filesOfVersion } from './kubernetes-page.ts'
import type { Language } from './reference.ts'
import { root } from './test-files.ts'

export interface NightlyPart {
  name: string
  text: Record<Language, string>
  /** One after the other, from the root of the repository. */
  commands: readonly NightlyCommand[]
}

export interface NightlyCommand {
  args: readonly string[]
  env?: Record<string, string>
  minutes: number
}

const [chaosSeeds, realSeeds, truthSeeds, fuzzRuns, soakMinutes, soakNodes] = [20, 5, 10, 20_000, 30, 1_000]
const [mixtureSeeds, mixtureSteps] = [24, 300]

/** The first seed differs every day, so that every night tests other histories. A failure prints its seed. */
export function nightlyParts(firstSeed: number): NightlyPart[] {
  return [
    {
      name: 'e2e',
      text: { en: 'all tests against real servers', ko: '실제 서버를 사용하는 모든 테스트' },
      commands: [{ args: ['scripts/e2e.ts'], minutes: 3 * 60 }],
    },
    {
      name: 'guard',
      text: { en: 'the quick benchmarks, judged', ko: '빠른 벤치마크의 판정' },
      commands: [{ args: ['scripts/guard.ts'], minutes: 60 }],
    },
    {
      name: 'vm',
      text: { en: 'all cases on virtual machines', ko: '가상 머신의 모든 케이스' },
      commands: [{ args: ['scripts/e2e.ts', 'vm'], minutes: 8 * 60 }],
    },
    ...olderVersions().map(version => ({
      name: `kubernetes-${version}`,
      text: {
        en: `conformance, a kubelet and the chart on Kubernetes ${version}`,
        ko: `Kubernetes ${version}의 적합성, kubelet, 차트`,
      },
      commands: filesOfVersion.map(file => ({
        args: ['scripts/e2e.ts'],
        env: { ONLY: file, KUBERNETES_VERSION: version },
        minutes: 120,
      })),
    })),
    {
      name: 'chaos',
      text: {
        en: `${chaosSeeds} seeds of chaos with a real broker`,
        ko: `실제 브로커를 사용하는 카오스 시드 ${chaosSeeds}개`,
      },
      commands: [
        {
          args: ['test/chaos/main.ts'],
          env: { SEED: `${firstSeed}`, ROUNDS: `${chaosSeeds}`, RABBITMQ: 'local' },
          minutes: 4 * 60,
        },
      ],
    },
    {
      name: 'chaos-real',
      text: {
        en: `${realSeeds} seeds of chaos on real Kubernetes, OpenStack, RabbitMQ and PostgreSQL`,
        ko: `실제 Kubernetes, OpenStack, RabbitMQ, PostgreSQL의 카오스 시드 ${realSeeds}개`,
      },
      commands: Array.from({ length: realSeeds }, (_, index) => ({
        args: ['scripts/e2e.ts'],
        env: { ONLY: 'test/chaos/real.', SEED: `${firstSeed + index}`, STEPS: '40' },
        minutes: 60,
      })),
    },
    {
      name: 'truth',
      text: {
        en: `${truthSeeds} seeds of random steps: no view contradicts the kernel`,
        ko: `무작위 단계 시드 ${truthSeeds}개: 어떤 화면도 커널과 다르지 않음`,
      },
      // A seed for each run: the time limit of a test file is that of one.
      commands: Array.from({ length: truthSeeds }, (_, index) => ({
        args: ['scripts/e2e.ts'],
        env: { ONLY: 'test/chaos/truth.', SEED: `${firstSeed + index}` },
        minutes: 60,
      })),
    },
    {
      name: 'fuzz',
      text: {
        en: `${fuzzRuns.toLocaleString('en-US')} broken inputs for each entry point`,
        ko: `입력 지점마다 잘못된 입력 ${fuzzRuns.toLocaleString('en-US')}개`,
      },
      commands: [
        {
          args: ['scripts/test.ts'],
          env: { ONLY: 'test/fuzz/', FUZZ_SEED: `${firstSeed}`, FUZZ_RUNS: `${fuzzRuns}` },
          minutes: 60,
        },
      ],
    },
    {
      name: 'half-answers',
      text: {
        en: `${mixtureSeeds} seeds of ${mixtureSteps} changes with half true answers of the cloud`,
        ko: `일부만 맞는 클라우드 응답과 변경 ${mixtureSteps}번, 시드 ${mixtureSeeds}개`,
      },
      // A command for each seed: the time limit of a test file is that of one.
      commands: Array.from({ length: mixtureSeeds }, (_, index) => ({
        args: ['scripts/test.ts'],
        env: {
          ...{ ONLY: 'operator/half-answers', SEED: `${firstSeed + index}` },
          ...{ ROUNDS: '1', STEPS: `${mixtureSteps}` },
        },
        minutes: 10,
      })),
    },
    {
      name: 'soak',
      text: {
        en: `${soakMinutes} minutes with ${soakNodes.toLocaleString('en-US')} nodes and constant changes, on the replicas of production`,
        ko: `노드 ${soakNodes.toLocaleString('en-US')}개를 계속 변경하며 ${soakMinutes}분, 운영 환경의 replica 구성`,
      },
      commands: [
        {
          args: ['test/soak/main.ts'],
          env: { MINUTES: `${soakMinutes}`, NODES: `${soakNodes}`, SEED: `${firstSeed}` },
          minutes: 3 * soakMinutes,
        },
      ],
    },
  ]
}

/** CI runs the newest Kubernetes, from test/rigs/kubernetes/source. */
function olderVersions(): string[] {
  return globSync('source-*', { cwd: join(root, 'test/rigs/kubernetes') })
    .map(dir => basename(dir).replace('source-', ''))
    .sort()
}
