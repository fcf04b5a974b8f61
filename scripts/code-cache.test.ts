import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { buildAgent } from './build.ts'

test('this Node accepts the compiled code of the agent bundle, and every build gives the same bytes', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'multinic-bundle-'))
  try {
    const bundles = ['one', 'two'].map(name => join(dir, name, 'agent.cjs'))
    for (const bundle of bundles) await buildAgent(bundle)
    const [one, two] = bundles.map(bundle => readFileSync(bundle))
    assert.ok(one && two && one.equals(two))
    // Without input the agent only reports that the input is missing.
    const program = `console.log(require(${JSON.stringify(bundles[0])}).compiled)`
    const env = { MULTINIC_TERMINATION_LOG: join(dir, 'report') }
    assert.match(execFileSync(process.execPath, ['-e', program], { env, encoding: 'utf8' }), /^true$/m)
    assert.match(readFileSync(env.MULTINIC_TERMINATION_LOG, 'utf8'), /MULTINIC_INPUT: is not set/)
  } finally {
    rmSync(dir, { recursive: true, force: true })
  }
})
