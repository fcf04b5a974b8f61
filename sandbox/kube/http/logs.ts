/**
 * The log of a Pod, as whoever runs the Pods hands it over.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { badRequest } from '../failures.ts'
import { isFinished } from '../kinds/pods.ts'
import type { Target } from '../objects/admission.ts'
import type { Asked, HandlerOptions } from './handler.ts'
import { isSet } from './options.ts'

const lookEvery = 100

export async function servePodLog(asked: Asked, { cluster, podLogs }: HandlerOptions, target: Target): Promise<void> {
  const { response, query } = asked
  const { namespace = '', name } = target
  const pod = { ...target, subresource: undefined }
  cluster.verbs.get(pod)
  const read = () => podLogs(namespace, name)
  const all = read()
  if (all === undefined) throw badRequest(`container in pod "${name}" is waiting to start: ContainerCreating`)
  response.writeHead(200, { 'content-type': 'text/plain' })
  response.write(lastLines(all, query.get('tailLines')))
  let told = all.length
  const goesOn = () => isSet(query, 'follow') && !response.destroyed
  while (goesOn()) {
    const current = cluster.store.get('/pods', namespace, name)
    const ended = !current || isFinished(current)
    const now = read() ?? ''
    if (now.length > told) response.write(now.slice(told))
    told = now.length
    if (ended) break
    await sleep(lookEvery)
  }
  response.end()
}

function lastLines(text: string, count: string | null): string {
  if (count === null || Number(count) < 0) return text
  const ended = text.endsWith('\n')
  const lines = (ended ? text.slice(0, -1) : text).split('\n')
  const last = Number(count) === 0 ? [] : lines.slice(-Number(count))
  return last.length === 0 ? '' : `${last.join('\n')}${ended ? '\n' : ''}`
}
