/**
 * Control API of a running sandbox: HTTP on a Unix socket in its state directory, for its owner only.
 */
import { z } from 'zod'
import { messageOf } from '../../src/runtime/errors.ts'
import { createApp, HttpProblem } from '../../src/server/server.ts'
import type { Log } from '../../src/telemetry/log.ts'
import { isInUserNamespace } from '../lifecycle/rootless.ts'
import type { SandboxNode } from '../nodes/node.ts'
import type { Sandbox } from '../sandbox.ts'
import type { NodeLocation, PortView } from './client.ts'

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
const runBody = z.object({ script: z.string() })
const faultBody = z.object({ name: z.string(), node: z.string().optional(), forMs: z.int().min(1).optional() })

export async function serveControl(sandbox: Sandbox, log: Log): Promise<() => Promise<void>> {
  const app = createApp({ log })
  app.get('/status', () => sandbox.status())
  app.post('/attach', async ({ body }) => {
    const { macAddress, ...input } = parseBody(attachBody, body)
    return asBadRequest(async () =>
      (await sandbox.requestAttach({ ...input, ...(macAddress && { macAddress }) })).map(portView),
    )
  })
  app.post('/detach', async ({ body }) => {
    const input = parseBody(detachBody, body)
    return asBadRequest(async () => (await sandbox.detach(input)).map(portView))
  })
  app.post('/reboot', async ({ body }) => {
    const { node } = parseBody(rebootBody, body)
    nodeNamed(sandbox, node)
    try {
      await sandbox.reboot(node)
    } catch (error) {
      throw new HttpProblem(500, messageOf(error))
    }
    return {}
  })
  app.get('/faults', () => sandbox.faults.active())
  app.post('/faults', async ({ body }) => {
    const input = parseBody(faultBody, body)
    await asBadRequest(() => sandbox.faults.start(input))
    return sandbox.faults.active()
  })
  app.delete<{ Params: { name?: string } }>('/faults/:name?', async ({ params }) => {
    await asBadRequest(() => sandbox.faults.stop(params.name))
    return sandbox.faults.active()
  })
  app.get<{ Params: { name: string } }>('/nodes/:name', async ({ params }): Promise<NodeLocation> => {
    const { run, namespace, root } = nodeNamed(sandbox, params.name)
    if (run) return { virtualMachine: true }
    if (sandbox.host === 'simulated')
      throw new HttpProblem(400, 'simulated nodes have no shell; "multinic sandbox status" shows their NICs')
    return { namespace, root, ...(isInUserNamespace() && { userNamespacePid: process.pid }) }
  })
  app.post<{ Params: { name: string } }>('/nodes/:name/run', async ({ params, body }) => {
    const { script } = parseBody(runBody, body)
    return asBadRequest(async () => nodeNamed(sandbox, params.name).run?.(script))
  })
  await app.listen({ path: sandbox.state.socket })
  return () => app.close()
}

function nodeNamed({ nodes }: Sandbox, name: string): SandboxNode {
  const node = nodes.get(name)
  if (!node) throw new HttpProblem(404, `node ${name} not found; the nodes are ${[...nodes.keys()].join(', ')}`)
  return node
}

function portView(port: { id: string; macAddress: string; fixedIps: { ipAddress: string }[] }): PortView {
  return { id: port.id, macAddress: port.macAddress, address: port.fixedIps[0]?.ipAddress ?? '' }
}

function parseBody<S extends z.ZodType>(schema: S, body: unknown): z.output<S> {
  const parsed = schema.safeParse(body)
  if (!parsed.success) throw new HttpProblem(400, z.prettifyError(parsed.error))
  return parsed.data
}

/** Errors of an action come from its input: 400 instead of 500. */
async function asBadRequest<T>(act: () => T | Promise<T>): Promise<T> {
  try {
    return await act()
  } catch (error) {
    throw new HttpProblem(400, messageOf(error))
  }
}
