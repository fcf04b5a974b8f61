/**
 * The types of the conditions that the components write, by kind. Free of dependencies.
 *
 * Each is an entry of the list of surfaces (test/repo/surfaces.ts), so that a new one says what it is compared with.
 */
export const conditionTypes = {
  MultiNicNodeConfig: ['Ready', 'Progressing', 'Degraded', 'Warning'],
  MultiNicBizConfig: ['InProgress', 'Applied', 'Ready', 'Overridden', 'ReadOnly'],
  OpenstackConfig: [
    'Ready',
    'CloudReady',
    'Degraded',
    'NodesReady',
    'RemovalHeld',
    'RemovalPending',
    'Renumbering',
    'EventsConnected',
  ],
  Node: ['MultiNicReady'],
} as const

export type ConditionType<K extends keyof typeof conditionTypes> = (typeof conditionTypes)[K][number]
