/** Full collections, and which objects they leave. */
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

setFlagsFromString('--expose-gc')
export const collectGarbage = runInNewContext('gc') as () => void

export async function countKept(opened: readonly WeakRef<object>[]): Promise<number> {
  await new Promise(setImmediate)
  collectGarbage()
  return opened.filter(ref => ref.deref() !== undefined).length
}
