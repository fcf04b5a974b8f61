/** The name in the certificate of a server that `ca` trusts. */
import { connect } from 'node:tls'

export function servedName(url: string, ca: Buffer): Promise<unknown> {
  const { port, hostname: host } = new URL(url)
  return new Promise((resolve, reject) => {
    const socket = connect({ host, port: Number(port), ca }, () => {
      resolve(socket.getPeerCertificate().subject.CN)
      socket.end()
    }).once('error', reject)
  })
}
