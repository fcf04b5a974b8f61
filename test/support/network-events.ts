/**
 * The changes of links, addresses, routes and rules that the kernel reports in a network namespace.
 */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { systemPath } from '../../sandbox/exec.ts'
import { run } from '../rigs/process.ts'
import { eventually } from './eventually.ts'

export interface NetworkEvents {
  /** Stops watching and returns one line for each event. */
  stop(): Promise<string[]>
}

/** Events of this address of lo show that the watch has started, and that it has reported all earlier events. */
const mark = '127.0.0.77'

/** The kernel checks new IPv6 addresses for a second or two, and reports the result as an event. */
export async function networkSettled(netns: string): Promise<void> {
  await eventually(async () => {
    const { stdout } = await run('ip', ['-n', netns, '-6', '-oneline', 'address', 'show', 'tentative'])
    assert.equal(stdout, '')
  })
}

export async function watchNetwork(netns: string): Promise<NetworkEvents> {
  const args = ['-oneline', '-netns', netns, 'monitor', 'link', 'address', 'route', 'rule']
  const child = spawn('ip', args, { env: { PATH: systemPath, LC_ALL: 'C' }, stdio: ['ignore', 'pipe', 'inherit'] })
  const ended = once(child, 'close')
  let output = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    output += text
  })
  const lines = () => output.split('\n').filter(line => line !== '')
  const setMark = (command: 'replace' | 'delete') =>
    run('ip', ['-n', netns, 'address', command, `${mark}/32`, 'dev', 'lo'])
  await eventually(async () => {
    await setMark('replace')
    assert.ok(lines().length > 0, 'no event')
  })
  return {
    async stop() {
      await setMark('delete')
      await eventually(() => assert.ok(lines().some(line => line.startsWith('Deleted') && line.includes(mark))))
      child.kill()
      await ended
      return lines().filter(line => !line.includes(mark))
    },
  }
}
