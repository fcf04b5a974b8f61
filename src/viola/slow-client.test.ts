/** Clients that do not finish what they have begun. */
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

/** What the server says to a client that says this and then nothing more, until it hangs up. */
function saidTo(words: string): Promise<string> {
  return new Promise((resolve, reject) => {
    let said = ''
    const socket = connect(port, '127.0.0.1', () => socket.write(words))
    socket.setEncoding('utf8').on('data', text => {
      said += text
    })
    socket.once('error', reject).once('close', () => resolve(said))
  })
}

const begun = `POST ${violaPath} HTTP/1.1\r\nhost: viola\r\nx-provider-id: p1\r\n`
const clients: Record<string, string> = {
  'a client that never ends its headers': begun,
  'a client that never ends its body': `${begun}content-length: 1000\r\n\r\n[{`,
}
for (const [name, words] of Object.entries(clients))
  test(`${name} is cut off`, { timeout: 10_000 }, async () => assert.match(await saidTo(words), /^HTTP\/1\.1 408 /))
