/**
 * Makes the state that every cloud of the rig starts from, once a machine and version. `make e2e` runs it before the tests.
 */
import { layGround, usual } from './ground.ts'
import { ensureState, stateIsKept } from './seed.ts'

if (!(await stateIsKept())) {
  console.log('making the first cloud of this machine: a minute or two')
  const started = Date.now()
  const ground = await layGround(usual)
  try {
    await ensureState(ground)
    console.log(`its state is kept after ${((Date.now() - started) / 1_000).toFixed(1)} s`)
  } finally {
    await ground.remove()
  }
}
