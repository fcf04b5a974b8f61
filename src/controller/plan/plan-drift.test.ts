import { aJob, aNode, anEndedJob, start } from '../controller.fixture.ts'
import { checkTurn } from './check-schedule.ts'
import { config, configured, create, finalizer, holdsFor, told, withStatus } from './plan.fixture.ts'

const drift = (intervalMs: number, policy: 'report' | 'repair' = 'report') => ({
  policy: { drift: { policy, intervalMs }, cleanupTimeoutMs: 600_000, jobTtlMs: 600_000 },
})
const turn = (intervalMs: number) => checkTurn(config.metadata.uid ?? '', intervalMs, start, start - 60_000)
const inSeconds = (ms: number) => `as it is (again in ${ms / 1_000}s)`
const check = create(turn(30_000).number, { action: 'check' })
const drifted = { mode: 'check', verdict: 'Drifted', message: 'multinic0: mtu is 1500, not 1450' } as const

holdsFor({
  'a check is due after the interval': [
    { ...withStatus(configured), ...drift(30_000) },
    'as it is (again in 2s)',
    finalizer,
    check,
  ],
  'a check is not due before': [{ ...withStatus(configured), ...drift(3_600_000) }, inSeconds(turn(3_600_000).nextMs)],
  'a check waits while enough others run': [
    { ...withStatus(configured), ...drift(30_000), checksFull: true },
    'as it is (again in 60s)',
  ],
  'a check waits while everything is paused': [
    { ...withStatus(configured), ...drift(30_000), allPaused: true },
    'as it is (again in 60s)',
  ],
  'a check that cannot be made now does not make a config unready': [
    { ...withStatus(configured), ...drift(30_000), node: aNode({ heard: false }) },
    'as it is (again in 60s)',
  ],
  'a check does not run beside another agent': [
    { ...withStatus(configured), ...drift(30_000), jobs: [aJob(config, { configUid: 'another' })] },
    'as it is (again in 60s)',
  ],
  'a running check does not make a config unready': [
    { ...withStatus(configured), ...drift(30_000), jobs: [aJob(config, { action: 'check' })] },
    'as it is',
  ],
  'a check that finds all as it should be keeps the config ready': [
    {
      ...withStatus(configured),
      jobs: [anEndedJob(config, { mode: 'check', verdict: 'InSync' }, { action: 'check' })],
    },
    'Configured AllInterfacesConfigured: All 2 interfaces configured successfully',
  ],
  'drift is reported': [
    { ...withStatus(configured), jobs: [anEndedJob(config, drifted, { action: 'check' })] },
    'Failed Drifted: multinic0: mtu is 1500, not 1450',
  ],
  'reported drift is left to people': [
    { ...withStatus(told('Failed', 'Drifted', 1)), ...drift(30_000) },
    inSeconds(turn(30_000).nextMs),
  ],
  'drift is repaired where that is wanted': [
    { ...withStatus(told('Failed', 'Drifted', 1)), ...drift(30_000, 'repair') },
    'as it is (again in 2s)',
    finalizer,
    create(0, { takesSlot: true }),
  ],
})
