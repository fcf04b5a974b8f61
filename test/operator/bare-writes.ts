/**
 * The time that a stub of Viola needs to write the nodes that it has: the same requests that delivered them, and nothing else.
 * Runs in a new process, whose code is as cold as that of an operator that just started.
 */
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { request } from 'undici'
import { maxNodesPerPost } from '../../src/contract/viola.ts'

/** In milliseconds. */
export async function bareWrites(viola: string): Promise<number> {
  const { stdout } = await promisify(execFile)(process.execPath, [import.meta.filename, viola])
  return Number(stdout)
}

/** As many as the operator sends at a time: the next request arrives before the last one is answered. */
const concurrentPosts = 2

async function run(url: string): Promise<number> {
  const { items } = (await (await request(url)).body.json()) as { items: Record<string, unknown>[] }
  const nodes = items.map(({ specHash: _, generation: __, status: ___, ...node }) => node)
  const bodies = Array.from({ length: Math.ceil(nodes.length / maxNodesPerPost) }, (_, n) =>
    JSON.stringify(nodes.slice(n * maxNodesPerPost, (n + 1) * maxNodesPerPost)),
  ).values()
  const started = performance.now()
  const send = async () => {
    for (const body of bodies) await (await request(url, { method: 'POST', body })).body.text()
  }
  await Promise.all(Array.from({ length: concurrentPosts }, send))
  return performance.now() - started
}

const [, program, viola = ''] = process.argv
if (program === import.meta.filename) console.log(await run(viola))
