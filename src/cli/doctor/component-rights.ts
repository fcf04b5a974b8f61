/**
 * The Kubernetes permissions of each component, as YAML. Made by `make generate` from config/. Do not edit.
 */
export const componentRights = `
controller:
  cluster:
    - apiGroups:
        - ""
      resources:
        - nodes
      verbs:
        - list
        - watch
    - apiGroups:
        - networking.k8s.io
      resources:
        - servicecidrs
      verbs:
        - list
    - apiGroups:
        - ""
      resources:
        - namespaces
      resourceNames:
        - multinic-system
      verbs:
        - list
        - watch
  namespace:
    - apiGroups:
        - multinic.io
      resources:
        - multinicnodeconfigs
      verbs:
        - list
        - watch
        - patch
    - apiGroups:
        - multinic.io
      resources:
        - multinicnodeconfigs/status
      verbs:
        - patch
    - apiGroups:
        - multinic.io
      resources:
        - multinicbizconfigs
      verbs:
        - list
        - watch
        - patch
    - apiGroups:
        - multinic.io
      resources:
        - multinicbizconfigs/status
      verbs:
        - patch
    - apiGroups:
        - batch
      resources:
        - jobs
      verbs:
        - get
        - list
        - watch
        - create
        - delete
    - apiGroups:
        - ""
      resources:
        - pods
      verbs:
        - list
        - watch
    - apiGroups:
        - ""
      resources:
        - events
      verbs:
        - get
        - list
        - create
        - patch
    - apiGroups:
        - coordination.k8s.io
      resources:
        - leases
      verbs:
        - create
    - apiGroups:
        - coordination.k8s.io
      resources:
        - leases
      resourceNames:
        - multinic-controller
      verbs:
        - get
        - update
nodeCondition:
  cluster:
    - apiGroups:
        - ""
      resources:
        - nodes/status
      verbs:
        - patch
  namespace: []
nodeLabels:
  cluster:
    - apiGroups:
        - ""
      resources:
        - nodes
      verbs:
        - patch
  namespace: []
networkAttachments:
  cluster: []
  namespace:
    - apiGroups:
        - k8s.cni.cncf.io
      resources:
        - network-attachment-definitions
      verbs:
        - list
        - watch
        - create
        - patch
        - delete
operator:
  cluster:
    - apiGroups:
        - multinic.example.com
      resources:
        - openstackconfigs
      verbs:
        - get
        - list
        - watch
        - patch
    - apiGroups:
        - multinic.example.com
      resources:
        - openstackconfigs/status
      verbs:
        - patch
    - apiGroups:
        - ""
      resources:
        - events
      verbs:
        - get
        - create
        - patch
  namespace:
    - apiGroups:
        - ""
      resources:
        - configmaps
      verbs:
        - list
        - create
        - patch
        - delete
    - apiGroups:
        - coordination.k8s.io
      resources:
        - leases
      verbs:
        - create
    - apiGroups:
        - coordination.k8s.io
      resources:
        - leases
      resourceNames:
        - multinic-operator
      verbs:
        - get
        - update
operatorSecrets:
  cluster:
    - apiGroups:
        - ""
      resources:
        - secrets
      verbs:
        - list
        - watch
    - apiGroups:
        - ""
      resources:
        - secrets
      verbs:
        - create
        - patch
  namespace: []
viola:
  cluster:
    - apiGroups:
        - ""
      resources:
        - nodes
      verbs:
        - list
        - watch
  namespace:
    - apiGroups:
        - multinic.io
      resources:
        - multinicnodeconfigs
      verbs:
        - get
        - list
        - watch
        - create
        - patch
        - delete
`
