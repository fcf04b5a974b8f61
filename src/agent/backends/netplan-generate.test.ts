/**
 * Netplan itself reads our files: it accepts them and generates the same addresses, routes and rules.
 */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { test } from 'node:test'
import { goldenCases, renderCase } from './golden.fixture.ts'

const generator = ['/usr/libexec/netplan/generate', '/lib/netplan/generate'].find(path => existsSync(path))

for (const one of goldenCases.filter(({ backend }) => backend === 'netplan')) {
  test(`${one.backend}/${basename(one.folder)} is accepted by Netplan`, {
    skip: !generator && 'Netplan is not installed',
  }, () => {
    const { files } = renderCase(one)
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
