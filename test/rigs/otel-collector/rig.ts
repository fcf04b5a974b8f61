/**
 * A real OpenTelemetry collector: it receives OTLP over HTTP, and writes each request as a line of OTLP/JSON.
 */
import { existsSync, readFileSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { request } from 'undici'
import { stringify } from 'yaml'
import { type ReceivedSpan, readOtlp } from '../../support/otlp-collector.ts'
import { type Daemon, run, startDaemon, waitForAnswer } from '../process.ts'

export interface RealCollector {
  url: string
  /** As the collector understood and exported them. */
  readonly spans: ReceivedSpan[]
  start(): Promise<void>
  kill(): Promise<void>
  close(): Promise<void>
}

/** The port is free: each test file has its own network namespace. */
const address = '127.0.0.1:4318'

export async function startRealCollector(): Promise<RealCollector> {
  const program = (await run(join(import.meta.dirname, 'build.sh'), [])).stdout.trim()
  const dir = await mkdtemp(join(tmpdir(), 'multinic-collector-'))
  const [config, file] = [join(dir, 'config.yaml'), join(dir, 'spans.jsonl')]
  await writeFile(
    config,
    stringify({
      receivers: { otlp: { protocols: { http: { endpoint: address } } } },
      exporters: { file: { path: file, append: true, flush_interval: '100ms' } },
      service: {
        pipelines: { traces: { receivers: ['otlp'], exporters: ['file'] } },
        telemetry: { metrics: { level: 'none' } },
      },
    }),
  )
  let daemon: Daemon | undefined

  async function start(): Promise<void> {
    const started = startDaemon(program, ['--config', config], { log: join(dir, 'log') })
    daemon = started
    await waitForAnswer('the collector', started, async () => {
      const headers = { 'content-type': 'application/json' }
      const { statusCode, body } = await request(`http://${address}/v1/traces`, { method: 'POST', headers, body: '{}' })
      await body.dump()
      if (statusCode !== 200) throw new Error(`status ${statusCode}`)
    })
  }

  await start()
  return {
    url: `http://${address}`,
    get spans() {
      const lines = existsSync(file) ? readFileSync(file, 'utf8').split('\n') : []
      // The last line may be incomplete.
      return lines.slice(0, -1).flatMap(line => readOtlp(JSON.parse(line, withoutEmptyParent)))
    },
    start,
    kill: async () => daemon?.stop('SIGKILL'),
    async close() {
      await daemon?.stop()
      await rm(dir, { recursive: true })
    },
  }
}

/** The collector writes an empty parent for the first span of a trace. */
function withoutEmptyParent(key: string, value: unknown): unknown {
  return key === 'parentSpanId' && value === '' ? undefined : value
}
