/**
 * The program: one command a part. It wires the rooms, which never import each other, and nothing else.
 */
import type { FastifyInstance } from 'fastify'
import { openProgram, runProgram } from './cli/program.ts'
import { emptyCoreDumps } from './core-dump.ts'
import { environment } from './env.ts'
import type { InventoryAuth, Reviews } from './inventory/auth.ts'
import { createLog, type Level, type Log } from './log.ts'
import type { Answering } from './operator/app.ts'

const program = openProgram()

part('operator', 'sync OpenStack ports to node configs (management cluster)', async context => {
  const { keepHeapSmall } = await import('./operator/heap.ts')
  keepHeapSmall()
  const [{ runOperator }, { serveOperatorApi }, { startInventory }] = await Promise.all([
    import('./operator/main.ts'),
    import('./operator/app.ts'),
    import('./inventory/main.ts'),
  ])
  let answering: Answering | undefined
  const also = (app: FastifyInstance, { mayRead }: InventoryAuth) => serveOperatorApi(app, () => answering, mayRead)
  const elsewhere = context.env['INVENTORY_ENABLED'] === 'false' || Boolean(context.env['INVENTORY_URL'])
  const inventory = elsewhere ? undefined : await startInventory({ ...context, also, reviews: reviewsOf(context) })
  const onAnswering = (it: Answering) => {
    answering = it
  }
  try {
    await runOperator({ ...context, onAnswering, ...(inventory ? { recorder: inventory.recorder } : {}) })
  } finally {
    await inventory?.close()
  }
})
part('viola', 'serve the Viola API (management cluster)', async context =>
  (await import('./viola/main.ts')).runViola(context),
)
part('controller', 'configure nodes by agent Jobs (Biz cluster)', async context =>
  (await import('./controller/main.ts')).runNodeController(context),
)
part('inventory', 'serve the inventory on its own', async context =>
  (await import('./inventory/main.ts')).runInventory({ ...context, reviews: reviewsOf(context) }),
)

program
  .command('agent')
  .description('configure the NICs of this node (runs in a Job)')
  .action(async () => {
    await import('./agent/entry.ts')
  })

const [, , asked = 'help'] = process.argv
const sandbox = ['sandbox', 'help', 'completion'].includes(asked) || asked.startsWith('-')
await runProgram(program, sandbox ? [(await import('./sandbox/main.ts')).sandboxCommand()] : [])

interface PartContext {
  env: ReturnType<typeof environment>
  log: Log
  signal: AbortSignal
}

/** Asks the Kubernetes of this part whose a token is. */
function reviewsOf({ env }: PartContext): (audience: string | undefined) => Promise<Reviews> {
  return async audience => (await import('./kube/token-review.ts')).openOwnReviews(env, audience)
}

/** A long-running part: it stops within a moment of SIGTERM or SIGINT; a second signal ends it at once. */
function part(name: string, description: string, run: (context: PartContext) => Promise<void>): void {
  program
    .command(name)
    .description(description)
    .action(async () => {
      emptyCoreDumps()
      const env = environment()
      const log = createLog({ part: name }, { level: (env['LOG_LEVEL'] as Level | undefined) ?? 'info' })
      const stop = new AbortController()
      for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => stop.abort())
      await run({ env, log, signal: stop.signal })
      process.exit(process.exitCode ?? 0)
    })
}
