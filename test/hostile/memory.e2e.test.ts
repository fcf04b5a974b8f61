/** What hostile requests took of the memory of the deployed program is given back: the next ones find it again. */
import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { buildProgram } from '../../scripts/build.ts'
import { startComponent } from '../bench/component.ts'
import { memoryOf } from '../bench/figure.ts'
import { startOperatorEnvironment } from '../operator/environment.ts'
import { eventually } from '../support/eventually.ts'
import { requestCases } from './requests.ts'

test('Viola returns the memory of a hundred large bodies to the system', async () => {
  await using stack = new AsyncDisposableStack()
  const dir = await mkdtemp(join(tmpdir(), 'multinic-hostile-memory-'))
  stack.defer(() => rm(dir, { recursive: true, force: true }))
  await buildProgram(join(dir, 'multinic.mjs'))
  const { api, caller, close } = await startOperatorEnvironment()
  stack.defer(close)
  const { url, pid, ended } = stack.use(
    await startComponent('viola', join(dir, 'multinic.mjs'), {
      KUBECONFIG: api.kubeconfig,
      LISTEN_ADDR: '127.0.0.1:0',
      VIOLA_TOKENS_FILE: caller.tokensFile,
    }),
  )
  const before = memoryOf(pid, 'RssAnon')
  const large = requestCases(caller.token).find(
    ({ name }) => name === 'POST to Viola with a hundred large bodies at once',
  )
  assert.ok(large)
  await large.run(url, ended)
  await eventually(
    async () => {
      // Garbage of a program that does nothing is not collected.
      await Promise.all(Array.from({ length: 50 }, async () => (await fetch(`${url}/metrics`)).text()))
      const now = memoryOf(pid, 'RssAnon')
      assert.ok(now < before + 50, `${now.toFixed()} MiB, ${before.toFixed()} MiB before`)
    },
    { within: 60_000, every: 100 },
  )
})
