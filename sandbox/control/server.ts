/**
 * How a running sandbox is commanded: a small HTTP API on a socket in its directory, for its owner only.
 */
import { z } from 'zod'
import { messageOf } from '../../src/runtime/errors.ts'
import { createApp, HttpProblem } from '../../src/server/server.ts'
import type { Log } from '../../src/telemetry/log.ts'
import { isUsersOwn } from '../lifecycle/rootless.ts'
import type { Sandbox } from '../sandbox.ts'
import type { NodePlace, PortView } from './client.ts'

const attachBody = z.object({
  vm: z.string(),
  subnet: z.string(),
  count: z.int().min(1).max(50).default(1),
  macAddress: z.string().optional(),
})
const detachBody = z.union([
  z.object({ vm: z.string(), port: z.string() }),
  z.object({ vm: z.string(), name: z.string() }),
  z.object({ vm: z.string(), all: z.literal(true) }),
])
const rebootBody = z.object({ node: z.string() })
const faultBody = z.object({ word: z.string(), node: z.string().optional(), forMs: z.int().min(1).optional() })

export async function serveControl(sandbox: Sandbox, log: Log): Promise<() => Promise<void>> {
  const app = createApp({ log })
  app.get('/status', () => sandbox.status())
  app.post('/attach', async ({ body }) => {
    const { macAddress, ...input } = read(attachBody, body)
    return asked(async () => (await sandbox.askAttach({ ...input, ...(macAddress && { macAddress }) })).map(portView))
  })
  app.post('/detach', async ({ body }) => {
    const input = read(detachBody, body)
    return asked(async () => (await sandbox.detach(input)).map(portView))
  })
  app.post('/reboot', async ({ body }) => {
    const { node } = read(rebootBody, body)
    await asked(() => sandbox.reboot(node))
    return {}
  })
  app.get('/faults', () => sandbox.faults.active())
  app.post('/faults', async ({ body }) => {
    const input = read(faultBody, body)
    await asked(() => sandbox.faults.on(input))
    return sandbox.faults.active()
  })
  app.delete<{ Params: { word?: string } }>('/faults/:word?', async ({ params }) => {
    await asked(() => sandbox.faults.off(params.word))
    return sandbox.faults.active()
  })
  app.get<{ Params: { name: string } }>('/nodes/:name', async ({ params }) => {
    const node = sandbox.nodes.get(params.name)
    if (!node)
      throw new HttpProblem(404, `there is no node ${params.name}; there are ${[...sandbox.nodes.keys()].join(', ')}`)
    if (sandbox.simulated)
      throw new HttpProblem(
        400,
        'nodes are simulated here: there is no shell on them; "sandbox status" shows their NICs',
      )
    return {
      namespace: node.namespace,
      root: node.root,
      ...(isUsersOwn() && { holder: process.pid }),
    } satisfies NodePlace
  })
  await app.listen({ path: sandbox.state.socket })
  return () => app.close()
}

function portView(port: { id: string; macAddress: string; fixedIps: { ipAddress: string }[] }): PortView {
  return { id: port.id, macAddress: port.macAddress, address: port.fixedIps[0]?.ipAddress ?? '' }
}

function read<S extends z.ZodType>(schema: S, body: unknown): z.output<S> {
  const parsed = schema.safeParse(body)
  if (!parsed.success) throw new HttpProblem(400, z.prettifyError(parsed.error))
  return parsed.data
}

/** What a person asked for and cannot be done is their mistake, not the sandbox's. */
async function asked<T>(act: () => T | Promise<T>): Promise<T> {
  try {
    return await act()
  } catch (error) {
    throw new HttpProblem(400, messageOf(error))
  }
}
