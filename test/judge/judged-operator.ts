/**
 * One judged side: the operator of a source tree in a process of its own, and around it the fakes of this tree: clouds, message
 * bus, API server, Viola and inventory. Must run with clock.ts preloaded.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createWriteStream, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { stringify } from 'yaml'
import { type Cloud, startCloud } from '../../sandbox/cloud/cloud.ts'
import { applyNotificationFaults } from '../../sandbox/cloud/notification-faults.ts'
import { onNotification } from '../../sandbox/cloud/notifications.ts'
import { type CloudState, createCloudState, services } from '../../sandbox/cloud/state.ts'
import { createAccountTokens } from '../../sandbox/kube/access/account-tokens.ts'
import { createCluster } from '../../sandbox/kube/cluster.ts'
import { createHandler } from '../../sandbox/kube/http/handler.ts'
import { sandboxNamespace } from '../../sandbox/lifecycle/components.ts'
import { installDefinitions, installEncryptKey } from '../../sandbox/lifecycle/install.ts'
import { startInventory } from '../../src/inventory/main.ts'
import { connectKube, type KubeClient } from '../../src/kube/client.ts'
import { loadKubeconfig } from '../../src/kube/config.ts'
import { namespaces } from '../../src/kube/resources.ts'
import { environment } from '../../src/runtime/env.ts'
import { silent } from '../../src/telemetry/log.ts'
import { runViola } from '../../src/viola/main.ts'
import { startHostileBus } from '../hostile/bus.ts'
import { adminCaller } from '../support/access.ts'
import { advance, isBusy, nextDue, type Pong, realTimeout, turn } from './clock.ts'
import { createRecorder, type Recorder } from './recorder.ts'

export const clusterIds = ['biz-1', 'biz-2'] as const
const otherNamespace = 'other-cluster'
export const clusterNamespaces = [sandboxNamespace, otherNamespace] as const
const clock = new URL('./clock.ts', import.meta.url).href

export interface JudgedOperator extends AsyncDisposable {
  cloudState: CloudState
  cloud: Cloud
  /** Of the judge: what it does is not recorded. */
  kube: KubeClient
  recorder: Recorder
  /** Breaks the sessions of the message bus. */
  breakBus(): void
  start(): Promise<void>
  stop(): Promise<void>
  kill(): void
  isRunning(): boolean
  /** Lets the time pass, in steps from one timer to the next. */
  pass(ms: number): Promise<void>
}

/** Rounds without activity until a side counts as quiet; more of them while a request has no answer. */
const [quietRounds, unansweredRounds, maxRounds] = [10, 300, 200_000]
const dead: Pong = { busy: false, next: Number.POSITIVE_INFINITY }

export async function startJudgedOperator(root: string, dir: string): Promise<JudgedOperator> {
  await using stack = new AsyncDisposableStack()
  const recorder = stack.use(createRecorder())
  const cloudState = createCloudState()
  Object.assign(cloudState.user, { id: 'a'.repeat(32), password: 'judge-password' })
  cloudState.provider.encryptKey = 'judge-key-012345'
  const bus = stack.use(await startHostileBus())
  const sessions = new Set<Parameters<Parameters<typeof bus.add>[1]>>()
  const upstream = new URL(bus.add('judge', (...session) => sessions.add(session)))
  const busProxy = await recorder.addBus(Number(upstream.port))
  const busUrl = `amqp://127.0.0.1:${busProxy.port}/judge`
  recorder.name(new URL(busUrl).host, 'bus')
  recorder.name(Buffer.from(busUrl).toString('base64'), 'bus')
  cloudState.bus = { urls: [busUrl], user: 'judge', password: 'judge-bus' }
  const intercept = applyNotificationFaults(() => cloudState.faults.notifications)
  onNotification(cloudState, notification =>
    intercept(notification, ({ body }) => {
      for (const [send, { deliver, header, body: frame }] of sessions)
        for (const one of [deliver, header(BigInt(body.length), 'application/json'), frame(body)]) send(one)
    }),
  )
  const cloud = await startCloud(cloudState, silent)
  stack.defer(() => cloud.close())
  const urls: Partial<Record<string, string>> = {}
  for (const service of services) urls[service] = await recorder.add(service, cloud.urls[service])

  const cluster = createCluster({ log: silent })
  stack.defer(() => cluster.close())
  const token = 'judge-token'
  const tokens = createAccountTokens(token, cluster.store, cluster.now)
  const api = createServer({ keepAliveTimeout: 600_000, requestTimeout: 0 })
  api.on('request', createHandler({ cluster, tokens, log: silent, podLogs: () => undefined }))
  await new Promise<void>(resolve => api.listen(0, '127.0.0.1', resolve))
  stack.defer(() => {
    api.closeAllConnections()
    api.close()
  })
  const direct = `http://127.0.0.1:${(api.address() as AddressInfo).port}`
  const ownKubeconfig = kubeconfigIn(dir, 'judge', direct, token)
  const kubeconfig = kubeconfigIn(dir, 'operator', await recorder.add('kubernetes', direct), token)
  const kube = connectKube(await loadKubeconfig(ownKubeconfig))
  stack.defer(() => kube.close())
  await installDefinitions(kube)
  await installEncryptKey(kube, cloudState)
  await kube.create(namespaces, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: otherNamespace } })

  const caller = await adminCaller(dir, 'a-token-for-the-judge')
  const routing = join(dir, 'routing.yaml')
  const targets = clusterIds.map((providerId, index) => ({
    ...{ providerId, namespace: clusterNamespaces[index], kubeconfig: ownKubeconfig },
  }))
  writeFileSync(routing, stringify({ strict: true, targets }), { mode: 0o600 })
  const stop = new AbortController()
  const listening = Promise.withResolvers<string>()
  const viola = runViola({
    env: {
      ...{ LISTEN_ADDR: '127.0.0.1:0', KUBECONFIG: ownKubeconfig, ROUTING_CONFIG: routing },
      VIOLA_TOKENS_FILE: caller.tokensFile,
    },
    ...{ log: silent, signal: stop.signal, onListen: listening.resolve },
  })
  viola.catch(listening.reject)
  stack.defer(() => stop.abort())
  const violaUrl = await recorder.add('viola', await listening.promise)
  const inventory = await startInventory({
    log: silent,
    env: {
      ...{ INVENTORY_ADDR: '127.0.0.1:0', INVENTORY_DB_PATH: join(dir, 'inventory.db') },
      ...{ INVENTORY_TOKENS_FILE: caller.tokensFile, INVENTORY_RATE_LIMIT: '0', KUBECONFIG: ownKubeconfig },
    },
  })
  stack.defer(() => inventory.close())
  const inventoryUrl = await recorder.add('inventory', inventory.url)

  const env = {
    ...{ KUBECONFIG: kubeconfig, OPERATOR_ADDR: '127.0.0.1:0', POD_NAMESPACE: sandboxNamespace },
    ...{ CONTRABASS_ENDPOINT: urls['contrabass'], VIOLA_ENDPOINT: violaUrl, VIOLA_TOKEN_FILE: caller.tokenFile },
    ...{ OPERATOR_TOKENS_FILE: caller.tokensFile, INVENTORY_URL: inventoryUrl, INVENTORY_TOKEN_FILE: caller.tokenFile },
    ...{
      NODE_COMPILE_CACHE: join(root, 'node_modules/.cache/compiled'),
      PATH: environment()['PATH'],
      LOG_LEVEL: 'debug',
    },
  }
  const log = createWriteStream(join(dir, 'operator.log'), { flags: 'a' })
  let child: ChildProcess | undefined

  async function start(): Promise<void> {
    sessions.clear()
    const program = ['--disable-warning=ExperimentalWarning', '--import', clock, join(root, 'src/main.ts'), 'operator']
    const started = spawn(process.execPath, program, {
      env: { ...env, JUDGE_NOW: String(Date.now()) },
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    })
    child = started
    started.setMaxListeners(0)
    const isListening = Promise.withResolvers<void>()
    createInterface({ input: started.stderr as NonNullable<typeof started.stderr> }).on('line', line => {
      log.write(`${line}\n`)
      if (line.includes('"listening"')) isListening.resolve()
    })
    started.once('exit', code => {
      if (child === started) child = undefined
      isListening.reject(new Error(`the operator ended with ${code}; its log is ${join(dir, 'operator.log')}`))
    })
    let isStarting = true
    const begun = isListening.promise.finally(() => {
      isStarting = false
    })
    begun.catch(() => {})
    while (isStarting) await settle()
    await begun
  }

  function ask(message: { to?: number }): Promise<Pong> {
    const asked = child
    if (!asked?.connected) return Promise.resolve(dead)
    return new Promise(resolve => {
      const ended = (pong: Pong) => {
        asked.off('message', onMessage).off('exit', onExit)
        resolve(pong)
      }
      const onMessage = (pong: unknown) => ended(pong as Pong)
      const onExit = () => ended(dead)
      asked.once('message', onMessage).once('exit', onExit)
      asked.send(message, error => error && ended(dead))
    })
  }

  /** Handles all requests. Returns when the next timer is due. */
  async function settle(): Promise<number> {
    let next = await quiet()
    while (recorder.handleNext()) next = await quiet()
    return next
  }

  /** Waits until both processes have nothing to do. */
  async function quiet(): Promise<number> {
    let [rounds, seen] = [0, -1]
    for (let round = 0; round < maxRounds; round++) {
      const pong = await ask({})
      await turn()
      const isQuiet = recorder.activity() === seen && !pong.busy && !isBusy()
      seen = recorder.activity()
      rounds = isQuiet ? rounds + 1 : 0
      const { slow, silent: hanging } = cloudState.faults
      const isWaiting = recorder.unanswered().some(service => ![...slow, ...hanging].includes(service as never))
      if (rounds >= (isWaiting ? unansweredRounds : quietRounds)) return Math.min(pong.next, nextDue())
    }
    throw new Error('the operator does not become quiet')
  }

  async function pass(ms: number): Promise<void> {
    const end = Date.now() + ms
    for (let next = await settle(); Date.now() < end; next = await settle()) {
      const to = Math.min(end, Math.max(next, Date.now() + 1))
      await Promise.all([advance(to), ask({ to })])
    }
  }

  const kill = () => void child?.kill('SIGKILL')
  stack.defer(kill)
  const owned = stack.move()
  return {
    ...{ cloudState, cloud, kube, recorder, start, pass },
    breakBus() {
      sessions.clear()
      busProxy.cut()
    },
    async stop() {
      const stopping = child
      if (!stopping) return
      stopping.kill('SIGTERM')
      for (let waits = 0; child === stopping; waits++) {
        if (waits > 1_000) throw new Error('the operator does not stop')
        await pass(100)
      }
    },
    kill() {
      kill()
      child = undefined
    },
    isRunning: () => child !== undefined,
    async [Symbol.asyncDispose]() {
      if (child) {
        const gone = once(child, 'exit')
        kill()
        await gone
      }
      log.end()
      await Promise.race([owned.disposeAsync(), new Promise(resolve => realTimeout(resolve, 2_000))])
      await turn()
    },
  }
}

function kubeconfigIn(dir: string, name: string, server: string, token: string): string {
  const path = join(dir, `${name}.kubeconfig`)
  const text = stringify({
    ...{ apiVersion: 'v1', kind: 'Config', 'current-context': name },
    clusters: [{ name, cluster: { server } }],
    users: [{ name, user: { token } }],
    contexts: [{ name, context: { cluster: name, user: name } }],
  })
  writeFileSync(path, text, { mode: 0o600 })
  return path
}
