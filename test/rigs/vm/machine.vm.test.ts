/**
 * What the tests on virtual machines rely on: clocks, disks, states and CPU times of the rig itself.
 */
import assert from 'node:assert/strict'
import { availableParallelism } from 'node:os'
import { type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { startDaemon } from '../process.ts'
import { type Guest, startGuest, stateOf } from './rig.ts'

test('netplan: a guest that boots on a busy machine keeps the time, its state is settled, and a power cut takes what it did not flush', async t => {
  const stopLoad = startLoad(t)
  const guest = await startGuest(t, { kind: 'netplan', networks: [] })
  const first = await readClock(guest)
  await sleep(20_000) // the time that is measured
  const second = await readClock(guest)
  await stopLoad()
  const elapsed = second.guest - first.guest
  // The guest read its clock at some time between the two readings of ours.
  const [least, most] = [second.before - first.after, second.after - first.before]
  assert.ok(elapsed > least * 0.95 && elapsed < most * 1.05, `${elapsed} s in the guest, ${least} to ${most} s here`)

  await guest.exec('ip link add new type veth peer name other && ip link set other up && ip link set new up')
  const { addresses } = await stateOf(guest)
  assert.match(addresses.join('\n'), /^new .*"fe80::/m)
  assert.doesNotMatch(addresses.join('\n'), /tentative/)

  // A direct write reaches the disk without a flush. The journal is not written in between, which would flush the disk.
  await guest.exec(`mount -o remount,commit=600 / && cd /var && printf '%4096s' old | tee flushed >unflushed && sync
    printf '%4096s' new | dd of=unflushed oflag=direct conv=notrunc bs=4096 iflag=fullblock status=none`)
  const used = guest.cpuSeconds()
  await guest.cutPower()
  await guest.start()
  assert.equal(await guest.exec('cd /var && cat flushed unflushed | tr -s " "'), ' old old')
  assert.ok(guest.cpuSeconds() > used, 'the CPU time of the first QEMU is not counted')
})

/** A busy process for each core, with the priority of a guest: a kernel measures its timers while it boots. */
function startLoad(t: TestContext): () => Promise<void> {
  const loops = Array.from({ length: availableParallelism() }, () =>
    startDaemon('nice', ['-n', '10', 'sh', '-c', 'while :; do :; done'], { log: '/dev/null' }),
  )
  const stop = async () => void (await Promise.all(loops.map(loop => loop.stop('SIGKILL'))))
  t.after(stop)
  return stop
}

async function readClock(guest: Guest): Promise<{ before: number; guest: number; after: number }> {
  const before = performance.now() / 1000
  const text = await guest.exec('cut -d" " -f1 /proc/uptime')
  return { before, guest: Number(text), after: performance.now() / 1000 }
}
