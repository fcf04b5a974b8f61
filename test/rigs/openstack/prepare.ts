/**
 * Creates the state that every cloud of the rig starts from, once per machine and version. `make e2e` runs it before the tests.
 */
import { messageOf } from '../../../src/runtime/errors.ts'
import { defaultSettings, prepareCloud } from './directories.ts'
import { programs } from './programs.ts'
import { ensureState, stateIsCached } from './seed.ts'

try {
  await programs()
  if (!(await stateIsCached())) await createFirst()
} catch (error) {
  console.log(messageOf(error))
  process.exitCode = 1
}

async function createFirst(): Promise<void> {
  console.log('creating the first cloud of this machine: one or two minutes, more under load')
  const started = Date.now()
  const cloud = await prepareCloud(defaultSettings)
  try {
    await ensureState(cloud)
  } finally {
    await cloud.remove()
  }
  console.log(`saved its state after ${((Date.now() - started) / 1_000).toFixed(1)} s`)
}
