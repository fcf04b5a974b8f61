/** Clients that do not complete their request. */
import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { after, before, test } from 'node:test'
import { startTargetCluster, type TargetCluster } from '../../test/support/target-cluster.ts'
import { aViola, type Viola } from '../../test/support/viola.ts'
import { violaPath } from '../contract/viola.ts'
import { listen } from '../server/server.ts'
import { silent } from '../telemetry/log.ts'

let biz: TargetCluster
let viola: Viola
let port: number

before(async () => {
  biz = await startTargetCluster()
  const timeouts = { headersMs: 200, requestMs: 400 }
  viola = await aViola({ KUBECONFIG: biz.api.kubeconfig }, silent, { timeouts })
  port = Number(new URL(await listen(viola.app, '127.0.0.1:0')).port)
})
after(async () => {
  await viola.close()
  await biz.close()
})

/** The response to a client that sends this text and then nothing more. */
function responseTo(text: string): Promise<string> {
  return new Promise((resolve, reject) => {
    let response = ''
    const socket = connect(port, '127.0.0.1', () => socket.write(text))
    socket.setEncoding('utf8').on('data', chunk => {
      response += chunk
    })
    socket.once('error', reject).once('close', () => resolve(response))
  })
}

const incomplete = `POST ${violaPath} HTTP/1.1\r\nhost: viola\r\nx-provider-id: p1\r\n`
const clients: Record<string, string> = {
  'a client that does not complete its headers': incomplete,
  'a client that does not complete its body': `${incomplete}content-length: 1000\r\n\r\n[{`,
}
for (const [name, text] of Object.entries(clients))
  test(`${name} is disconnected`, { timeout: 10_000 }, async () =>
    assert.match(await responseTo(text), /^HTTP\/1\.1 408 /),
  )
