/**
 * The log subresource of a Pod, with the options of a real API server.
 *
 * A container runtime stores the time of each line; the sandbox does not. Here the time of a line is the one that the program
 * has written into it (`{"time": …}`), otherwise that of the line before.
 */

import { setTimeout as sleep } from 'node:timers/promises'
import { badRequest } from '../api-errors.ts'
import { listOf, recordOf, textOf } from '../json.ts'
import { isFinished } from '../kinds/pods.ts'
import type { Target } from '../objects/target.ts'
import type { HandlerOptions, RequestContext } from './context.ts'
import { integerParameter, isSet } from './options.ts'

const pollMs = 100

export async function servePodLog(
  context: RequestContext,
  { cluster, podLogs }: HandlerOptions,
  target: Target,
): Promise<void> {
  const { response, query } = context
  const { namespace = '', name } = target
  const { spec } = cluster.verbs.get({ ...target, subresource: undefined })
  const previous = isSet(query, 'previous')
  const read = () => podLogs(namespace, name, previous)
  const shown = logOptions(query, cluster.now())
  const all = read()
  if (all === undefined) {
    const container = textOf(recordOf(listOf(recordOf(spec)['containers'])[0])['name'])
    throw previous
      ? badRequest(`previous terminated container "${container}" in pod "${name}" not found`)
      : badRequest(`container in pod "${name}" is waiting to start: ContainerCreating`)
  }
  response.writeHead(200, { 'content-type': 'text/plain' })
  response.write(limited(lastOf(linesOf(all, shown), shown.tail), shown.limitBytes))
  let sent = all.length
  const follows = () => isSet(query, 'follow') && !previous && !response.destroyed
  while (follows()) {
    const current = cluster.store.get('/pods', namespace, name)
    const ended = !current || isFinished(current)
    const now = read() ?? ''
    if (now.length > sent) response.write(linesOf(now.slice(sent), shown).join(''))
    sent = now.length
    if (ended) break
    await sleep(pollMs)
  }
  response.end()
}

interface LogOptions {
  timestamps: boolean
  since: number
  /** Number of lines from the end. */
  tail: number
  limitBytes: number | undefined
}

function logOptions(query: URLSearchParams, now: Date): LogOptions {
  const [seconds, time] = [integerParameter(query, 'sinceSeconds'), query.get('sinceTime')]
  if (seconds !== undefined && time) throw badRequest('at most one of `sinceTime` or `sinceSeconds` may be specified')
  const tail = integerParameter(query, 'tailLines') ?? -1
  return {
    timestamps: isSet(query, 'timestamps'),
    since: seconds !== undefined ? now.getTime() - seconds * 1_000 : time ? Date.parse(time) : 0,
    tail: tail < 0 ? Number.MAX_SAFE_INTEGER : tail,
    limitBytes: integerParameter(query, 'limitBytes'),
  }
}

/** The lines since the requested time, with their line ends. */
function linesOf(text: string, { timestamps, since }: LogOptions): string[] {
  let time = ''
  return text
    .split(/(?<=\n)/)
    .filter(line => line !== '')
    .flatMap(line => {
      time = /^\{"time":"([^"]+)"/.exec(line)?.[1] ?? time
      if (time !== '' && Date.parse(time) < since) return []
      return [timestamps ? `${time || new Date(0).toISOString()} ${line}` : line]
    })
}

function lastOf(lines: string[], count: number): string[] {
  return count === 0 ? [] : lines.slice(-count)
}

function limited(lines: string[], bytes: number | undefined): string {
  const text = lines.join('')
  return bytes === undefined ? text : Buffer.from(text).subarray(0, bytes).toString()
}
