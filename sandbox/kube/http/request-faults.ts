/**
 * Faults of the API server: closes every connection, answers every second update with a conflict, or refuses writes.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { ApiError } from '../api-errors.ts'

export interface KubeFaults {
  unreachable: boolean
  conflicts: boolean
  /** Resources (by plural name) and subresources that the caller may only read. */
  readOnly: readonly string[]
}

type Handle = (request: IncomingMessage, response: ServerResponse) => void

export function withFaults(faults: KubeFaults, handle: Handle): Handle {
  let updates = 0
  return (request, response) => {
    if (faults.unreachable) request.socket.destroy()
    else if (faults.readOnly.some(name => isWriteOf(name, request))) forbidden(request, response)
    else if (faults.conflicts && isUpdate(request) && updates++ % 2 === 0) conflict(request, response)
    else handle(request, response)
  }
}

/** Updates only: creating an object cannot conflict. */
function isUpdate({ method = '' }: IncomingMessage): boolean {
  return ['PUT', 'PATCH'].includes(method)
}

function isWriteOf(name: string, { method = '', url = '' }: IncomingMessage): boolean {
  return method !== 'GET' && new URL(url, 'http://localhost').pathname.split('/').includes(name)
}

function conflict(request: IncomingMessage, response: ServerResponse): void {
  const message =
    'Operation cannot be fulfilled: the object has been modified; please apply your changes to the latest version and try again'
  refuse(new ApiError(409, 'Conflict', message), request, response)
}

function forbidden(request: IncomingMessage, response: ServerResponse): void {
  refuse(new ApiError(403, 'Forbidden', 'the caller has no right to write this resource'), request, response)
}

function refuse({ status }: ApiError, request: IncomingMessage, response: ServerResponse): void {
  request.resume()
  response.writeHead(status.code ?? 500, { 'content-type': 'application/json' }).end(JSON.stringify(status))
}
