/**
 * The real helm, as a program that knows nothing of the person who runs the tests.
 */
import { join } from 'node:path'
import { type Ran, run } from '../process.ts'

export type Helm = (args: readonly string[], kubeconfig?: string) => Promise<Ran>

export async function openHelm(home: string): Promise<Helm> {
  const { stdout } = await run(join(import.meta.dirname, 'build.sh'), [])
  const env = { HELM_CACHE_HOME: home, HELM_CONFIG_HOME: home, HELM_DATA_HOME: home }
  return (args, kubeconfig = '/dev/null') =>
    run(stdout.trim(), args, { env: { ...env, KUBECONFIG: kubeconfig }, check: false })
}
