/**
 * The fields of the built-in types as a table for types.ts.
 *
 * `#` starts a package; each line defines a type with its fields as `name:type`. `*` marks a required field, `=` a default.
 * `[]` is an atomic list, `[key+key]` a map list, `[?key]` a list with a key for strategic merge patches only, `[=]` a set, `{}`
 * a map. `(atomic)` marks an atomic map type. Rare types are `any`.
 */
export const typesTable = `
# io.k8s.api.batch.v1
Job: spec:JobSpec status:JobStatus
JobCondition: lastProbeTime:time lastTransitionTime:time message:string reason:string status*:string type*:string
JobSpec: activeDeadlineSeconds:int backoffLimit:int backoffLimitPerIndex:int completionMode:string completions:int
  managedBy:string manualSelector:bool maxFailedIndexes:int parallelism:int podFailurePolicy:any
  podReplacementPolicy:string selector:LabelSelector successPolicy:any suspend:bool template*:PodTemplateSpec
  ttlSecondsAfterFinished:int
JobStatus: active:int completedIndexes:string completionTime:time conditions:JobCondition[?type] failed:int
  failedIndexes:string ready:int startTime:time succeeded:int terminating:int uncountedTerminatedPods:any
# io.k8s.api.coordination.v1
Lease: spec:LeaseSpec
LeaseSpec: acquireTime:time holderIdentity:string leaseDurationSeconds:int leaseTransitions:int preferredHolder:string
  renewTime:time strategy:string
# io.k8s.api.core.v1
Capabilities: add:string[] drop:string[]
ConfigMap: binaryData:bytes{} data:string{} immutable:bool
ConfigMapEnvSource: name:string optional:bool
ConfigMapKeySelector (atomic): key*:string name:string optional:bool
ConfigMapProjection: items:KeyToPath[] name:string optional:bool
ConfigMapVolumeSource: defaultMode:int items:KeyToPath[] name:string optional:bool
Container: args:string[] command:string[] env:EnvVar[name] envFrom:EnvFromSource[] image:string imagePullPolicy:string
  lifecycle:any livenessProbe:any name*:string ports:ContainerPort[containerPort+protocol]
  readinessProbe:any resizePolicy:any[] resources:ResourceRequirements restartPolicy:string restartPolicyRules:any[]
  securityContext:SecurityContext startupProbe:any stdin:bool stdinOnce:bool terminationMessagePath:string
  terminationMessagePolicy:string tty:bool volumeDevices:any[devicePath] volumeMounts:VolumeMount[mountPath]
  workingDir:string
ContainerPort: containerPort*:int hostIP:string hostPort:int name:string protocol:string=TCP
ContainerState: running:ContainerStateRunning terminated:ContainerStateTerminated waiting:ContainerStateWaiting
ContainerStateRunning: startedAt:time
ContainerStateTerminated: containerID:string exitCode*:int finishedAt:time message:string reason:string signal:int
  startedAt:time
ContainerStateWaiting: message:string reason:string
ContainerStatus: allocatedResources:quantity{} allocatedResourcesStatus:any[name] containerID:string image*:string
  imageID*:string lastState:ContainerState name*:string ready*:bool resources:ResourceRequirements restartCount*:int
  started:bool state:ContainerState stopSignal:string user:any volumeMounts:any[mountPath]
EmptyDirVolumeSource: medium:string sizeLimit:quantity
EnvFromSource: configMapRef:ConfigMapEnvSource prefix:string secretRef:SecretEnvSource
EnvVar: name*:string value:string valueFrom:EnvVarSource
EnvVarSource: configMapKeyRef:ConfigMapKeySelector fieldRef:ObjectFieldSelector fileKeyRef:any
  resourceFieldRef:ResourceFieldSelector secretKeyRef:SecretKeySelector
Event: action:string count:int eventTime:time firstTimestamp:time involvedObject*:ObjectReference lastTimestamp:time
  message:string reason:string related:ObjectReference reportingComponent:string reportingInstance:string
  series:EventSeries source:EventSource type:string
EventSeries: count:int lastObservedTime:time
EventSource: component:string host:string
HostIP: ip*:string
HostPathVolumeSource: path*:string type:string
KeyToPath: key*:string mode:int path*:string
LocalObjectReference (atomic): name:string
Namespace: spec:NamespaceSpec status:NamespaceStatus
NamespaceCondition: lastTransitionTime:time message:string reason:string status*:string type*:string
NamespaceSpec: finalizers:string[]
NamespaceStatus: conditions:NamespaceCondition[type] phase:string
Node: spec:NodeSpec status:NodeStatus
NodeAddress: address*:string type*:string
NodeCondition: lastHeartbeatTime:time lastTransitionTime:time message:string reason:string status*:string type*:string
NodeSpec: configSource:any externalID:string podCIDR:string podCIDRs:string[=] providerID:string taints:Taint[]
  unschedulable:bool
NodeStatus: addresses:NodeAddress[type] allocatable:quantity{} capacity:quantity{} conditions:NodeCondition[type]
  config:any daemonEndpoints:any declaredFeatures:string[] features:any images:any[] nodeInfo:NodeSystemInfo
  phase:string runtimeHandlers:any[] volumesAttached:any[] volumesInUse:string[]
NodeSystemInfo: architecture*:string bootID*:string containerRuntimeVersion*:string kernelVersion*:string
  kubeProxyVersion*:string kubeletVersion*:string machineID*:string operatingSystem*:string osImage*:string swap:any
  systemUUID*:string
ObjectFieldSelector (atomic): apiVersion:string fieldPath*:string
ObjectReference (atomic): apiVersion:string fieldPath:string kind:string name:string namespace:string
  resourceVersion:string uid:string
Pod: spec:PodSpec status:PodStatus
PodCondition: lastProbeTime:time lastTransitionTime:time message:string observedGeneration:int reason:string
  status*:string type*:string
PodIP: ip*:string
PodSecurityContext: appArmorProfile:any fsGroup:int fsGroupChangePolicy:string runAsGroup:int runAsNonRoot:bool
  runAsUser:int seLinuxChangePolicy:string seLinuxOptions:any seccompProfile:SeccompProfile
  supplementalGroups:int[] supplementalGroupsPolicy:string sysctls:Sysctl[] windowsOptions:any
PodSpec: activeDeadlineSeconds:int affinity:any automountServiceAccountToken:bool containers*:Container[name]
  dnsConfig:any dnsPolicy:string enableServiceLinks:bool ephemeralContainers:Container[name] hostAliases:any[ip]
  hostIPC:bool hostNetwork:bool hostPID:bool hostUsers:bool hostname:string hostnameOverride:string
  imagePullSecrets:LocalObjectReference[name] initContainers:Container[name] nodeName:string nodeSelector:string{}
  os:any overhead:quantity{} preemptionPolicy:string priority:int priorityClassName:string
  readinessGates:any[] resourceClaims:any[name] resources:ResourceRequirements restartPolicy:string
  runtimeClassName:string schedulerName:string schedulingGates:any[name] schedulingGroup:any
  securityContext:PodSecurityContext serviceAccount:string serviceAccountName:string setHostnameAsFQDN:bool
  shareProcessNamespace:bool subdomain:string terminationGracePeriodSeconds:int tolerations:Toleration[]
  topologySpreadConstraints:any[topologyKey+whenUnsatisfiable] volumes:Volume[name]
PodStatus: allocatedResources:quantity{} conditions:PodCondition[type] containerStatuses:ContainerStatus[]
  ephemeralContainerStatuses:ContainerStatus[] extendedResourceClaimStatus:any hostIP:string hostIPs:HostIP[?ip]
  initContainerStatuses:ContainerStatus[] message:string nodeAllocatableResourceClaimStatuses:any[]
  nominatedNodeName:string observedGeneration:int phase:string podIP:string podIPs:PodIP[ip] qosClass:string
  reason:string resize:string resourceClaimStatuses:any[name] resources:ResourceRequirements startTime:time
PodTemplateSpec: metadata:ObjectMeta spec:PodSpec
ProjectedVolumeSource: defaultMode:int sources:VolumeProjection[]
ResourceFieldSelector (atomic): containerName:string divisor:quantity resource*:string
ResourceRequirements: claims:any[name] limits:quantity{} requests:quantity{}
SeccompProfile: localhostProfile:string type*:string
Secret: data:bytes{} immutable:bool stringData:string{} type:string
SecretEnvSource: name:string optional:bool
SecretKeySelector (atomic): key*:string name:string optional:bool
SecretProjection: items:KeyToPath[] name:string optional:bool
SecretVolumeSource: defaultMode:int items:KeyToPath[] optional:bool secretName:string
SecurityContext: allowPrivilegeEscalation:bool appArmorProfile:any capabilities:Capabilities privileged:bool
  procMount:string readOnlyRootFilesystem:bool runAsGroup:int runAsNonRoot:bool runAsUser:int
  seLinuxOptions:any seccompProfile:SeccompProfile windowsOptions:any
Service: spec:any status:any
ServiceAccount: automountServiceAccountToken:bool imagePullSecrets:LocalObjectReference[]
  secrets:ObjectReference[name]
ServiceAccountTokenProjection: audience:string expirationSeconds:int path*:string
Sysctl: name*:string value*:string
Taint: effect*:string key*:string timeAdded:time value:string
Toleration: effect:string key:string operator:string tolerationSeconds:int value:string
Volume: awsElasticBlockStore:any azureDisk:any azureFile:any cephfs:any cinder:any configMap:ConfigMapVolumeSource
  csi:any downwardAPI:any emptyDir:EmptyDirVolumeSource ephemeral:any fc:any flexVolume:any
  flocker:any gcePersistentDisk:any gitRepo:any glusterfs:any hostPath:HostPathVolumeSource image:any iscsi:any
  name*:string nfs:any persistentVolumeClaim:any photonPersistentDisk:any portworxVolume:any
  projected:ProjectedVolumeSource quobyte:any rbd:any scaleIO:any secret:SecretVolumeSource storageos:any
  vsphereVolume:any
VolumeMount: mountPath*:string mountPropagation:string name*:string readOnly:bool recursiveReadOnly:string
  subPath:string subPathExpr:string
VolumeProjection: clusterTrustBundle:any configMap:ConfigMapProjection downwardAPI:any
  podCertificate:any secret:SecretProjection serviceAccountToken:ServiceAccountTokenProjection
# io.k8s.api.rbac.v1
ClusterRole: aggregationRule:any rules:PolicyRule[]
PolicyRule: apiGroups:string[] nonResourceURLs:string[] resourceNames:string[] resources:string[] verbs*:string[]
Role: rules:PolicyRule[]
RoleBinding: roleRef*:RoleRef subjects:Subject[]
RoleRef (atomic): apiGroup:string kind*:string name*:string
Subject (atomic): apiGroup:string kind*:string name*:string namespace:string
# io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1
CustomResourceColumnDefinition: description:string format:string jsonPath*:string name*:string priority:int
  type*:string
CustomResourceConversion: strategy*:string webhook:any
CustomResourceDefinition: spec*:CustomResourceDefinitionSpec status:CustomResourceDefinitionStatus
CustomResourceDefinitionCondition: lastTransitionTime:time message:string observedGeneration:int reason:string
  status*:string type*:string
CustomResourceDefinitionNames: categories:string[] kind*:string listKind:string plural*:string shortNames:string[]
  singular:string
CustomResourceDefinitionSpec: conversion:CustomResourceConversion group*:string names*:CustomResourceDefinitionNames
  preserveUnknownFields:bool scope*:string versions*:CustomResourceDefinitionVersion[]
CustomResourceDefinitionStatus: acceptedNames:CustomResourceDefinitionNames
  conditions:CustomResourceDefinitionCondition[type] observedGeneration:int storedVersions:string[]
CustomResourceDefinitionVersion: additionalPrinterColumns:CustomResourceColumnDefinition[] deprecated:bool
  deprecationWarning:string name*:string schema:CustomResourceValidation selectableFields:SelectableField[]
  served*:bool storage*:bool subresources:CustomResourceSubresources
CustomResourceSubresources: scale:any status:any
CustomResourceValidation: openAPIV3Schema:any
SelectableField: jsonPath*:string
# io.k8s.apimachinery.pkg.apis.meta.v1
LabelSelector (atomic): matchExpressions:LabelSelectorRequirement[] matchLabels:string{}
LabelSelectorRequirement: key*:string operator*:string values:string[]
ManagedFieldsEntry: apiVersion:string fieldsType:string fieldsV1:any manager:string operation:string
  subresource:string time:time
ObjectMeta: annotations:string{} creationTimestamp:time deletionGracePeriodSeconds:int deletionTimestamp:time
  finalizers:string[=] generateName:string generation:int labels:string{} managedFields:ManagedFieldsEntry[]
  name:string namespace:string ownerReferences:OwnerReference[uid] resourceVersion:string selfLink:string uid:string
OwnerReference (atomic): apiVersion*:string blockOwnerDeletion:bool controller:bool kind*:string name*:string
  uid*:string
`
