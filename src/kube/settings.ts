/**
 * Settings that Kubernetes gives to every Pod.
 */
import { type Settings, text } from '../contract/setting.ts'

const setByKubernetes = {
  read: text,
  about: { en: 'Set by Kubernetes in every Pod.', ko: 'Kubernetes가 모든 Pod에 설정합니다.' },
  helm: null,
}

export const podSettings = {
  KUBERNETES_SERVICE_HOST: setByKubernetes,
  KUBERNETES_SERVICE_PORT: setByKubernetes,
} satisfies Settings
