/**
 * Faults of the API server: closes every connection, or answers every second update with a conflict.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { ApiError } from '../api-errors.ts'

export interface KubeFaults {
  unreachable: boolean
  conflicts: boolean
}

type Handle = (request: IncomingMessage, response: ServerResponse) => void

export function withFaults(faults: KubeFaults, handle: Handle): Handle {
  let updates = 0
  return (request, response) => {
    if (faults.unreachable) request.socket.destroy()
    else if (faults.conflicts && isUpdate(request) && updates++ % 2 === 0) conflict(request, response)
    else handle(request, response)
  }
}

/** Updates only: creating an object cannot conflict. */
function isUpdate({ method = '' }: IncomingMessage): boolean {
  return ['PUT', 'PATCH'].includes(method)
}

function conflict(request: IncomingMessage, response: ServerResponse): void {
  const message =
    'Operation cannot be fulfilled: the object has been modified; please apply your changes to the latest version and try again'
  const { status } = new ApiError(409, 'Conflict', message)
  request.resume()
  response.writeHead(409, { 'content-type': 'application/json' }).end(JSON.stringify(status))
}
