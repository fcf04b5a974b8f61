/**
 * The log subresource of a Pod, with `follow` and `tailLines`.
 */

import { setTimeout as sleep } from 'node:timers/promises'
import { badRequest } from '../api-errors.ts'
import { isFinished } from '../kinds/pods.ts'
import type { Target } from '../objects/target.ts'
import type { HandlerOptions, RequestContext } from './context.ts'
import { isSet } from './options.ts'

const pollMs = 100

export async function servePodLog(
  context: RequestContext,
  { cluster, podLogs }: HandlerOptions,
  target: Target,
): Promise<void> {
  const { response, query } = context
  const { namespace = '', name } = target
  const pod = { ...target, subresource: undefined }
  cluster.verbs.get(pod)
  const read = () => podLogs(namespace, name)
  const all = read()
  if (all === undefined) throw badRequest(`container in pod "${name}" is waiting to start: ContainerCreating`)
  response.writeHead(200, { 'content-type': 'text/plain' })
  response.write(lastLines(all, query.get('tailLines')))
  let sent = all.length
  const follows = () => isSet(query, 'follow') && !response.destroyed
  while (follows()) {
    const current = cluster.store.get('/pods', namespace, name)
    const ended = !current || isFinished(current)
    const now = read() ?? ''
    if (now.length > sent) response.write(now.slice(sent))
    sent = now.length
    if (ended) break
    await sleep(pollMs)
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
