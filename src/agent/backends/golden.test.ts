/**
 * Compares every rendered file with its golden file. To add a case, create a folder with an `input.json`, run with
 * UPDATE_GOLDEN=1 to write the files, and review them.
 */
import assert from 'node:assert/strict'
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { test } from 'node:test'
import { environment } from '../../runtime/env.ts'
import { ruleText } from '../state/change.ts'
import { rulesInFile } from '../state/owned-rules.ts'
import { goldenCases, renderCase } from './golden.fixture.ts'

for (const one of goldenCases) {
  const { backend, folder } = one
  test(`${backend}/${basename(folder)} is rendered like its golden files`, () => {
    const { files } = renderCase(one)
    const rendered = Object.fromEntries(
      Object.entries(files).map(([path, file]) => [path.slice(1).replaceAll('/', '%'), file.text]),
    )
    if (environment()['UPDATE_GOLDEN']) {
      for (const old of readdirSync(folder)) if (old !== 'input.json') rmSync(join(folder, old))
      for (const [name, text] of Object.entries(rendered)) writeFileSync(join(folder, name), text)
    }
    const expected = Object.fromEntries(
      readdirSync(folder)
        .filter(name => name !== 'input.json')
        .map(name => [name, readFileSync(join(folder, name), 'utf8')]),
    )
    assert.deepEqual(rendered, expected)
  })
}

/** The files of NetworkManager and ifcfg do not tell the family of a rule that selects by its mark alone. */
function inAnyFamily(rules: readonly string[]): string[] {
  const byMark = /^from (0\.0\.0\.0\/0|::\/0) ((?:iif multinic\d )?fwmark .*)$/
  return rules.flatMap(rule => {
    const [, , rest] = byMark.exec(rule) ?? []
    return rest === undefined ? [rule] : [`from 0.0.0.0/0 ${rest}`, `from ::/0 ${rest}`]
  })
}

for (const one of goldenCases) {
  test(`the rules of ${one.backend}/${basename(one.folder)} are found in its files`, () => {
    const { files, nic } = renderCase(one)
    const found = new Set(Object.values(files).flatMap(file => rulesInFile(file.text)))
    const rules = nic.rules.map(ruleText)
    const expected = new Set(one.backend === 'netplan' ? rules : inAnyFamily(rules))
    assert.deepEqual([...found].sort(), [...expected].sort())
  })
}
