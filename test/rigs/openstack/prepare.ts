/**
 * Makes the state that every cloud of the rig starts from, once a machine and version. `make e2e` runs it before the tests.
 */
import { messageOf } from '../../../src/runtime/errors.ts'
import { layGround, usual } from './directories.ts'
import { programs } from './programs.ts'
import { ensureState, stateIsKept } from './seed.ts'

try {
  await programs()
  if (!(await stateIsKept())) await makeFirst()
} catch (error) {
  console.log(messageOf(error))
  process.exitCode = 1
}

async function makeFirst(): Promise<void> {
  console.log('making the first cloud of this machine: a minute or two, more under load')
  const started = Date.now()
  const ground = await layGround(usual)
  try {
    await ensureState(ground)
  } finally {
    await ground.remove()
  }
  console.log(`its state is kept after ${((Date.now() - started) / 1_000).toFixed(1)} s`)
}
