/**
 * Defaults and validation of Pods and of Pod templates in Jobs.
 */
import { equalJson } from '../../../src/contract/json.ts'
import { type FieldError, fieldError } from '../api-errors.ts'
import { type ApiObject, type Fields, isRecord, listOf, numberOf, recordOf, textOf, without } from '../json.ts'
import { isLabel, labelDetail } from '../objects/metadata.ts'

/** Defaults that clients rely on. */
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
  const volumes = listOf(spec['volumes']).map(volume => recordOf(volume)['name'])
  const names = new Set<unknown>()
  if (containers.length === 0) errors.push(fieldError.required(`${path}.containers`))
  containers.forEach((container, index) => {
    const at = `${path}.containers[${index}]`
    const { name, image, volumeMounts } = recordOf(container)
    if (!name) errors.push(fieldError.required(`${at}.name`))
    else if (!isLabel(textOf(name))) errors.push(fieldError.invalid(`${at}.name`, name, labelDetail))
    else if (names.has(name)) errors.push(fieldError.duplicate(`${at}.name`, name))
    names.add(name)
    listOf(volumeMounts).forEach((mount, number) => {
      const { name: volume } = recordOf(mount)
      if (!volumes.includes(volume)) errors.push(fieldError.notFound(`${at}.volumeMounts[${number}].name`, volume))
    })
    if (!image && path !== 'spec') errors.push(fieldError.required(`${at}.image`))
  })
  return errors
}

const mutableFields = ['activeDeadlineSeconds', 'tolerations', 'terminationGracePeriodSeconds']
const immutableDetail =
  'pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)'

/** Only few fields of an existing Pod are mutable. */
export function podChangeErrors(pod: ApiObject, old: ApiObject): FieldError[] {
  const fixed = (object: ApiObject) => {
    const spec = without(recordOf(object['spec']), ...mutableFields)
    const named = (list: unknown) => listOf(list).map(one => without(recordOf(one), 'image'))
    const { containers, initContainers } = spec
    return { ...spec, containers: named(containers), initContainers: named(initContainers) }
  }
  return equalJson(fixed(pod), fixed(old)) ? [] : [fieldError.forbidden('spec', immutableDetail)]
}

export function isFinished(pod: ApiObject): boolean {
  const phase = recordOf(pod['status'])['phase']
  return phase === 'Succeeded' || phase === 'Failed'
}

/** A scheduled Pod is stopped by its kubelet; an unscheduled or finished one is removed immediately. */
export function podGrace(pod: ApiObject, requested: number | undefined): number {
  const spec = recordOf(pod['spec'])
  if (!spec['nodeName'] || isFinished(pod)) return 0
  return requested ?? numberOf(spec['terminationGracePeriodSeconds'], 30)
}

/** BestEffort, Burstable or Guaranteed, from the requests and limits of all containers. */
export function qosClass(spec: Fields): string {
  const resources = listOf(spec['containers']).map(container => recordOf(recordOf(container)['resources']))
  const amounts = resources.map(({ requests, limits }) => [recordOf(requests), recordOf(limits)] as const)
  if (amounts.every(([requests, limits]) => Object.keys({ ...requests, ...limits }).length === 0)) return 'BestEffort'
  const guaranteed = amounts.every(([requests, limits]) =>
    ['cpu', 'memory'].every(name => limits[name] && (requests[name] ?? limits[name]) === limits[name]),
  )
  return guaranteed ? 'Guaranteed' : 'Burstable'
}
