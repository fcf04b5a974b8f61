/**
 * What the API server knows of Pods and of the Pod templates in Jobs: defaults and the checks that matter here.
 */
import { type FieldError, fieldError } from './failures.ts'
import { type ApiObject, type Fields, isRecord, listOf, numberOf, recordOf, textOf } from './json.ts'

/** The defaults that readers of a Pod rely on. */
export function defaultPodSpec(spec: Fields): void {
  spec['restartPolicy'] ??= 'Always'
  spec['terminationGracePeriodSeconds'] ??= 30
  spec['dnsPolicy'] ??= 'ClusterFirst'
  spec['schedulerName'] ??= 'default-scheduler'
  spec['securityContext'] ??= {}
  for (const container of [...listOf(spec['containers']), ...listOf(spec['initContainers'])]) {
    if (!isRecord(container)) continue
    container['resources'] ??= {}
    container['terminationMessagePath'] ??= '/dev/termination-log'
    container['terminationMessagePolicy'] ??= 'File'
    container['imagePullPolicy'] ??= pullPolicy(textOf(container['image']))
  }
}

function pullPolicy(image: string): string {
  const tag = /:([^/:@]+)$/.exec(image)?.[1]
  return !image.includes('@') && (tag === undefined || tag === 'latest') ? 'Always' : 'IfNotPresent'
}

export function podSpecErrors(spec: Fields, path: string): FieldError[] {
  const errors: FieldError[] = []
  const containers = listOf(spec['containers'])
  if (containers.length === 0) errors.push(fieldError.required(`${path}.containers`))
  containers.forEach((container, index) => {
    const at = `${path}.containers[${index}]`
    const { name, image } = recordOf(container)
    if (!name) errors.push(fieldError.required(`${at}.name`))
    if (!image && path !== 'spec') errors.push(fieldError.required(`${at}.image`))
  })
  return errors
}

export function isFinished(pod: ApiObject): boolean {
  const phase = recordOf(pod['status'])['phase']
  return phase === 'Succeeded' || phase === 'Failed'
}

/** A Pod that runs somewhere is ended by its kubelet; one that does not is simply removed. */
export function podGrace(pod: ApiObject, asked: number | undefined): number {
  const spec = recordOf(pod['spec'])
  if (!spec['nodeName'] || isFinished(pod)) return 0
  return asked ?? numberOf(spec['terminationGracePeriodSeconds'], 30)
}

/** BestEffort, Burstable or Guaranteed, by the requests and limits of all containers. */
export function qosClass(spec: Fields): string {
  const resources = listOf(spec['containers']).map(container => recordOf(recordOf(container)['resources']))
  const amounts = resources.map(({ requests, limits }) => [recordOf(requests), recordOf(limits)] as const)
  if (amounts.every(([requests, limits]) => Object.keys({ ...requests, ...limits }).length === 0)) return 'BestEffort'
  const guaranteed = amounts.every(([requests, limits]) =>
    ['cpu', 'memory'].every(name => limits[name] && (requests[name] ?? limits[name]) === limits[name]),
  )
  return guaranteed ? 'Guaranteed' : 'Burstable'
}
