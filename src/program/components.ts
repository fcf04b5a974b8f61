/**
 * The commands that run the components. It wires the components, which never import each other, and nothing else.
 */
import type { Command } from 'commander'
import type { FastifyInstance } from 'fastify'
import { messagesIn } from '../cli/messages/messages.ts'
import { programLanguage } from '../cli/program.ts'
import type { OperatorApiDeps } from '../operator/app.ts'
import { emptyCoreDumps } from '../runtime/core-dump.ts'
import { environment } from '../runtime/env.ts'
import type { Access } from '../server/access.ts'
import { createLog, type Level, type Log } from '../telemetry/log.ts'

export function addComponentCommands(program: Command): void {
  const { help } = messagesIn(programLanguage())
  component(program, 'operator', help.operator, async context => {
    const [{ runOperator }, { serveOperatorApi }, { startInventory }, { isInventoryEnabled }] = await Promise.all([
      import('../operator/main.ts'),
      import('../operator/app.ts'),
      import('../inventory/main.ts'),
      import('../inventory/config.ts'),
    ])
    let answering: OperatorApiDeps | undefined
    const addRoutes = (app: FastifyInstance, access: Access) => serveOperatorApi(app, () => answering, access)
    const elsewhere = !isInventoryEnabled(context.env) || Boolean(context.env['INVENTORY_URL'])
    const inventory = elsewhere ? undefined : await startInventory({ ...context, addRoutes })
    const onApi = (it: OperatorApiDeps) => {
      answering = it
    }
    try {
      await runOperator({ ...context, onApi, ...(inventory ? { recorder: inventory.recorder } : {}) })
    } finally {
      await inventory?.close()
    }
  })
  component(program, 'viola', help.viola, async context => (await import('../viola/main.ts')).runViola(context))
  component(program, 'controller', help.controller, async context =>
    (await import('../controller/main.ts')).runNodeController(context),
  )
  component(program, 'inventory', help.inventoryServer, async context =>
    (await import('../inventory/main.ts')).runInventory(context),
  )

  program
    .command('agent')
    .description(help.agent)
    .action(async () => {
      await import('../agent/entry.ts')
    })
}

interface ComponentContext {
  env: ReturnType<typeof environment>
  log: Log
  signal: AbortSignal
}

/** A long-running component: it stops within a moment of SIGTERM or SIGINT; a second signal ends it at once. */
function component(
  program: Command,
  name: string,
  description: string,
  run: (context: ComponentContext) => Promise<void>,
): void {
  program
    .command(name)
    .description(description)
    .action(async () => {
      emptyCoreDumps()
      const env = environment()
      const log = createLog({ component: name }, { level: (env['LOG_LEVEL'] as Level | undefined) ?? 'info' })
      const stop = new AbortController()
      for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => stop.abort())
      await run({ env, log, signal: stop.signal })
      process.exit(process.exitCode ?? 0)
    })
}
