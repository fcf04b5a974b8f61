/**
 * The real helm, without the configuration of the user who runs the tests.
 */
import { join } from 'node:path'
import { type RunResult, run } from '../process.ts'

export type Helm = (args: readonly string[], kubeconfig?: string) => Promise<RunResult>

export async function openHelm(home: string): Promise<Helm> {
  const program = await helmProgram()
  return (args, kubeconfig = '/dev/null') =>
    run(program, args, { env: { ...helmHomes(home), KUBECONFIG: kubeconfig }, check: false })
}

export async function helmProgram(): Promise<string> {
  return (await run(join(import.meta.dirname, 'build.sh'), [])).stdout.trim()
}

export function helmHomes(home: string): Record<string, string> {
  return { HELM_CACHE_HOME: home, HELM_CONFIG_HOME: home, HELM_DATA_HOME: home }
}
