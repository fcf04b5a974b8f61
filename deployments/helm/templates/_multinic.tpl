{{/* Names, labels, images, and the Deployment template of all components. */}}

{{- define "multinic.name" -}}
{{- $names := dict "controller" (printf "%s-controller" .root.Values.fullname) "operator" "multinic-operator" "viola" "viola-api" "inventory" "multinic-inventory" "agent" "multinic-agent" -}}
{{- get $names .part -}}
{{- end }}

{{- define "multinic.account" -}}
{{- if eq .part "controller" }}{{ .root.Values.fullname }}{{ else }}{{ include "multinic.name" . }}{{ end -}}
{{- end }}

{{- define "multinic.selector" -}}
app.kubernetes.io/name: {{ include "multinic.name" . }}
app.kubernetes.io/component: {{ .part }}
{{- end }}

{{- define "multinic.labels" -}}
{{ include "multinic.selector" . }}
app.kubernetes.io/part-of: multinic
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
{{- with .root.Values.global.labels }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- define "multinic.image" -}}
{{- $registry := .root.Values.global.imageRegistry -}}
{{- if $registry }}{{ trimSuffix "/" $registry }}/{{ end -}}
{{ .image.repository }}
{{- if .image.digest }}@{{ .image.digest }}{{ else }}:{{ .image.tag | default .root.Chart.AppVersion }}{{ end -}}
{{- end }}

{{- define "multinic.env" -}}
{{- range $name, $value := . }}
- name: {{ $name }}
  value: {{ $value | toString | quote }}
{{- end }}
{{- end }}

{{/* The name in the certificate of a component that serves HTTPS. */}}
{{- define "multinic.tlsName" -}}
{{- if eq .part "inventory" }}{{ include "multinic.name" . }}.{{ .root.Release.Namespace }}{{ else }}{{ include "multinic.name" . }}{{ end -}}
{{- end }}

{{/* The CA of a TLS Secret as a volume. Only this key: the Secret also has the private key of the server. */}}
{{- define "multinic.caVolume" -}}
- name: {{ .name }}
  secret:
    secretName: {{ .secret }}
    items:
      - key: ca.crt
        path: ca.crt
{{- end }}

{{/* A Secret as a volume. */}}
{{- define "multinic.secretVolume" -}}
- name: {{ .name }}
  secret:
    secretName: {{ .secret }}
    defaultMode: 0440
{{- end }}

{{/*
root, part, values (of the component), env (map), rawEnv (list), volumes, mounts (lists), ports (list of name and port), health
(port name), scheme of the probes, recreate.
*/}}
{{- define "multinic.deployment" -}}
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ include "multinic.name" . }}
  namespace: {{ .root.Release.Namespace }}
  labels:
    {{- include "multinic.labels" . | nindent 4 }}
spec:
  replicas: {{ .values.replicas }}
  {{- if .recreate }}
  strategy:
    type: Recreate
  {{- else if .values.hostNetwork }}
  {{- /* The old Pod holds the port of the node: the new one could not start beside it. */}}
  strategy:
    rollingUpdate:
      maxSurge: 0
      maxUnavailable: 1
  {{- end }}
  selector:
    matchLabels:
      {{- include "multinic.selector" . | nindent 6 }}
  template:
    metadata:
      labels:
        {{- include "multinic.labels" . | nindent 8 }}
        {{- with .values.podLabels }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
      {{- with .values.podAnnotations }}
      annotations:
        {{- toYaml . | nindent 8 }}
      {{- end }}
    spec:
      serviceAccountName: {{ include "multinic.account" . }}
      automountServiceAccountToken: true
      terminationGracePeriodSeconds: 30
      {{- if .values.hostNetwork }}
      hostNetwork: true
      dnsPolicy: ClusterFirstWithHostNet
      {{- end }}
      {{- with .root.Values.global.imagePullSecrets }}
      imagePullSecrets:
        {{- range . }}
        - name: {{ . }}
        {{- end }}
      {{- end }}
      securityContext:
        runAsNonRoot: true
        runAsUser: 65532
        runAsGroup: 65532
        fsGroup: 65532
        seccompProfile:
          type: RuntimeDefault
      containers:
        - name: {{ .part }}
          image: {{ include "multinic.image" (dict "root" .root "image" .values.image) }}
          imagePullPolicy: {{ .values.image.pullPolicy }}
          args: [{{ .part }}]
          env:
            - name: POD_NAME
              valueFrom:
                fieldRef:
                  fieldPath: metadata.name
            - name: POD_NAMESPACE
              valueFrom:
                fieldRef:
                  fieldPath: metadata.namespace
            {{- include "multinic.env" .env | nindent 12 }}
            {{- include "multinic.env" .values.settings | nindent 12 }}
            {{- with concat .rawEnv .values.env }}
            {{- toYaml . | nindent 12 }}
            {{- end }}
          {{- with .values.envFrom }}
          envFrom:
            {{- toYaml . | nindent 12 }}
          {{- end }}
          ports:
            {{- range .ports }}
            - name: {{ .name }}
              containerPort: {{ .port }}
            {{- end }}
          startupProbe:
            httpGet:
              path: /healthz
              port: {{ .health }}
              scheme: {{ .scheme | default "HTTP" }}
            periodSeconds: 1
            failureThreshold: 120
          livenessProbe:
            httpGet:
              path: /healthz
              port: {{ .health }}
              scheme: {{ .scheme | default "HTTP" }}
            periodSeconds: 10
            timeoutSeconds: 5
          readinessProbe:
            httpGet:
              path: /readyz
              port: {{ .health }}
              scheme: {{ .scheme | default "HTTP" }}
            periodSeconds: 5
            timeoutSeconds: 5
          {{- /* Until all nodes know that the Pod ends, Services still send requests to it. */}}
          {{- if and (has .part (list "viola" "inventory")) (semverCompare ">=1.30-0" .root.Capabilities.KubeVersion.Version) }}
          lifecycle:
            preStop:
              sleep:
                seconds: 3
          {{- end }}
          resources:
            {{- toYaml .values.resources | nindent 12 }}
          securityContext:
            allowPrivilegeEscalation: false
            readOnlyRootFilesystem: true
            capabilities:
              drop: [ALL]
          {{- with concat .mounts .values.extraVolumeMounts }}
          volumeMounts:
            {{- toYaml . | nindent 12 }}
          {{- end }}
      {{- with concat .volumes .values.extraVolumes }}
      volumes:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with .values.nodeSelector }}
      nodeSelector:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      tolerations:
        {{- /* A new node has it until the controller has proven its NICs (docs/guides/pods.md). */}}
        - key: multinic.io/not-ready
          operator: Exists
          effect: NoSchedule
        {{- with .values.tolerations }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
      {{- with .values.affinity }}
      affinity:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with .values.priorityClassName }}
      priorityClassName: {{ . }}
      {{- end }}
      {{- if .values.topologySpread }}
      topologySpreadConstraints:
        {{- range list "kubernetes.io/hostname" "topology.kubernetes.io/zone" }}
        - maxSkew: 1
          topologyKey: {{ . }}
          {{- /* As a preference the scheduler often puts both replicas on one host. Before 1.27 a requirement would also count
          nodes that are down, and Pods of the older version. */}}
          {{- if and (eq . "kubernetes.io/hostname") (semverCompare ">=1.27-0" $.root.Capabilities.KubeVersion.Version) }}
          whenUnsatisfiable: DoNotSchedule
          nodeTaintsPolicy: Honor
          matchLabelKeys: [pod-template-hash]
          {{- else }}
          whenUnsatisfiable: ScheduleAnyway
          {{- end }}
          labelSelector:
            matchLabels:
              {{- include "multinic.selector" $ | nindent 14 }}
        {{- end }}
      {{- end }}
{{- end }}

{{/* ServiceAccount and PodDisruptionBudget: root, part, values. */}}
{{- define "multinic.surroundings" -}}
apiVersion: v1
kind: ServiceAccount
metadata:
  name: {{ include "multinic.account" . }}
  namespace: {{ .root.Release.Namespace }}
  labels:
    {{- include "multinic.labels" . | nindent 4 }}
  {{- with .values.serviceAccountAnnotations }}
  annotations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
automountServiceAccountToken: false
{{- if and .values.podDisruptionBudget (gt (int .values.replicas) 1) }}
---
apiVersion: {{ if .root.Capabilities.APIVersions.Has "policy/v1" }}policy/v1{{ else }}policy/v1beta1{{ end }}
kind: PodDisruptionBudget
metadata:
  name: {{ include "multinic.name" . }}
  namespace: {{ .root.Release.Namespace }}
  labels:
    {{- include "multinic.labels" . | nindent 4 }}
spec:
  minAvailable: 1
  selector:
    matchLabels:
      {{- include "multinic.selector" . | nindent 6 }}
{{- end }}
{{- end }}

{{/*
Role or ClusterRole and its binding, from files/rules.yaml: root, part, scope (cluster or namespace), rules (default: those of
the part), suffix of the name, namespace (default: that of the release), all: also the rights of the other scope, and granted: these
rights instead.
*/}}
{{- define "multinic.rights" -}}
{{- $kind := ternary "ClusterRole" "Role" (eq .scope "cluster") -}}
{{- $rules := .root.Files.Get "files/rules.yaml" | replace "- multinic-system" (printf "- %s" .root.Release.Namespace) | fromYaml -}}
{{- $own := index $rules (.rules | default .part) -}}
{{- $granted := .granted | default (ternary (concat $own.cluster $own.namespace) (index $own .scope) (.all | default false)) -}}
{{- $name := printf "%s%s" (include "multinic.name" .) (.suffix | default "") -}}
{{- $namespace := .namespace | default .root.Release.Namespace -}}
{{- if or (eq .scope "cluster") (ne $namespace .root.Release.Namespace) }}{{ $name = printf "%s-%s" .root.Release.Namespace $name }}{{ end -}}
apiVersion: rbac.authorization.k8s.io/v1
kind: {{ $kind }}
metadata:
  name: {{ $name }}
  {{- if eq .scope "namespace" }}
  namespace: {{ $namespace }}
  {{- end }}
  labels:
    {{- include "multinic.labels" . | nindent 4 }}
rules:
  {{- toYaml $granted | nindent 2 }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: {{ $kind }}Binding
metadata:
  name: {{ $name }}
  {{- if eq .scope "namespace" }}
  namespace: {{ $namespace }}
  {{- end }}
  labels:
    {{- include "multinic.labels" . | nindent 4 }}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: {{ $kind }}
  name: {{ $name }}
subjects:
  - kind: ServiceAccount
    name: {{ include "multinic.account" . }}
    namespace: {{ .root.Release.Namespace }}
{{- end }}

{{/* Whether a flag is on, in the words that the components accept. */}}
{{- define "multinic.on" -}}
{{- has (. | toString | lower) (list "true" "1" "yes" "on" "y" "enabled") -}}
{{- end }}

{{/* Binds a ClusterRole to an account of the release: root, labels (root, part), name, role, account. */}}
{{- define "multinic.binding" -}}
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata:
  name: {{ .root.Release.Namespace }}-{{ .name }}
  labels:
    {{- include "multinic.labels" .labels | nindent 4 }}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: ClusterRole
  name: {{ .role }}
subjects:
  - kind: ServiceAccount
    name: {{ .account }}
    namespace: {{ .root.Release.Namespace }}
{{- end }}

{{/* Whether Kubernetes has admission policies: by its version, so that helm template renders them without a cluster too. */}}
{{- define "multinic.hasPolicies" -}}
{{- semverCompare ">=1.30-0" .Capabilities.KubeVersion.Version -}}
{{- end }}

{{/*
Admission policy that limits the account of a component: root, part, policy (in files/policies), settings (variables of the
policy), owner (part in the labels), name. Before Kubernetes 1.30 there is none: the rights that only a policy limits are
left out too, except that of the controller to create Jobs.
*/}}
{{- define "multinic.policy" -}}
{{- if eq (include "multinic.hasPolicies" .root) "true" }}
{{- $account := printf "system:serviceaccount:%s:%s" .root.Release.Namespace (include "multinic.account" .) }}
{{- $name := printf "%s-%s" .root.Release.Namespace .name }}
{{- $labels := include "multinic.labels" (dict "root" .root "part" .owner) }}
{{- $text := .root.Files.Get (printf "files/policies/%s.yaml" .policy) }}
{{- $policy := regexReplaceAll "system:serviceaccount:[a-z-]+:[a-z-]+" $text $account | fromYaml }}
{{- range $policy.variables }}
{{- if hasKey $.settings .name }}{{ $_ := set . "expression" (get $.settings .name | squote) }}{{ end }}
{{- end }}
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata:
  name: {{ $name }}
  labels:
    {{- $labels | nindent 4 }}
spec:
  {{- toYaml $policy | nindent 2 }}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata:
  name: {{ $name }}
  labels:
    {{- $labels | nindent 4 }}
spec:
  policyName: {{ $name }}
  validationActions: [Deny]
---
{{- end }}
{{- end }}

{{/* Whether a Prometheus operator scrapes the components. A component that nobody else calls has a Service only for that. */}}
{{- define "multinic.scraped" -}}
{{- and .Values.monitoring.serviceMonitor (.Capabilities.APIVersions.Has "monitoring.coreos.com/v1") -}}
{{- end }}

{{/* root, part, ports (list of name, port, target, and appProtocol if any). */}}
{{- define "multinic.service" -}}
apiVersion: v1
kind: Service
metadata:
  name: {{ .name | default (include "multinic.name" .) }}
  namespace: {{ .root.Release.Namespace }}
  labels:
    {{- include "multinic.labels" . | nindent 4 }}
spec:
  selector:
    {{- include "multinic.selector" . | nindent 4 }}
  ports:
    {{- range .ports }}
    - name: {{ .name }}
      port: {{ .port }}
      targetPort: {{ .target }}
      {{- with .appProtocol }}
      appProtocol: {{ . }}
      {{- end }}
    {{- end }}
{{- end }}

{{/* Whether this release manages a CRD. Helm refuses to install over a CRD that it did not create, and make install, kubectl, the Go
implementation or another release may have created it: such CRDs stay unchanged. */}}
{{- define "multinic.bringsCrd" -}}
{{- $release := (index . 0).Release }}
{{- $there := lookup "apiextensions.k8s.io/v1" "CustomResourceDefinition" "" (index . 1) }}
{{- $owner := dig "metadata" "annotations" dict $there }}
{{- if or (not $there) (and (eq (get $owner "meta.helm.sh/release-name") $release.Name) (eq (get $owner "meta.helm.sh/release-namespace") $release.Namespace)) }}true{{ end }}
{{- end }}
