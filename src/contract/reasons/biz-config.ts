/**
 * Reasons in the conditions of a MultiNicBizConfig (legacy), and of a node in it.
 */
import { nodeReasons } from './node.ts'
import { nothingToDo, type Reasons } from './reason.ts'
import { syncReasons } from './sync.ts'

export const bizConfigReasons = {
  AllNodesConfigured: {
    class: 'normal',
    en: ['All nodes of the MultiNicBizConfig are configured as requested.', nothingToDo.en],
    ko: ['MultiNicBizConfig의 모든 노드가 요청한 대로 구성되었습니다.', nothingToDo.ko],
  },
  AllNodesProcessed: {
    class: 'normal',
    en: ['The controller has processed every node of the MultiNicBizConfig.', nothingToDo.en],
    ko: ['controller가 MultiNicBizConfig의 모든 노드를 처리했습니다.', nothingToDo.ko],
  },
  NoNodes: {
    class: 'normal',
    en: ['The MultiNicBizConfig names no node.', nothingToDo.en],
    ko: ['MultiNicBizConfig에 노드가 없습니다.', nothingToDo.ko],
  },
  NodesFailed: syncReasons.NodesFailed,
  NotOverridden: {
    class: 'normal',
    en: ['No node of the MultiNicBizConfig has its own MultiNicNodeConfig.', nothingToDo.en],
    ko: ['MultiNicBizConfig의 노드 중 별도의 MultiNicNodeConfig가 있는 노드가 없습니다.', nothingToDo.ko],
  },
  OwnedByNodeConfig: nodeReasons.OwnedByNodeConfig,
  ProcessingNodes: {
    class: 'progress',
    en: ['The controller is configuring nodes, or nodes are waiting for it.', 'Wait. nodeStatuses shows each node.'],
    ko: ['노드를 구성하는 중이거나 대기 중인 노드가 있습니다.', '기다리십시오. 노드별 상태는 nodeStatuses에 있습니다.'],
  },
  ReadOnly: {
    class: 'normal',
    en: [
      'The MultiNicBizConfig is read-only since its migration. Changes to it are rejected or ignored.',
      'Change the MultiNicNodeConfigs instead, or roll back the migration.',
    ],
    ko: [
      '마이그레이션 이후 MultiNicBizConfig는 읽기 전용입니다. 변경은 거부되거나 무시됩니다.',
      'MultiNicNodeConfig를 변경하거나 마이그레이션을 롤백하십시오.',
    ],
  },
  Writable: {
    class: 'normal',
    en: ['The controller applies changes to the MultiNicBizConfig.', nothingToDo.en],
    ko: ['MultiNicBizConfig의 변경 사항이 적용됩니다.', nothingToDo.ko],
  },
} as const satisfies Reasons
