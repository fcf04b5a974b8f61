/**
 * What an API server can be told to do wrong: break every connection, or answer every second change with a conflict.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { ApiFailure } from '../failures.ts'

export interface KubeFaults {
  away: boolean
  conflicts: boolean
}

type Handle = (request: IncomingMessage, response: ServerResponse) => void

export function withFaults(faults: KubeFaults, handle: Handle): Handle {
  let changes = 0
  return (request, response) => {
    if (faults.away) request.socket.destroy()
    else if (faults.conflicts && isChange(request) && changes++ % 2 === 0) conflict(request, response)
    else handle(request, response)
  }
}

/** Of an object that is there: a new one meets nobody. */
function isChange({ method = '' }: IncomingMessage): boolean {
  return ['PUT', 'PATCH'].includes(method)
}

function conflict(request: IncomingMessage, response: ServerResponse): void {
  const message =
    'Operation cannot be fulfilled: the object has been modified; please apply your changes to the latest version and try again'
  const { status } = new ApiFailure(409, 'Conflict', message)
  request.resume()
  response.writeHead(409, { 'content-type': 'application/json' }).end(JSON.stringify(status))
}
