{{/* What both Deployments' Pods are allowed: the "restricted" Pod Security Standard. */}}
{{- define "kruise.podSecurityContext" -}}
runAsNonRoot: true
runAsUser: 65534
runAsGroup: 65534
seccompProfile:
  type: RuntimeDefault
{{- end -}}

{{- define "kruise.containerSecurityContext" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop:
    - ALL
{{- end -}}

{{/*
kruise.placement (dict "role" LABEL "nodeAffinity" .. "nodeSelector" .. "tolerations" ..): where the Pods of a role go.
Spreading is soft: a small or damaged cluster must still be able to run every replica.
*/}}
{{- define "kruise.placement" -}}
{{- with .nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
affinity:
  {{- with .nodeAffinity }}
  nodeAffinity:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  podAntiAffinity:
    preferredDuringSchedulingIgnoredDuringExecution:
      - weight: 100
        podAffinityTerm:
          topologyKey: kubernetes.io/hostname
          labelSelector:
            matchLabels:
              control-plane: {{ .role }}
topologySpreadConstraints:
  {{- range $key := list "kubernetes.io/hostname" "topology.kubernetes.io/zone" }}
  - maxSkew: 1
    topologyKey: {{ $key }}
    whenUnsatisfiable: ScheduleAnyway
    # Pods of the old revision, which leave soon, do not count.
    matchLabelKeys:
      - pod-template-hash
    labelSelector:
      matchLabels:
        control-plane: {{ $.role }}
  {{- end }}
{{- end -}}

{{/* kruise.probes PORT: ready when it can serve; restarted only when it has hung for a minute. */}}
{{- define "kruise.probes" -}}
readinessProbe:
  httpGet:
    path: /readyz
    port: health
  periodSeconds: 3
  timeoutSeconds: 3
livenessProbe:
  httpGet:
    path: /healthz
    port: health
  periodSeconds: 10
  timeoutSeconds: 5
  failureThreshold: 6
{{- end -}}

{{/* Flags that both roles take. */}}
{{- define "kruise.commonArgs" -}}
{{- include "kruise.checkPorts" . -}}
- --metrics-addr=:{{ .Values.manager.metrics.port }}
- --health-probe-addr=:{{ .Values.manager.healthProbe.port }}
{{- with include "kruise.featureGates" . }}
- --feature-gates={{ . }}
{{- end }}
{{- with .Values.manager.loggingFormat }}
- --logging-format={{ . }}
{{- end }}
- --v={{ .Values.manager.log.level }}
{{- end -}}

{{/*
Bundles of users' policies, which the admission service judges requests by and the controllers what exists: the list, what
servers ask for, and where the last good versions are kept. Nothing of them while there are none.
*/}}
{{- define "kruise.bundleArgs" -}}
{{- if (.Values.policies | default dict).bundles }}
- --policy-bundles=/etc/fairlead/bundles/bundles.yaml
- --policy-bundle-dir=/bundles
{{- end }}
{{- end -}}

{{- define "kruise.bundleMounts" -}}
{{- with .Values.policies | default dict }}
{{- if .bundles }}
- name: bundle-list
  mountPath: /etc/fairlead/bundles
  readOnly: true
- name: bundles
  mountPath: /bundles
{{- if .bundleSecret }}
- name: bundle-secret
  mountPath: /etc/fairlead/bundle-secret
  readOnly: true
{{- end }}
{{- end }}
{{- end }}
{{- end -}}

{{/* kruise.bundleVolumes (list $ STORAGE): STORAGE is the volume of the last good versions; an emptyDir if empty. */}}
{{- define "kruise.bundleVolumes" -}}
{{- $storage := index . 1 }}
{{- with (index . 0).Values.policies | default dict }}
{{- if .bundles }}
- name: bundle-list
  configMap:
    name: kruise-policy-bundles
- name: bundles
  {{- toYaml ($storage | default (dict "emptyDir" (dict "sizeLimit" "512Mi"))) | nindent 2 }}
{{- if .bundleSecret }}
- name: bundle-secret
  secret:
    secretName: {{ .bundleSecret }}
{{- end }}
{{- end }}
{{- end }}
{{- end -}}

{{/* The bundles as the list has them: their settings are in ConfigMaps of their own. */}}
{{- define "kruise.bundleList" -}}
{{- $list := list }}
{{- range (.Values.policies | default dict).bundles }}
{{- $list = append $list (omit . "settings") }}
{{- end }}
{{- toYaml $list }}
{{- end -}}

{{/* Environment that both roles take. */}}
{{- define "kruise.commonEnv" -}}
- name: POD_NAMESPACE
  valueFrom:
    fieldRef:
      fieldPath: metadata.namespace
- name: POD_NAME
  valueFrom:
    fieldRef:
      fieldPath: metadata.name
{{- if .Values.enableKubeCacheMutationDetector }}
- name: KUBE_CACHE_MUTATION_DETECTOR
  value: "true"
{{- end }}
{{- end -}}
