/**
 * The reference page of the virtual machines that passed `make vm`, with the versions that they reported
 * (docs/reference/guests.json). `node scripts/guests-page.ts` stores those of the last run (dist/guests.jsonl); the others stay.
 */
import type { BootedGuest } from '../test/rigs/vm/booted.ts'
import { type Language, readRuns, referencePages, storeRuns, table } from './reference.ts'

const guestsFile = 'docs/reference/guests.json'

const texts: Record<Language, { title: string; text: string; columns: readonly string[] }> = {
  en: {
    title: 'Booted systems',
    text: 'The virtual machines on which tests of `make vm` passed, with the versions that they reported.',
    columns: ['image', 'system', 'processor', 'kernel', 'packages', 'date'],
  },
  ko: {
    title: '부팅한 시스템',
    text: '`make vm`의 테스트가 통과한 가상 머신과, 가상 머신이 보고한 버전입니다.',
    columns: ['이미지', '시스템', '프로세서', '커널', '패키지', '날짜'],
  },
}

export function guestPages(): [path: string, text: string][] {
  return referencePages('guests', guestsFile, texts, (_, { columns }) => {
    const rows = readRuns<BootedGuest>(guestsFile).map(({ image, system, processor, kernel, packages, on }) => [
      `\`${image}\``,
      ...[system, processor, kernel, packages.join(', '), on],
    ])
    return table(columns, rows)
  })
}

if (import.meta.main) storeRuns<BootedGuest>(guestsFile, 'dist/guests.jsonl', ({ image }) => image)
