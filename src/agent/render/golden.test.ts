/**
 * Compares every rendered file with its golden file. To add a case, create a folder with an `input.json`, run with
 * UPDATE_GOLDEN=1 to write the files, and review them.
 */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { fromWireInterfaces, type WireInterface } from '../../contract/interfaces.ts'
import { environment } from '../../runtime/env.ts'
import { nodeWithBothFamilies, settingsFrom } from '../agent.fixture.ts'
import { ruleText } from '../change.ts'
import { type BackendKind, backends } from '../config.ts'
import { type DesiredNic, desiredNics } from '../desired.ts'
import { rulesInFile } from '../owned-rules.ts'
import { hostPaths } from '../paths.ts'
import { filesFor } from './files.ts'

const golden = fileURLToPath(new URL('../../../test/golden/', import.meta.url))

interface Case {
  backend: BackendKind
  folder: string
  nic: DesiredNic
  files: Record<string, { text: string; mode: number }>
}

const cases: Case[] = backends
  .filter(backend => existsSync(join(golden, backend)))
  .flatMap(backend =>
    readdirSync(join(golden, backend)).map(name => {
      const folder = join(golden, backend, name)
      const input = JSON.parse(readFileSync(join(folder, 'input.json'), 'utf8')) as {
        interface: WireInterface
        env?: Record<string, string>
        /** NetworkManager runs on the host. */
        networkManager?: true
      }
      const [nic] = desiredNics(fromWireInterfaces([input.interface]), settingsFrom(input.env), nodeWithBothFamilies)
      assert.ok(nic)
      const observed = {
        directories: Object.values(hostPaths),
        managers: input.networkManager ? { 1: 'none' as const } : {},
      }
      return { backend, folder, nic, files: filesFor(backend, nic, hostPaths, observed) }
    }),
  )

for (const { backend, folder, files } of cases) {
  test(`${backend}/${basename(folder)} is rendered like its golden files`, () => {
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

for (const { backend, folder, files, nic } of cases) {
  test(`the rules of ${backend}/${basename(folder)} are found in its files`, () => {
    const found = new Set(Object.values(files).flatMap(file => rulesInFile(file.text)))
    assert.deepEqual([...found].sort(), nic.rules.map(ruleText).sort())
  })
}

const generator = ['/usr/libexec/netplan/generate', '/lib/netplan/generate'].find(path => existsSync(path))

for (const { backend, folder, files } of cases.filter(({ backend }) => backend === 'netplan')) {
  test(`${backend}/${basename(folder)} is accepted by Netplan`, {
    skip: !generator && 'Netplan is not installed',
  }, () => {
    const root = mkdtempSync(join(tmpdir(), 'multinic-netplan-'))
    try {
      for (const [path, { text, mode }] of Object.entries(files)) {
        mkdirSync(dirname(join(root, path)), { recursive: true })
        writeFileSync(join(root, path), text, { mode })
      }
      execFileSync(generator ?? '', ['--root-dir', root], { stdio: 'pipe' })
      const generated = join(root, 'run/systemd/network')
      const [network] = readdirSync(generated).filter(name => name.endsWith('.network'))
      const generatedText = readFileSync(join(generated, network ?? ''), 'utf8')
      const text = Object.entries(files).find(([path]) => path.includes('/netplan/9'))?.[1].text ?? ''
      for (const [, address] of text.matchAll(/^ {8}- "([^"]+)"$/gm))
        assert.ok(generatedText.includes(`Address=${address}`), generatedText)
      assert.equal(
        generatedText.match(/\[Route\]/g)?.length ?? 0,
        text.match(/^ {8}- to: .*\n {10}(scope|via)/gm)?.length ?? 0,
      )
      assert.equal(generatedText.match(/Priority=/g)?.length ?? 0, text.match(/priority:/g)?.length ?? 0)
    } finally {
      rmSync(root, { recursive: true, force: true })
    }
  })
}
