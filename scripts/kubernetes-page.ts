/**
 * The reference page of the Kubernetes versions that passed tests of `make e2e` (docs/reference/kubernetes.json).
 * `node scripts/kubernetes-page.ts` stores those of the last runs (dist/kubernetes.jsonl); the others stay.
 */
import { appendFileSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { kubernetesVersion } from '../test/rigs/kubernetes/binaries.ts'
import { type Language, readRuns, referencePages, storeRuns, table } from './reference.ts'
import { root } from './test-files.ts'

const runsFile = 'docs/reference/kubernetes.json'
const lastRuns = 'dist/kubernetes.jsonl'

/** The tests of a supported version, with what they show. */
const testsOfVersion: Readonly<Record<string, Record<Language, string>>> = {
  'test/conformance/kube.real.e2e.test.ts': {
    en: 'conformance: our client and kubectl on the API server',
    ko: '적합성: API 서버에서 실행한 클라이언트와 kubectl',
  },
  'test/system/real-kubelet.e2e.test.ts': {
    en: 'a NIC on a real kubelet: configured, repaired, after a reboot, removed',
    ko: '실제 kubelet의 NIC: 구성, 복구, 재부팅 후, 제거',
  },
  'test/packaging/deployed.e2e.test.ts': {
    en: 'the chart: from a port to a configured NIC',
    ko: '차트: 포트부터 구성된 NIC까지',
  },
}

export const filesOfVersion: readonly string[] = Object.keys(testsOfVersion)

interface KubernetesRun {
  version: string
  file: string
  /** Date of the run. */
  on: string
}

const texts: Record<Language, { title: string; text: string; columns: readonly string[] }> = {
  en: {
    title: 'Kubernetes versions',
    text: 'The versions of kube-apiserver, kube-controller-manager and kubelet on which these tests passed. CI runs the newest one.',
    columns: ['version', 'test', 'date'],
  },
  ko: {
    title: 'Kubernetes 버전',
    text: '다음 테스트가 통과한 kube-apiserver, kube-controller-manager, kubelet의 버전입니다. CI는 가장 새 버전을 실행합니다.',
    columns: ['버전', '테스트', '날짜'],
  },
}

export function kubernetesPages(): [path: string, text: string][] {
  return referencePages('kubernetes', runsFile, texts, (language, { columns }) => {
    const rows = readRuns<KubernetesRun>(runsFile).map(({ version, file, on }) => [
      version,
      testsOfVersion[file]?.[language] ?? file,
      on,
    ])
    return table(columns, rows)
  })
}

/** Called after a run without failures. */
export function storeKubernetesRuns(files: readonly string[]): void {
  const on = new Date().toISOString().slice(0, 10)
  const lines = files
    .filter(file => file in testsOfVersion)
    .map(file => `${JSON.stringify({ version: kubernetesVersion, file, on } satisfies KubernetesRun)}\n`)
  mkdirSync(join(root, 'dist'), { recursive: true })
  appendFileSync(join(root, lastRuns), lines.join(''))
}

if (import.meta.main) storeRuns<KubernetesRun>(runsFile, lastRuns, ({ version, file }) => `${version} ${file}`)
