{{/* The namespace of everything the chart installs. It need not be the release's: users install from `default`. */}}
{{- define "kruise.namespace" -}}
{{- $name := .Values.installation.namespace -}}
{{- if eq $name (include "kruise.configNamespace" .) -}}
{{- fail (printf "installation.namespace is %q, which the chart needs for something else: it must be a namespace that admission applies to, and the installation's own never is. Choose another name; the default is kruise-system" $name) -}}
{{- end -}}
{{- $name -}}
{{- end -}}

{{/* Where the controllers' readiness probe creates its dry-run Pod: admission excludes the installation namespace. */}}
{{- define "kruise.configNamespace" -}}
kruise-daemon-config
{{- end -}}

{{/* Labels of every object. */}}
{{- define "kruise.labels" -}}
app.kubernetes.io/name: kruise
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end -}}

{{/* The Service that the API server calls for admission, and the one for conversion, which serves unready Pods too. */}}
{{- define "kruise.admissionService" -}}
kruise-admission
{{- end -}}
{{- define "kruise.conversionService" -}}
kruise-conversion
{{- end -}}

{{- define "kruise.certsSecret" -}}
kruise-webhook-certs
{{- end -}}

{{/*
kruise.ownNamespace (list $ NAME): "true" when this release renders the Namespace NAME. It does not when
* NAME is the release's own namespace: Helm needs it before it can install anything, and creates it by itself;
* NAME exists and belongs to nobody or to another release: Helm would refuse to adopt it.
Where the cluster cannot be asked (helm template) lookup finds nothing, and the namespace is rendered.
*/}}
{{- define "kruise.ownNamespace" -}}
{{- $ := index . 0 -}}
{{- $name := index . 1 -}}
{{- if ne $name $.Release.Namespace -}}
  {{- $found := lookup "v1" "Namespace" "" $name -}}
  {{- if not $found -}}
true
  {{- else -}}
    {{- $notes := dig "metadata" "annotations" dict $found -}}
    {{- $labels := dig "metadata" "labels" dict $found -}}
    {{- if and
      (eq (get $labels "app.kubernetes.io/managed-by") "Helm")
      (eq (get $notes "meta.helm.sh/release-name") $.Release.Name)
      (eq (get $notes "meta.helm.sh/release-namespace") $.Release.Namespace) -}}
true
    {{- end -}}
  {{- end -}}
{{- end -}}
{{- end -}}
