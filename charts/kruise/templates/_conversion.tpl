{{/* Definitions whose two versions differ: only the admission service can convert their objects. */}}
{{- define "kruise.convertingDefinitions" -}}
- advancedcronjobs.apps.kruise.io
- clonesets.apps.kruise.io
- containerrecreaterequests.apps.kruise.io
- daemonsets.apps.kruise.io
- nodeimages.apps.kruise.io
- persistentpodstates.apps.kruise.io
- podunavailablebudgets.policy.kruise.io
- resourcedistributions.apps.kruise.io
- sidecarsets.apps.kruise.io
- statefulsets.apps.kruise.io
- uniteddeployments.apps.kruise.io
- workloadspreads.apps.kruise.io
{{- end -}}

{{/* Definitions whose two versions are the same. */}}
{{- define "kruise.sameDefinitions" -}}
- broadcastjobs.apps.kruise.io
- imagelistpulljobs.apps.kruise.io
- imagepulljobs.apps.kruise.io
{{- end -}}

{{/*
kruise.conversion (list $ NAME): how the definition NAME converts, or nothing if its versions are the same. The admission
service adds the CA, which only it knows; until then requests that need conversion fail. Without this the API server would
answer them itself, with objects that lack what the other version spells otherwise: a client of the old version would
erase such fields, and the service would read SidecarSets that are stored in it without the namespace they are meant for.

A definition that leads elsewhere is OpenKruise's, whose Pods convert until ours can: the admission service takes it over.
*/}}
{{- define "kruise.conversion" -}}
{{- $ := index . 0 -}}
{{- $name := index . 1 -}}
{{- $service := dict "namespace" (include "kruise.namespace" $) "name" (include "kruise.conversionService" $) "path" "/convert" "port" 443 -}}
{{- $live := dig "spec" "conversion" dict (lookup "apiextensions.k8s.io/v1" "CustomResourceDefinition" "" $name | default dict) -}}
{{- $there := dig "webhook" "clientConfig" "service" dict $live -}}
{{- if not (has $name (include "kruise.convertingDefinitions" $ | fromYamlArray)) -}}
{{- else if and (eq (get $live "strategy") "Webhook") (ne (printf "%s/%s" (get $there "namespace") (get $there "name")) (printf "%s/%s" $service.namespace $service.name)) -}}
{{- toYaml $live -}}
{{- else -}}
{{- dict "strategy" "Webhook" "webhook" (dict "clientConfig" (dict "service" $service) "conversionReviewVersions" (list "v1")) | toYaml -}}
{{- end -}}
{{- end -}}
