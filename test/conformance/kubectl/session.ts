/**
 * Runs kubectl with a namespace and a temporary directory of its own.
 */
import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connectKube, type KubeClient } from '../../../src/kube/client.ts'
import { loadKubeconfig } from '../../../src/kube/config.ts'
import { environment } from '../../../src/runtime/env.ts'

export interface KubectlSession {
  kube: KubeClient
  namespace: string
  /** Stdout and stderr of kubectl; a failure is not an error here. */
  k(...args: string[]): Promise<string>
  /** The same with additional environment variables. */
  as(env: Record<string, string>, ...args: string[]): Promise<string>
  start(...args: string[]): ChildProcess
  file(name: string, text: string): Promise<string>
}

export async function startSession(
  kubectl: string,
  kubeconfig: string,
): Promise<{ session: KubectlSession; close(): Promise<void> }> {
  const dir = await mkdtemp(join(tmpdir(), 'multinic-kubectl-'))
  const kube = connectKube(await loadKubeconfig(kubeconfig))
  const namespace = `kubectl-${randomBytes(4).toString('hex')}`
  // HOME is temporary, so that discovery caches of other tests are not used.
  const env = { ...environment(), KUBECONFIG: kubeconfig, HOME: dir, TMPDIR: dir }
  const as = (more: Record<string, string>, ...args: string[]) =>
    new Promise<string>(resolve => {
      execFile(
        kubectl,
        args,
        { env: { ...env, ...more }, timeout: 60_000, maxBuffer: 64 * 1024 * 1024 },
        (_, stdout, stderr) => resolve(stdout + stderr),
      )
    })
  return {
    session: {
      kube,
      namespace,
      k: (...args) => as({}, ...args),
      as,
      start: (...args) => spawn(kubectl, args, { env }),
      async file(name, text) {
        await writeFile(join(dir, name), text)
        return join(dir, name)
      },
    },
    async close() {
      await kube.close()
      await rm(dir, { recursive: true })
    },
  }
}

/** A table as rows of cells. */
export function rows(text: string): string[][] {
  return text
    .trim()
    .split('\n')
    .map(line => line.trim().split(/\s{2,}/))
}

export function nodeConfigText(namespace: string, mtu: number, more = ''): string {
  return `
apiVersion: multinic.io/v1
kind: MultiNicNodeConfig
metadata: {name: worker-1, namespace: ${namespace}}
spec:
  nodeName: worker-1
  interfaces:
  - {id: 0, name: multinic0, macAddress: "fa:16:3e:00:00:01", address: 10.0.0.5, cidr: 10.0.0.0/24, mtu: ${mtu}}
${more}`
}

export function jobText(namespace: string, more = ''): string {
  return `
apiVersion: batch/v1
kind: Job
metadata: {name: j1, namespace: ${namespace}}
spec:
  template:
    spec:
      restartPolicy: OnFailure
      containers:
      - name: agent
        image: multinic-agent
        command: ["true"]
        env: [{name: A, value: b}]
${more}`
}
